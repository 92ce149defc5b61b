//! The real client: [`SqsApi`] by the AWS SDK, one per region.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aws_config::environment::{
    EnvironmentVariableCredentialsProvider, EnvironmentVariableRegionProvider,
};
use aws_config::meta::credentials::CredentialsProviderChain;
use aws_config::meta::region::RegionProviderChain;
use aws_config::profile::{ProfileFileCredentialsProvider, ProfileFileRegionProvider};
use aws_config::provider_config::ProviderConfig;
use aws_config::retry::RetryConfig;
use aws_config::stalled_stream_protection::StalledStreamProtectionConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_credential_types::Credentials;
use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::{
    ChangeMessageVisibilityBatchRequestEntry, DeleteMessageBatchRequestEntry,
    MessageSystemAttributeName, QueueAttributeName,
};
use aws_smithy_http_client::{Builder as HttpBuilder, tls};

use super::api::{Called, QueueAttributes, QueueUrl, Receive, Received, Send, SqsApi};
use super::classify::call_error;
use super::entries::by_position;
use super::message::{attribute, received};
use crate::config::AwsSettings;
use crate::error::{CallError, SqsError};
use crate::handler::{MessageId, ReceiptHandle};
use crate::limits::{CALL_TIMEOUT, CONNECT_TIMEOUT, RECEIVE_GRACE};

/// Where SQS is and who asks: what every region's client is made from.
///
/// Invariant: there is one HTTP connection pool per process, shared by all clients.
pub struct Connection {
    config: SdkConfig,
    clients: Mutex<HashMap<Option<String>, Arc<AwsSqs>>>,
}

impl Connection {
    /// A connection by the SDK's default chain (environment, profile, SSO, container and instance
    /// roles), with what `settings` names put over it. An endpoint on loopback is no AWS: it needs
    /// neither region nor credentials, and takes those of environment or profile where they are.
    pub async fn open(settings: &AwsSettings) -> Self {
        let local = settings.endpoint_url.as_deref().is_some_and(is_loopback);
        let http = http();
        let mut loader = aws_config::defaults(BehaviorVersion::latest()).http_client(http.clone());
        if let Some(region) = &settings.region {
            loader = loader.region(Region::new(region.clone()));
        } else if local {
            // Not the default chain: that ends by asking a cloud machine for its region, which needs
            // a client that the SDK is built without, and on any other machine seconds.
            let mut profile = ProfileFileRegionProvider::builder();
            if let Some(name) = &settings.profile {
                profile = profile.profile_name(name);
            }
            loader = loader.region(
                RegionProviderChain::first_try(EnvironmentVariableRegionProvider::new())
                    .or_else(profile.build())
                    .or_else(LOCAL_REGION),
            );
        }
        if let Some(profile) = &settings.profile {
            loader = loader.profile_name(profile);
        }
        if let Some(endpoint) = &settings.endpoint_url {
            loader = loader.endpoint_url(endpoint);
        }
        if local {
            // The SDK is built without an HTTP client of its own, and a profile may need one.
            let own = ProviderConfig::without_region().with_http_client(http);
            let mut profile = ProfileFileCredentialsProvider::builder().configure(&own);
            if let Some(name) = &settings.profile {
                profile = profile.profile_name(name);
            }
            let environment = EnvironmentVariableCredentialsProvider::new();
            loader = loader.credentials_provider(
                CredentialsProviderChain::first_try("environment", environment)
                    .or_else("profile", profile.build())
                    .or_else("local", local_credentials()),
            );
        }
        Self::of(loader.load().await)
    }

    /// A connection to an SQS inside this process: no account, and a region of its own where none
    /// is named.
    pub async fn local(endpoint: &str, settings: &AwsSettings) -> Self {
        let region = settings.region.clone().map_or(LOCAL_REGION, Region::new);
        let config = aws_config::defaults(BehaviorVersion::latest())
            .http_client(http())
            .region(region)
            .endpoint_url(endpoint)
            .credentials_provider(local_credentials())
            .load()
            .await;
        Self::of(config)
    }

    fn of(config: SdkConfig) -> Self {
        Self {
            config,
            clients: Mutex::default(),
        }
    }

    /// The region that a queue named without one is looked for in.
    pub fn region(&self) -> Option<&str> {
        self.config.region().map(Region::as_ref)
    }

