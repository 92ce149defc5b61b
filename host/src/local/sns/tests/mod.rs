//! SNS as a client has it: forms in, XML out, and messages in queues.

mod delivery;
mod protocol;

use super::{Call, Reply, Sns};
use crate::local::calls::Counter;
use crate::local::engine::message::Delivery;
use crate::local::engine::{AttributeMap, Tags, queue_of_arn};
use crate::local::hub::Hub;

/// Queues and topics without a socket.
struct World {
    sns: Sns,
    hub: Hub,
    counter: Counter,
}

impl World {
    fn new() -> Self {
        Self {
            sns: Sns::default(),
            hub: Hub::new(7),
            counter: Counter::default(),
        }
    }

    /// Sends a form.
    fn send(&self, action: &str, pairs: &[(&str, &str)]) -> Reply {
        let mut form = form_urlencoded::Serializer::new(String::new());
        form.append_pair("Action", action)
            .append_pair("Version", "2010-03-31")
            .extend_pairs(pairs);
        let form = form.finish();
        let call = Call {
            sns: &self.sns,
            hub: &self.hub,
            counter: &self.counter,
            host: "topics.test:99",
            trace_header: Some("Root=1-2-3"),
            form: form.as_bytes(),
        };
        call.answer()
    }

    /// Sends a form that must succeed, and gives the document.
    fn call(&self, action: &str, pairs: &[(&str, &str)]) -> String {
        let reply = self.send(action, pairs);
        let document = String::from_utf8(reply.body).unwrap();
        assert_eq!(reply.status, 200, "{document}");
        document
    }

    /// Sends a form that must be refused, and gives status and code.
    fn refused(&self, action: &str, pairs: &[(&str, &str)]) -> (u16, String) {
        let reply = self.send(action, pairs);
        let document = String::from_utf8(reply.body).unwrap();
        assert!(document.contains("<Type>Sender</Type>"), "{document}");
        (reply.status, element(&document, "Code"))
    }

    fn topic(&self, name: &str) -> String {
        element(&self.call("CreateTopic", &[("Name", name)]), "TopicArn")
    }

    /// Creates a queue and gives its ARN.
    fn queue(&self, name: &str, attributes: &[(&str, &str)]) -> String {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let attributes: AttributeMap = attributes.iter().map(own).collect();
        self.hub
            .with(|engine, now| engine.create(now, name, &attributes, Tags::new()))
            .unwrap();
        format!("arn:aws:sqs:us-east-1:000000000000:{name}")
    }

    fn subscribe(&self, topic: &str, queue: &str, attributes: &[(&str, &str)]) -> String {
        let mut pairs = vec![
            ("TopicArn".to_owned(), topic),
            ("Protocol".to_owned(), "sqs"),
            ("Endpoint".to_owned(), queue),
        ];
        for (i, (name, value)) in attributes.iter().enumerate() {
            pairs.push((format!("Attributes.entry.{}.key", i + 1), name));
            pairs.push((format!("Attributes.entry.{}.value", i + 1), value));
        }
        let pairs: Vec<_> = pairs
            .iter()
            .map(|(name, value)| (name.as_str(), *value))
            .collect();
        element(&self.call("Subscribe", &pairs), "SubscriptionArn")
    }

    fn publish(&self, topic: &str, message: &str) -> String {
        self.call("Publish", &[("TopicArn", topic), ("Message", message)])
    }

    /// What is in the queue.
    fn receive(&self, queue: &str) -> Vec<Delivery> {
        let name = queue_of_arn(queue).unwrap();
        self.hub
            .with(|engine, now| engine.receive(now, name, 10, None, None))
            .unwrap()
    }

    /// The bodies of what is in the queue.
    fn bodies(&self, queue: &str) -> Vec<String> {
        let body = |delivery: Delivery| delivery.message.content.body.clone();
        self.receive(queue).into_iter().map(body).collect()
    }
}

/// The text of the first element of this name.
fn element(document: &str, name: &str) -> String {
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    let found = document
        .split_once(&open)
        .and_then(|(_, rest)| rest.split_once(&close));
    found
        .unwrap_or_else(|| panic!("no {name} in {document}"))
        .0
        .to_owned()
}
