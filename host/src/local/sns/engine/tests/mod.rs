//! The topics by themselves: what they do at which time.

mod fifo;
mod publish;
mod subscriptions;
mod topics;

use super::{Draft, Engine, Occasion, Pairs, Published};
use crate::local::engine::attribute::{Attribute, Attributes, Data};
use crate::local::engine::time::Time;
use crate::local::sns::arn;
use crate::local::sns::refusal::{Kind, Refusal};

const QUEUE: &str = "arn:aws:sqs:us-east-1:000000000000:jobs";
const FIFO_QUEUE: &str = "arn:aws:sqs:us-east-1:000000000000:jobs.fifo";
const DEAD: &str = "arn:aws:sqs:us-east-1:000000000000:dead";

/// Topics and a clock that moves only when it is told to.
struct World {
    engine: Engine,
    now: Time,
}

impl World {
    fn new() -> Self {
        Self {
            engine: Engine::new(7),
            now: Time::from_millis(1_700_000_000_000),
        }
    }

    /// A world with one topic; a FIFO one, if its name says so.
    fn with_topic(name: &str, attributes: &[(&str, &str)]) -> (Self, String) {
        let mut world = Self::new();
        let mut attributes = pairs(attributes);
        if arn::is_fifo(name) {
            attributes.insert("FifoTopic".to_owned(), "true".to_owned());
        }
        let arn = world.engine.create_topic(name, &attributes, None).unwrap();
        (world, arn)
    }

    fn create(&mut self, name: &str, attributes: &[(&str, &str)]) -> Result<String, Refusal> {
        self.engine.create_topic(name, &pairs(attributes), None)
    }

    fn subscribe(
        &mut self,
        topic: &str,
        queue: &str,
        attributes: &[(&str, &str)],
    ) -> Result<String, Refusal> {
        self.engine
            .subscribe(topic, "sqs", queue, &pairs(attributes))
    }

    fn publish(&mut self, topic: &str, draft: &Draft) -> Result<Published, Refusal> {
        let occasion = occasion(self.now);
        self.engine.publish(occasion, topic, draft)
    }

    fn wait(&mut self, millis: u64) {
        self.now = Time::from_millis(self.now.millis() + millis);
    }
}

fn occasion(now: Time) -> Occasion<'static> {
    Occasion {
        now,
        origin: "http://local",
    }
}

fn pairs(pairs: &[(&str, &str)]) -> Pairs {
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    pairs.iter().map(own).collect()
}

fn draft(message: &str) -> Draft {
    Draft {
        message: message.to_owned(),
        ..Draft::default()
    }
}

fn attributes(count: usize) -> Attributes {
    let attribute = Attribute {
        data_type: "String".to_owned(),
        data: Data::Text("v".to_owned()),
    };
    (0..count)
        .map(|i| (format!("a{i}"), attribute.clone()))
        .collect()
}

fn kind<T: std::fmt::Debug>(outcome: Result<T, Refusal>) -> Kind {
    outcome.unwrap_err().kind
}
