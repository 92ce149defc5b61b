//! SNS beside the queues: a client of the engine like any other, which reaches a queue by its ARN.
//!
//! SNS speaks AWS's older query protocol: a form in, XML out.

use super::calls::Counter;
use super::hub::Hub;

/// The topics and their subscriptions.
#[derive(Debug, Default)]
pub(crate) struct Sns {}

/// A call of the query protocol as it came in.
pub(crate) struct Call<'a> {
    /// The topics.
    pub(crate) sns: &'a Sns,
    /// The queues: [`Hub::deliver`] puts a message into one.
    pub(crate) hub: &'a Hub,
    /// Counts this call.
    pub(crate) counter: &'a Counter,
    /// `host:port` as the client wrote it.
    pub(crate) host: &'a str,
    /// The form: `Action=Publish&Version=2010-03-31&…`.
    pub(crate) form: &'a [u8],
}

/// A reply in XML.
pub(crate) struct Reply {
    /// The HTTP status.
    pub(crate) status: u16,
    /// The document.
    pub(crate) body: Vec<u8>,
}

impl Call<'_> {
    /// Carries the call out.
    pub(crate) async fn answer(&self) -> Reply {
        let _ = (self.sns, self.hub, self.counter, self.host, self.form);
        Reply {
            status: 400,
            body: b"<ErrorResponse><Error><Type>Sender</Type><Code>InvalidAction</Code>\
                    <Message>This action is not known here.</Message></Error></ErrorResponse>"
                .to_vec(),
        }
    }
}
