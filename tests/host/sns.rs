//! A plain client of the SNS beside a test's SQS, by the names of topics.

use aws_sdk_sns::Client;
use aws_sdk_sns::config::{BehaviorVersion, Credentials, Region};

pub(crate) struct Sns {
    pub(crate) client: Client,
}

impl Sns {
    pub(crate) fn at(endpoint: &str) -> Self {
        let config = aws_sdk_sns::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .http_client(aws_smithy_http_client::Builder::new().build_http())
            .region(Region::new("us-east-1"))
            .credentials_provider(Credentials::from_keys("test", "test", None))
            .endpoint_url(endpoint)
            .build();
        Self {
            client: Client::from_conf(config),
        }
    }

    pub(crate) fn arn(&self, topic: &str) -> String {
        format!("arn:aws:sns:us-east-1:000000000000:{topic}")
    }

    pub(crate) async fn create(&self, topic: &str) {
        let call = self.client.create_topic().name(topic);
        call.send().await.expect("the topic can be created");
    }

    /// Subscribes a queue, by its ARN, with raw delivery or without.
    pub(crate) async fn subscribe(&self, topic: &str, queue_arn: &str, raw: bool) {
        let call = self.client.subscribe().topic_arn(self.arn(topic));
        call.protocol("sqs")
            .endpoint(queue_arn)
            .attributes("RawMessageDelivery", raw.to_string())
            .send()
            .await
            .expect("the queue can be subscribed");
    }

    /// A topic's subscriptions: the endpoint and whether delivery is raw, of each.
    pub(crate) async fn subscriptions(&self, topic: &str) -> Vec<(String, bool)> {
        let call = self.client.list_subscriptions_by_topic();
        let listed = call.topic_arn(self.arn(topic)).send().await;
        let listed = listed.expect("the topic can be read").subscriptions;
        let mut all = Vec::new();
        for subscription in listed.unwrap_or_default() {
            let call = self.client.get_subscription_attributes();
            let call = call.set_subscription_arn(subscription.subscription_arn);
            let read = call.send().await.expect("the subscription can be read");
            let attributes = read.attributes.unwrap_or_default();
            let raw = attributes.get("RawMessageDelivery");
            let raw = raw.is_some_and(|raw| raw == "true");
            all.push((subscription.endpoint.unwrap_or_default(), raw));
        }
        all
    }

    pub(crate) async fn publish(&self, topic: &str, body: &str) {
        let call = self.client.publish().topic_arn(self.arn(topic));
        let published = call.message(body).send().await;
        published.expect("the message can be published");
    }
}
