//! What is sent: orders in JSON, 256 bytes each, which every contestant decodes in full.

use serde::Deserialize;

/// The queue that all read.
pub(crate) const QUEUE: &str = "orders";
/// How long a body is.
pub(crate) const LENGTH: usize = 256;

/// An order, as a consumer would have it. `guest-decode` has the same.
#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "what is not used is decoded all the same")]
pub(crate) struct Order {
    id: u64,
    cents: u64,
    customer: String,
    lines: Vec<Line>,
    note: String,
}

#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "what is not used is decoded all the same")]
struct Line {
    article: String,
    count: u32,
}

impl Order {
    /// Whether there is anything to take: what a handler looks at.
    pub(crate) fn is_worth_something(&self) -> bool {
        self.cents != 0
    }
}

/// The body of one order.
pub(crate) fn body(id: u64) -> String {
    let mut body = format!(
        r#"{{"id":{id:>8},"cents":1999,"customer":"c-04711","lines":[{{"article":"kettle","count":1}},{{"article":"cup","count":6}}],"note":""#
    );
    let end = r#""}"#;
    let padding = LENGTH.saturating_sub(body.len() + end.len());
    body.extend(std::iter::repeat_n('n', padding));
    body.push_str(end);
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_an_order_of_256_bytes() {
        for id in [0, 99_999_999] {
            let body = body(id);
            assert_eq!(body.len(), LENGTH);
            let order: Order = serde_json::from_str(&body).expect("it is an order");
            assert!(order.is_worth_something());
            assert_eq!(order.id, id);
        }
    }
}