    /// The endpoint that stands in for AWS's own, where the settings or a profile name one.
    pub fn endpoint(&self) -> Option<String> {
        self.config.endpoint_url().map(str::to_owned)
    }

    /// The client for `region`, or for the connection's own.
    ///
    /// # Errors
    /// [`SqsError::NotConnected`] where neither names a region.
    pub fn client(&self, region: Option<&str>) -> Result<Arc<AwsSqs>, SqsError> {
        if region.is_none() && self.region().is_none() {
            return Err(SqsError::NotConnected(
                "no AWS region: set `region` under [aws] in queuelet.toml, --region, AWS_REGION, \
                 or a profile that has one"
                    .into(),
            ));
        }
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        let client = clients
            .entry(region.map(str::to_owned))
            .or_insert_with(|| Arc::new(AwsSqs::new(&self.config, region)));
        Ok(Arc::clone(client))
    }
}

/// The region of a local SQS, which has none.
const LOCAL_REGION: Region = Region::from_static("us-east-1");

fn local_credentials() -> Credentials {
    Credentials::from_keys("local", "local", None)
}

/// Whether an endpoint is on this machine alone.
fn is_loopback(endpoint: &str) -> bool {
    let Ok(uri) = endpoint.parse::<hyper::Uri>() else {
        return false;
    };
    let host = uri.host().unwrap_or("");
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || address
            .parse::<std::net::IpAddr>()
            .is_ok_and(|ip| ip.is_loopback())
}

fn http() -> aws_smithy_runtime_api::client::http::SharedHttpClient {
    HttpBuilder::new()
        .tls_provider(tls::Provider::Rustls(
            tls::rustls_provider::CryptoMode::Ring,
        ))
        .build_https()
}

/// [`SqsApi`] by the AWS SDK.
pub struct AwsSqs {
    config: aws_sdk_sqs::Config,
    /// For calls that the host itself tries again: no retries of the SDK's.
    once: Client,
    /// For calls that nobody else tries again.
    patient: Client,
    /// A receive's attempt may take its wait and five seconds, so each wait has a client.
    receive: Mutex<HashMap<Duration, Client>>,
}

impl AwsSqs {
    fn new(shared: &SdkConfig, region: Option<&str>) -> Self {
        let mut builder = aws_sdk_sqs::config::Builder::from(shared)
            .stalled_stream_protection(StalledStreamProtectionConfig::disabled());
        if let Some(region) = region {
            builder = builder.region(Region::new(region.to_owned()));
        }
        let config = builder.build();
        Self {
            once: client(&config, RetryConfig::disabled(), CALL_TIMEOUT),
            patient: client(&config, RetryConfig::standard(), CALL_TIMEOUT),
            receive: Mutex::default(),
            config,
        }
    }

    fn receiver(&self, wait: Duration) -> Client {
        let mut by_wait = self.receive.lock().unwrap_or_else(PoisonError::into_inner);
        by_wait
            .entry(wait)
            .or_insert_with(|| client(&self.config, RetryConfig::disabled(), wait + RECEIVE_GRACE))
            .clone()
    }
}

fn client(config: &aws_sdk_sqs::Config, retries: RetryConfig, attempt: Duration) -> Client {
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .operation_attempt_timeout(attempt)
        .build();
    Client::from_conf(
        config
            .to_builder()
            .retry_config(retries)
            .timeout_config(timeouts)
            .build(),
    )
}

/// Whole seconds, a fraction rounded up (rules 1.3, 1.4, 5.4).
fn seconds(duration: Duration) -> i32 {
    let whole = duration.as_secs() + u64::from(duration.subsec_nanos() > 0);
    i32::try_from(whole).unwrap_or(i32::MAX)
}

