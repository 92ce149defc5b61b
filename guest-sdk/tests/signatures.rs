//! Every signature that a handler may have. That this file compiles is the test: a crate has one
//! handler, so each stands in a module of its own, and nothing but the host can call them.

use std::borrow::Cow;
use std::time::Duration;

use queuelet_guest::{
    Context, Delivery, Failure, HandlerOutcome, Message, Reply, SqsQueue, UnreadableHeader,
    subscriber,
};
use serde::{Deserialize, Serialize};

#[derive(Deserialize)]
struct Order {
    id: u64,
}

#[derive(Deserialize)]
struct Borrowed<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
}

#[derive(Serialize)]
struct Total {
    cents: u64,
}

mod single {
    use super::*;

    mod by_value {
        use super::*;
        #[subscriber(SqsQueue::new("q"))]
        fn handle(order: Order) -> HandlerOutcome {
            if order.id == 0 {
                HandlerOutcome::drop()
            } else {
                HandlerOutcome::ack()
            }
        }
    }

    mod by_reference {
        use super::*;
        #[subscriber(SqsQueue::new("q").visibility(Duration::from_secs(2)))]
        fn handle(order: &Order) {
            let _ = order.id;
        }
    }

    mod asynchronous {
        use super::*;
        #[subscriber(SqsQueue)]
        async fn handle(order: &Order, context: &Context) -> Result<(), String> {
            std::future::ready(order.id).await;
            context.id().map(|_| ()).ok_or_else(|| "no id".to_owned())
        }
    }

    mod borrowing {
        use super::*;
        #[subscriber(queuelet_guest::SqsQueue)]
        fn handle(order: Borrowed<'_>) -> Result<(), Failure> {
            if order.id.is_empty() {
                Err(Failure::decode("an empty id"))
            } else {
                Ok(())
            }
        }
    }

    mod borrowing_by_reference {
        use super::*;
        #[subscriber(SqsQueue)]
        async fn handle(order: &Borrowed<'_>) -> Option<Reply> {
            (!order.id.is_empty()).then(|| Reply::new(order.id.as_bytes()))
        }
    }

    mod bytes {
        use super::*;
        #[subscriber(SqsQueue)]
        fn handle(body: &[u8], context: &Context) -> Result<HandlerOutcome, UnreadableHeader> {
            let limit: usize = context.parse("limit")?;
            Ok(if body.len() > limit {
                HandlerOutcome::drop()
            } else {
                HandlerOutcome::ack()
            })
        }
    }

    mod owned_bytes {
        use super::*;
        #[subscriber(SqsQueue)]
        async fn handle(body: Vec<u8>) -> Result<(), std::string::FromUtf8Error> {
            String::from_utf8(body).map(drop)
        }
    }

    mod whole_message {
        use super::*;
        #[subscriber(SqsQueue)]
        fn handle(message: &Message, _: &Context) -> Reply {
            Reply::new(message.body()).group_id("g")
        }
    }

    mod message_by_another_name {
        use queuelet_guest::{Message as SqsMessage, SqsQueue, subscriber};
        #[subscriber(SqsQueue)]
        fn handle(message: &SqsMessage) {
            let _ = message.body().len();
        }
    }

    mod names_that_the_expansion_uses_too {
        use queuelet_guest::{Context, subscriber};
        use serde::Deserialize;

        #[derive(Deserialize)]
        struct Subscriber {
            id: u64,
        }

        type Queue = queuelet_guest::SqsQueue;

        #[subscriber(Queue::from_mount())]
        fn input(context: &Subscriber, input: &Context) -> Result<(), u64> {
            input.id().map(|_| ()).ok_or(context.id)
        }
    }

    mod list_of_json {
        use super::*;
        #[subscriber(SqsQueue, single)]
        fn handle(orders: &[Order]) {
            let _ = orders.len();
        }
    }

    mod list_of_json_by_value {
        use super::*;
        #[subscriber(SqsQueue, single)]
        fn handle(orders: Vec<Order>) {
            drop(orders);
        }
    }

    mod a_type_of_ones_own_called_message {
        use serde::Deserialize;

        #[derive(Deserialize)]
        struct Message {
            text: String,
        }

        #[queuelet_guest::subscriber(queuelet_guest::SqsQueue::from_mount())]
        fn handle(message: &Message) {
            let _ = message.text.len();
        }
    }
}

mod reply {
    use super::*;

    mod value {
        use super::*;
        #[subscriber(SqsQueue::new("q"), reply("r"))]
        fn handle(order: Order) -> Total {
            Total { cents: order.id }
        }
    }

    mod value_or_outcome {
        use super::*;
        #[subscriber(SqsQueue::new("q"), reply(std::env!("CARGO_PKG_NAME")))]
        async fn handle(order: &Order) -> Result<Total, HandlerOutcome> {
            if order.id == 0 {
                Err(HandlerOutcome::drop())
            } else {
                Ok(Total { cents: order.id })
            }
        }
    }

