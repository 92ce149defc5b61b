//! The engine by itself: what it does at which time.

mod catalogue;
mod dead_letters;
mod delivery;
mod fifo;
mod moves;
mod snapshot;

use super::attribute::Attributes;
use super::message::{Content, Delivery, Outgoing, Receipt};
use super::refusal::{Kind, Refusal};
use super::time::Time;
use super::{AttributeMap, Engine, Tags};

/// An engine and a clock that moves only when it is told to.
pub(super) struct World {
    pub(super) engine: Engine,
    pub(super) now: Time,
}

impl World {
    /// A world without queues.
    pub(super) fn new() -> Self {
        Self {
            engine: Engine::new(7),
            now: Time::from_millis(1_700_000_000_000),
        }
    }

    /// A world with one queue named `q`.
    pub(super) fn with_queue(attributes: &[(&str, &str)]) -> Self {
        let mut world = Self::new();
        world.create("q", attributes).unwrap();
        world
    }

    pub(super) fn create(
        &mut self,
        name: &str,
        attributes: &[(&str, &str)],
    ) -> Result<(), Refusal> {
        self.engine
            .create(self.now, name, &map(attributes), Tags::new())
            .map(drop)
    }

    pub(super) fn set(&mut self, name: &str, attribute: &str, value: &str) -> Result<(), Refusal> {
        self.engine
            .set_attributes(self.now, name, &map(&[(attribute, value)]))
    }

    pub(super) fn wait(&mut self, millis: u64) {
        self.now = Time::from_millis(self.now.millis() + millis);
    }

    pub(super) fn send(&mut self, name: &str, body: &str) {
        self.send_delayed(name, body, None);
    }

    pub(super) fn send_delayed(&mut self, name: &str, body: &str, delay: Option<u32>) {
        let outgoing = Outgoing {
            delay,
            ..Outgoing::new(content(body), None).unwrap()
        };
        self.engine.send(self.now, name, &outgoing).unwrap();
    }

    /// Sends to the FIFO queue `q.fifo`.
    pub(super) fn send_in_group(
        &mut self,
        body: &str,
        group: &str,
        id: &str,
    ) -> Result<Receipt, Refusal> {
        let outgoing = in_group(body, group, Some(id));
        self.engine.send(self.now, "q.fifo", &outgoing)
    }

    pub(super) fn receive(&mut self, name: &str, visibility: Option<u32>) -> Vec<Delivery> {
        self.engine
            .receive(self.now, name, 10, visibility, None)
            .unwrap()
    }

    /// Receives the one message there is.
    pub(super) fn receive_one(&mut self, name: &str, visibility: Option<u32>) -> Delivery {
        let mut all = self.receive(name, visibility);
        assert_eq!(all.len(), 1, "one message expected");
        all.remove(0)
    }

    pub(super) fn delete(&mut self, name: &str, handle: &str) -> Result<(), Refusal> {
        self.engine.delete(self.now, name, handle)
    }

    pub(super) fn hide(&mut self, name: &str, handle: &str, seconds: u32) -> Result<(), Refusal> {
        self.engine
            .change_visibility(self.now, name, handle, seconds)
    }

    pub(super) fn attribute(&mut self, name: &str, attribute: &str) -> Option<String> {
        let asked = [attribute.to_owned()];
        self.engine
            .attributes(self.now, name, &asked)
            .unwrap()
            .remove(attribute)
    }

    /// Visible, in flight and delayed.
    pub(super) fn counts(&mut self, name: &str) -> [usize; 3] {
        ["", "NotVisible", "Delayed"].map(|which| {
            let value = self.attribute(name, &format!("ApproximateNumberOfMessages{which}"));
            value.unwrap().parse().unwrap()
        })
    }
}

pub(super) fn map(attributes: &[(&str, &str)]) -> AttributeMap {
    attributes
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

pub(super) fn content(body: &str) -> Content {
    Content::new(body.to_owned(), Attributes::new(), None, None).unwrap()
}

pub(super) fn in_group(body: &str, group: &str, id: Option<&str>) -> Outgoing {
    let group = Some(group.to_owned());
    let content = Content::new(body.to_owned(), Attributes::new(), None, group).unwrap();
    Outgoing::new(content, id.map(str::to_owned)).unwrap()
}

pub(super) fn bodies(deliveries: &[Delivery]) -> Vec<&str> {
    deliveries
        .iter()
        .map(|delivery| delivery.message.content.body.as_str())
        .collect()
}

pub(super) fn kind<T: std::fmt::Debug>(outcome: Result<T, Refusal>) -> Kind {
    outcome.unwrap_err().kind
}