impl SqsApi for AwsSqs {
    fn receive(&self, receive: Receive) -> Called<'_, Vec<Received>> {
        let client = self.receiver(receive.wait);
        Box::pin(async move {
            let answer = client
                .receive_message()
                .queue_url(receive.queue.as_str())
                .max_number_of_messages(receive.max.into())
                .wait_time_seconds(seconds(receive.wait))
                .set_visibility_timeout(receive.visibility.map(seconds))
                .set_receive_request_attempt_id(receive.attempt)
                .message_attribute_names("All")
                .message_system_attribute_names(MessageSystemAttributeName::All)
                .send()
                .await
                .map_err(|e| call_error("ReceiveMessage", e))?;
            let messages = answer.messages.unwrap_or_default();
            Ok(messages.into_iter().map(received).collect())
        })
    }

    fn delete<'a>(&'a self, queue: &'a QueueUrl, handle: &'a ReceiptHandle) -> Called<'a, ()> {
        Box::pin(async move {
            self.once
                .delete_message()
                .queue_url(queue.as_str())
                .receipt_handle(handle.as_str())
                .send()
                .await
                .map_err(|e| call_error("DeleteMessage", e))?;
            Ok(())
        })
    }

    fn delete_batch<'a>(
        &'a self,
        queue: &'a QueueUrl,
        handles: &'a [ReceiptHandle],
    ) -> Called<'a, Vec<Result<(), CallError>>> {
        const OPERATION: &str = "DeleteMessageBatch";
        Box::pin(async move {
            let list = handles.iter().enumerate().map(|(position, handle)| {
                DeleteMessageBatchRequestEntry::builder()
                    .id(position.to_string())
                    .receipt_handle(handle.as_str())
                    .build()
                    .expect("id and handle, the required fields, are set")
            });
            let answer = self
                .once
                .delete_message_batch()
                .queue_url(queue.as_str())
                .set_entries(Some(list.collect()))
                .send()
                .await
                .map_err(|e| call_error(OPERATION, e))?;
            let done = answer.successful.iter().map(|done| done.id.as_str());
            Ok(by_position(OPERATION, handles.len(), done, answer.failed))
        })
    }

    fn change_visibility<'a>(
        &'a self,
        queue: &'a QueueUrl,
        handle: &'a ReceiptHandle,
        visibility: Duration,
    ) -> Called<'a, ()> {
        Box::pin(async move {
            self.once
                .change_message_visibility()
                .queue_url(queue.as_str())
                .receipt_handle(handle.as_str())
                .visibility_timeout(seconds(visibility))
                .send()
                .await
                .map_err(|e| call_error("ChangeMessageVisibility", e))?;
            Ok(())
        })
    }

    fn change_visibility_batch<'a>(
        &'a self,
        queue: &'a QueueUrl,
        entries: &'a [(ReceiptHandle, Duration)],
    ) -> Called<'a, Vec<Result<(), CallError>>> {
        const OPERATION: &str = "ChangeMessageVisibilityBatch";
        Box::pin(async move {
            let list = entries.iter().enumerate().map(|(position, entry)| {
                ChangeMessageVisibilityBatchRequestEntry::builder()
                    .id(position.to_string())
                    .receipt_handle(entry.0.as_str())
                    .visibility_timeout(seconds(entry.1))
                    .build()
                    .expect("id and handle, the required fields, are set")
            });
            let answer = self
                .once
                .change_message_visibility_batch()
                .queue_url(queue.as_str())
                .set_entries(Some(list.collect()))
                .send()
                .await
                .map_err(|e| call_error(OPERATION, e))?;
            let done = answer.successful.iter().map(|done| done.id.as_str());
            Ok(by_position(OPERATION, entries.len(), done, answer.failed))
        })
    }

    fn send(&self, send: Send) -> Called<'_, MessageId> {
        Box::pin(async move {
            let mut call = self
                .patient
                .send_message()
                .queue_url(send.queue.as_str())
                .message_body(send.body)
                .set_message_group_id(send.group_id)
                .set_message_deduplication_id(send.deduplication_id)
                .set_delay_seconds(send.delay.map(seconds));
            for header in send.headers {
                let (name, value) = attribute(header);
                call = call.message_attributes(name, value);
            }
            let answer = call
                .send()
                .await
                .map_err(|e| call_error("SendMessage", e))?;
            Ok(answer.message_id.unwrap_or_default().into())
        })
    }

    fn queue_url<'a>(&'a self, name: &'a str, account: Option<&'a str>) -> Called<'a, QueueUrl> {
        Box::pin(async move {
            let answer = self
                .patient
                .get_queue_url()
                .queue_name(name)
                .set_queue_owner_aws_account_id(account.map(str::to_owned))
                .send()
                .await
                .map_err(|e| call_error("GetQueueUrl", e))?;
            Ok(QueueUrl::new(answer.queue_url.unwrap_or_default()))
        })
    }

    fn create_queue<'a>(
        &'a self,
        name: &'a str,
        attributes: &'a [(&'a str, &'a str)],
    ) -> Called<'a, QueueUrl> {
        Box::pin(async move {
            let mut call = self.patient.create_queue().queue_name(name);
            for (attribute, value) in attributes {
                call = call.attributes(QueueAttributeName::from(*attribute), *value);
            }
            let answer = call
                .send()
                .await
                .map_err(|e| call_error("CreateQueue", e))?;
            Ok(QueueUrl::new(answer.queue_url.unwrap_or_default()))
        })
    }

    fn queue_attributes<'a>(&'a self, queue: &'a QueueUrl) -> Called<'a, QueueAttributes> {
        Box::pin(async move {
            let mut call = self
                .patient
                .get_queue_attributes()
                .queue_url(queue.as_str())
                .attribute_names(QueueAttributeName::VisibilityTimeout)
                .attribute_names(QueueAttributeName::RedrivePolicy);
            for count in BACKLOG {
                call = call.attribute_names(count);
            }
            let answer = call
                .send()
                .await
                .map_err(|e| call_error("GetQueueAttributes", e))?;
            let attributes = answer.attributes.unwrap_or_default();
            let number = |name| {
                let text: Option<&String> = attributes.get(&name);
                text.and_then(|text| text.parse::<u64>().ok())
            };
            Ok(QueueAttributes {
                visibility: number(QueueAttributeName::VisibilityTimeout).map(Duration::from_secs),
                max_receive_count: attributes
                    .get(&QueueAttributeName::RedrivePolicy)
                    .and_then(|policy| max_receive_count(policy)),
                backlog: BACKLOG.into_iter().filter_map(number).sum(),
            })
        })
    }
}