    mod value_or_error {
        use super::*;
        #[subscriber(SqsQueue::new("q"), reply)]
        fn handle(order: &Order) -> Result<u8, std::num::TryFromIntError> {
            u8::try_from(order.id)
        }
    }

    mod reply_or_error_through_an_alias {
        use super::*;
        type Result<T> = std::result::Result<T, String>;

        #[subscriber(SqsQueue::new("q"), reply)]
        fn handle(order: &Order) -> Result<Reply> {
            Ok(Reply::json(&order.id).delay(Duration::from_secs(1)))
        }
    }

    mod several {
        use super::*;
        #[subscriber(SqsQueue::new("q"), reply("r"))]
        fn handle(order: &Order) -> Vec<Reply> {
            (0..order.id).map(|n| Reply::json(&n)).collect()
        }
    }

    mod one_or_none {
        use super::*;
        #[subscriber(SqsQueue::new("q"), reply("r"))]
        fn handle(order: &Order) -> Option<Total> {
            (order.id != 0).then_some(Total { cents: order.id })
        }
    }

    mod several_or_outcome {
        use super::*;
        #[subscriber(SqsQueue::new("q"), reply("r"))]
        fn handle(order: &Order) -> Result<Vec<Reply>, HandlerOutcome> {
            if order.id == 0 {
                Err(HandlerOutcome::retry())
            } else {
                Ok(Vec::new())
            }
        }
    }

    mod result_by_another_name {
        use super::*;
        type Accepted = Result<Total, HandlerOutcome>;

        #[subscriber(SqsQueue::new("q"), reply("r"))]
        fn returned(order: Order) -> Accepted {
            Ok(Total { cents: order.id })
        }
    }

    mod reply_without_saying_so {
        use super::*;
        #[subscriber(SqsQueue::new("q").reply("r"))]
        fn handle(order: &Order) -> Result<Vec<Reply>, HandlerOutcome> {
            Ok(vec![Reply::json(&order.id)])
        }
    }
}

mod batch {
    use super::*;

    mod slice {
        use super::*;
        #[subscriber(SqsQueue::new("q").batch(5))]
        fn handle(orders: &[Order]) -> HandlerOutcome {
            if orders.iter().any(|order| order.id == 0) {
                HandlerOutcome::retry()
            } else {
                HandlerOutcome::ack()
            }
        }
    }

    mod list {
        use super::*;
        #[subscriber(SqsQueue::new("q"))]
        async fn handle(orders: Vec<Order>) -> Vec<HandlerOutcome> {
            orders.iter().map(|_| HandlerOutcome::ack()).collect()
        }
    }

    mod borrowing {
        use super::*;
        #[subscriber(SqsQueue)]
        fn handle(orders: &[Borrowed<'_>]) -> Vec<Result<(), String>> {
            orders
                .iter()
                .map(|order| {
                    if order.id.is_empty() {
                        Err("empty".into())
                    } else {
                        Ok(())
                    }
                })
                .collect()
        }
    }

    mod deliveries {
        use super::*;
        #[subscriber(SqsQueue)]
        fn handle(orders: &[Delivery<Order>]) -> Result<Vec<HandlerOutcome>, String> {
            Ok(orders
                .iter()
                .map(|one| {
                    if one.id == 0 {
                        HandlerOutcome::Drop
                    } else {
                        HandlerOutcome::Ack
                    }
                })
                .collect())
        }
    }

    mod messages {
        use super::*;
        #[subscriber(SqsQueue)]
        fn handle(messages: Vec<Message>) {
            drop(messages);
        }
    }

    mod alias {
        use super::*;
        type Orders = Vec<Delivery<Order>>;

        #[subscriber(SqsQueue, batch)]
        fn handle(orders: &Orders) {
            let _ = orders.len();
        }
    }

    mod alias_by_value {
        use super::*;
        type Orders<'a> = Vec<Borrowed<'a>>;

        #[subscriber(SqsQueue, batch)]
        fn handle(orders: Orders<'_>) {
            drop(orders);
        }
    }

    mod replies {
        use super::*;
        #[subscriber(SqsQueue, reply("r"))]
        fn all(orders: &[Order]) -> Vec<Total> {
            orders
                .iter()
                .map(|order| Total { cents: order.id })
                .collect()
        }
    }

    mod replies_or_outcomes {
        use super::*;
        #[subscriber(SqsQueue, reply("r"), batch)]
        fn handle(orders: &[Order]) -> Vec<Result<Total, HandlerOutcome>> {
            orders
                .iter()
                .map(|order| Ok(Total { cents: order.id }))
                .collect()
        }
    }

    mod several_replies_for_each {
        use super::*;
        #[subscriber(SqsQueue, reply("r"))]
        fn handle(orders: &[Order]) -> Vec<Vec<Reply>> {
            orders
                .iter()
                .map(|order| vec![Reply::json(&order.id)])
                .collect()
        }
    }
}
