//! Requests: forms whose names say where in a structure each value belongs, such as
//! `Tags.member.2.Key`.

use crate::local::engine::attribute::{Attribute, Attributes, Data};
use crate::local::sns::engine::{Draft, Pairs};
use crate::local::sns::refusal::{Kind, Refusal};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::collections::BTreeMap;

/// The values of a form, or of one element of a list in it, by name.
#[derive(Debug, Default)]
pub(super) struct Form(BTreeMap<String, String>);

impl Form {
    /// Reads a form.
    pub(super) fn parse(bytes: &[u8]) -> Self {
        Self(form_urlencoded::parse(bytes).into_owned().collect())
    }

    /// The value of this name.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// The value of this name.
    ///
    /// # Errors
    /// `InvalidParameter` if there is none.
    pub(super) fn required(&self, name: &str) -> Result<&str, Refusal> {
        self.get(name).ok_or_else(|| Refusal::missing(name))
    }

    /// The elements below `list`, in the order of their numbers: each with the names that come after
    /// its own number, and its own value, if it has one, without a name.
    fn elements(&self, list: &str) -> Vec<Self> {
        let prefix = format!("{list}.");
        let mut elements: BTreeMap<u32, Self> = BTreeMap::new();
        let below = self
            .0
            .range(prefix.clone()..)
            .take_while(|(name, _)| name.starts_with(&prefix));
        for (name, value) in below {
            let rest = &name[prefix.len()..];
            let (number, name) = rest.split_once('.').unwrap_or((rest, ""));
            if let Ok(number) = number.parse() {
                let element = elements.entry(number).or_default();
                element.0.insert(name.to_owned(), value.clone());
            }
        }
        elements.into_values().collect()
    }

    /// The texts of a list.
    pub(super) fn texts(&self, list: &str) -> Vec<String> {
        let text = |mut element: Self| element.0.remove("");
        self.elements(&format!("{list}.member"))
            .into_iter()
            .filter_map(text)
            .collect()
    }

    /// A map from texts to texts.
    pub(super) fn map(&self, map: &str) -> Pairs {
        let pair = |mut entry: Self| {
            let value = entry.0.remove("value").unwrap_or_default();
            Some((entry.0.remove("key")?, value))
        };
        self.elements(&format!("{map}.entry"))
            .into_iter()
            .filter_map(pair)
            .collect()
    }

    /// Tags; `None` if there are none in the request.
    ///
    /// # Errors
    /// `InvalidParameter` for a key that comes twice.
    pub(super) fn tags(&self) -> Result<Option<Pairs>, Refusal> {
        let mut tags = Pairs::new();
        for mut tag in self.elements("Tags.member") {
            let key = tag.0.remove("Key").unwrap_or_default();
            let value = tag.0.remove("Value").unwrap_or_default();
            if tags.insert(key, value).is_some() {
                return Err(Refusal::invalid("Duplicated keys are not allowed."));
            }
        }
        Ok(Some(tags).filter(|tags| !tags.is_empty()))
    }

    /// The message of `Publish`, or of an entry of `PublishBatch`.
    ///
    /// # Errors
    /// `InvalidParameter` without a message; what is wrong with the form of an attribute.
    pub(super) fn draft(&self, trace_header: Option<&str>) -> Result<Draft, Refusal> {
        let owned = |name| self.get(name).map(str::to_owned);
        Ok(Draft {
            message: self.required("Message")?.to_owned(),
            structure: owned("MessageStructure"),
            subject: owned("Subject"),
            attributes: self.message_attributes()?,
            group: owned("MessageGroupId"),
            deduplication: owned("MessageDeduplicationId"),
            trace_header: trace_header.map(str::to_owned),
        })
    }

    /// The entries of `PublishBatch`, each with its id.
    ///
    /// # Errors
    /// Those of [`Form::draft`].
    pub(super) fn drafts(
        &self,
        trace_header: Option<&str>,
    ) -> Result<Vec<(String, Draft)>, Refusal> {
        let draft = |entry: Self| {
            let id = entry.get("Id").unwrap_or_default().to_owned();
            Ok((id, entry.draft(trace_header)?))
        };
        self.elements("PublishBatchRequestEntries.member")
            .into_iter()
            .map(draft)
            .collect()
    }