/// The three states that a message of a queue can be in.
const BACKLOG: [QueueAttributeName; 3] = [
    QueueAttributeName::ApproximateNumberOfMessages,
    QueueAttributeName::ApproximateNumberOfMessagesNotVisible,
    QueueAttributeName::ApproximateNumberOfMessagesDelayed,
];

/// `maxReceiveCount` of a redrive policy: AWS sends a number, or text where the policy was written
/// so.
fn max_receive_count(policy: &str) -> Option<u32> {
    let policy: serde_json::Value = serde_json::from_str(policy).ok()?;
    let count = policy.get("maxReceiveCount")?;
    match count {
        serde_json::Value::String(text) => text.parse().ok(),
        number => number.as_u64().and_then(|n| n.try_into().ok()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Rule 1.4.
    #[test]
    fn a_fraction_of_a_second_is_rounded_up() {
        for (ms, want) in [(0, 0), (1, 1), (1000, 1), (1200, 2), (43_200_000, 43_200)] {
            assert_eq!(seconds(Duration::from_millis(ms)), want, "{ms} ms");
        }
    }

    #[test]
    fn a_max_receive_count_is_read_as_number_and_as_text() {
        for policy in [
            r#"{"deadLetterTargetArn":"a","maxReceiveCount":3}"#,
            r#"{"deadLetterTargetArn":"a","maxReceiveCount":"3"}"#,
        ] {
            assert_eq!(max_receive_count(policy), Some(3));
        }
        assert_eq!(max_receive_count("no json"), None);
    }

    // Rule 1.1.
    #[test]
    fn a_returned_url_moves_to_the_endpoint() {
        let url = QueueUrl::new("http://sqs.eu-west-1.localhost:4566/000000000000/orders");
        assert_eq!(
            url.at_endpoint("http://127.0.0.1:9324/").as_str(),
            "http://127.0.0.1:9324/000000000000/orders"
        );
    }

    #[test]
    fn only_an_endpoint_on_this_machine_is_local() {
        for local in [
            "http://127.0.0.1:9324",
            "http://localhost:4566/",
            "http://[::1]:9324",
            "https://127.8.0.1",
        ] {
            assert!(is_loopback(local), "{local}");
        }
        for far in [
            "https://sqs.eu-west-1.amazonaws.com",
            "http://localhost.example.com",
            "http://127.0.0.1@example.com",
            "http://10.0.0.1:4566",
            "",
        ] {
            assert!(!is_loopback(far), "{far}");
        }
    }
}
