//! What the macros expand to. It is no part of the API.

pub use crate::handle::{handle_batch, handle_single};
pub use crate::input::{BatchParameter, ByReference};
pub use crate::panics::report_to_host as report_panics;
pub use wit_bindgen::rt;

use crate::bindings::types;
use crate::{Answer, IntoReplies, Reply, SqsQueue};

/// What a handler with `reply` returned.
pub struct Returned<R>(pub R);

impl Returned<Vec<Reply>> {
    /// The replies as they are. Rust prefers this method to the trait's of the same name.
    pub fn into_replies(self) -> Vec<Reply> {
        self.0
    }
}

impl<R> Returned<Option<R>> {
    /// One reply or none. Rust prefers this method too, or `None` would be sent as `null`.
    pub fn into_replies(self) -> Vec<Reply>
    where
        R: IntoReplies,
    {
        self.0.map_or_else(Vec::new, R::into_replies)
    }
}

impl<R, E> Returned<Result<R, E>> {
    /// The replies where there are any. The attribute sees to a `Result` by that name; this is for
    /// one that goes by another, or it would be sent as `{"Ok":…}`.
    pub fn into_replies(self) -> Result<Vec<Reply>, E>
    where
        R: IntoReplies,
    {
        self.0.map(R::into_replies)
    }
}

/// The replies of whatever else was returned. The bound stands at the method, so that a type
/// without it is an error about [`IntoReplies`] and not about a method that is missing.
pub trait ReturnedReplies<R> {
    /// What is to be sent.
    fn into_replies(self) -> Vec<Reply>
    where
        R: IntoReplies;
}

impl<R> ReturnedReplies<R> for Returned<R> {
    fn into_replies(self) -> Vec<Reply>
    where
        R: IntoReplies,
    {
        self.0.into_replies()
    }
}

/// The answer as the host reads it.
pub fn answer(answer: Answer) -> Result<types::Outcome, types::Failure> {
    answer.0
}

/// The descriptor as the host reads it.
pub fn settings(queue: SqsQueue) -> Vec<(String, String)> {
    queue.into_settings()
}

#[cfg(test)]
mod tests {
    use super::{Returned, ReturnedReplies as _};
    use crate::Reply;

    #[test]
    fn what_serialises_is_one_reply_in_json() {
        assert_eq!(Returned(vec![1, 2]).into_replies(), [Reply::new("[1,2]")]);
        assert_eq!(Returned("text").into_replies(), [Reply::new("\"text\"")]);
    }

    #[test]
    fn replies_are_sent_as_they_are() {
        let reply = Reply::new("a").group_id("g");
        assert_eq!(
            Returned(reply.clone()).into_replies(),
            std::slice::from_ref(&reply)
        );
        assert_eq!(
            Returned(vec![reply.clone(), reply.clone()]).into_replies(),
            [reply.clone(), reply]
        );
    }

    #[test]
    fn a_result_is_not_sent_as_json_by_whatever_name_it_goes() {
        type Outcome<T> = Result<T, String>;
        let (sent, failed): (Outcome<u32>, Outcome<u32>) = (Ok(7), Err("no".into()));
        assert_eq!(Returned(sent).into_replies(), Ok(vec![Reply::new("7")]));
        assert_eq!(Returned(failed).into_replies(), Err("no".into()));
    }

    #[test]
    fn none_is_no_reply_and_not_null() {
        assert_eq!(Returned(None::<u32>).into_replies(), []);
        assert_eq!(Returned(Some(7)).into_replies(), [Reply::new("7")]);
        assert_eq!(
            Returned(Some(Reply::new("a"))).into_replies(),
            [Reply::new("a")]
        );
    }
}