    fn message_attributes(&self) -> Result<Attributes, Refusal> {
        let attribute = |mut entry: Self| {
            let name = entry.0.remove("Name").unwrap_or_default();
            let mut member = |member: &str| entry.0.remove(&format!("Value.{member}"));
            let Some(data_type) = member("DataType") else {
                return Err(Refusal::new(
                    Kind::ValidationError,
                    format!(
                        "1 validation error detected: Value null at \
                         'messageAttributes.{name}.member.dataType' failed to satisfy constraint: \
                         Member must not be null"
                    ),
                ));
            };
            let data = match (member("StringValue"), member("BinaryValue")) {
                (None, Some(base64)) => Data::Binary(decode(&name, &base64)?),
                // Without a value it is as good as empty, and refused as that with its type.
                (text, _) => Data::Text(text.unwrap_or_default()),
            };
            Ok((name, Attribute { data_type, data }))
        };
        self.elements("MessageAttributes.entry")
            .into_iter()
            .map(attribute)
            .collect()
    }
}

fn decode(name: &str, base64: &str) -> Result<Vec<u8>, Refusal> {
    STANDARD.decode(base64).map_err(|_| {
        let message =
            format!("The message attribute '{name}' has a BinaryValue that is not base64.");
        Refusal::new(Kind::ParameterValueInvalid, message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(text: &str) -> Form {
        Form::parse(text.as_bytes())
    }

    #[test]
    fn values_are_decoded_and_lists_are_in_the_order_of_their_numbers() {
        let form = form("A=x%20y+z%C3%A9&L.member.10=c&L.member.2=b&L.member.1=a&L.other.1=d");
        assert_eq!(form.get("A"), Some("x y zé"));
        assert_eq!(form.texts("L"), ["a", "b", "c"]);
        assert!(form.required("B").unwrap_err().message.contains('B'));
    }

    #[test]
    fn a_map_and_tags_are_read_pair_by_pair() {
        let form = form(
            "Attributes.entry.1.key=a&Attributes.entry.1.value=1&Attributes.entry.2.key=b\
             &Tags.member.1.Key=k&Tags.member.1.Value=v",
        );
        let pairs = |pairs: &[(&str, &str)]| -> Pairs {
            let own = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
            pairs.iter().map(own).collect()
        };
        assert_eq!(form.map("Attributes"), pairs(&[("a", "1"), ("b", "")]));
        assert_eq!(form.tags().unwrap(), Some(pairs(&[("k", "v")])));
        let twice = self::form("Tags.member.1.Key=k&Tags.member.2.Key=k");
        assert!(twice.tags().is_err());
    }

    #[test]
    fn message_attributes_are_read_by_their_kinds() {
        let form = form(
            "Message=m&MessageAttributes.entry.1.Name=s&MessageAttributes.entry.1.Value.DataType=String\
             &MessageAttributes.entry.1.Value.StringValue=v&MessageAttributes.entry.2.Name=b\
             &MessageAttributes.entry.2.Value.DataType=Binary\
             &MessageAttributes.entry.2.Value.BinaryValue=AQI%3D",
        );
        let attributes = form.draft(None).unwrap().attributes;
        assert_eq!(attributes["s"].data, Data::Text("v".to_owned()));
        assert_eq!(attributes["b"].data, Data::Binary(vec![1, 2]));
    }

    #[test]
    fn an_attribute_without_a_type_or_with_broken_base64_is_refused() {
        let kind = |text: &str| form(text).draft(None).unwrap_err().kind;
        let untyped = "Message=m&MessageAttributes.entry.1.Name=s\
                       &MessageAttributes.entry.1.Value.StringValue=v";
        assert_eq!(kind(untyped), Kind::ValidationError);
        let broken = "Message=m&MessageAttributes.entry.1.Name=s\
                      &MessageAttributes.entry.1.Value.DataType=Binary\
                      &MessageAttributes.entry.1.Value.BinaryValue=!";
        assert_eq!(kind(broken), Kind::ParameterValueInvalid);
        assert_eq!(kind("Subject=s"), Kind::InvalidParameter);
    }
}
