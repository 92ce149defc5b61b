//! Where SQS and SNS are: the clients of every region, from one configuration.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use aws_config::environment::{
    EnvironmentVariableCredentialsProvider, EnvironmentVariableRegionProvider,
};
use aws_config::identity::IdentityCache;
use aws_config::meta::credentials::CredentialsProviderChain;
use aws_config::meta::region::RegionProviderChain;
use aws_config::profile::{ProfileFileCredentialsProvider, ProfileFileRegionProvider};
use aws_config::provider_config::ProviderConfig;
use aws_config::sts::AssumeRoleProvider;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_smithy_http_client::{Builder as HttpBuilder, tls};
use aws_smithy_runtime_api::client::http::SharedHttpClient;

use super::api::QueueUrl;
use super::called::Naming;
use super::client::AwsSqs;
use super::memory::Finished;
use super::sns::AwsSns;
use crate::config::AwsSettings;
use crate::error::SqsError;

/// Where SQS is and who asks: what every region's client is made from.
///
/// Invariant: there is one HTTP connection pool per process, shared by all clients.
pub struct Connection {
    config: SdkConfig,
    /// SQS's own endpoint, over the one of all services.
    sqs_endpoint: Option<String>,
    /// SNS's own endpoint, over the one of all services.
    sns_endpoint: Option<String>,
    clients: ByRegion<AwsSqs>,
    sns_clients: ByRegion<AwsSns>,
    finished: Mutex<HashMap<QueueUrl, Finished>>,
    /// The connections of roles that were assumed; none where there are no roles.
    roles: Option<tokio::sync::Mutex<HashMap<String, Arc<Connection>>>>,
}

/// Clients by the region that was asked for; the connection's own is under none.
type ByRegion<T> = Mutex<HashMap<Option<String>, Arc<T>>>;

impl Connection {
    /// A connection by the SDK's default chain (environment, profile, SSO, container and instance
    /// roles), with what `settings` names put over it. An endpoint on loopback is no AWS: it needs
    /// neither region nor credentials, and takes those of environment or profile where they are.
    pub async fn open(settings: &AwsSettings) -> Self {
        let endpoint = settings.sqs_endpoint_url.as_deref();
        let endpoint = endpoint.or(settings.endpoint_url.as_deref());
        let local = endpoint.is_some_and(is_loopback);
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
        let mut connection = Self::of(loader.load().await);
        connection
            .sqs_endpoint
            .clone_from(&settings.sqs_endpoint_url);
        connection
            .sns_endpoint
            .clone_from(&settings.sns_endpoint_url);
        connection
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
        Self {
            roles: None,
            ..Self::of(config)
        }
    }

    fn of(config: SdkConfig) -> Self {
        Self {
            config,
            sqs_endpoint: None,
            sns_endpoint: None,
            clients: Mutex::default(),
            sns_clients: Mutex::default(),
            finished: Mutex::default(),
            roles: Some(Default::default()),
        }
    }

    /// The connection that calls as `role` (an ARN) go by; without one, or where there are no roles
    /// as in local mode, this one. STS is asked with the first call, and again before the role's
    /// credentials expire.
    pub async fn as_role(self: &Arc<Self>, role: Option<&str>) -> Arc<Self> {
        let (Some(role), Some(roles)) = (role, &self.roles) else {
            return Arc::clone(self);
        };
        let mut roles = roles.lock().await;
        if let Some(connection) = roles.get(role) {
            return Arc::clone(connection);
        }
        let assumed = AssumeRoleProvider::builder(role)
            .session_name("queuelet")
            .configure(&self.config)
            .build()
            .await;
        let config = self.config.to_builder();
        let config = config
            .credentials_provider(SharedCredentialsProvider::new(assumed))
            .identity_cache(IdentityCache::lazy().build());
        let connection = Arc::new(Self {
            sqs_endpoint: self.sqs_endpoint.clone(),
            sns_endpoint: self.sns_endpoint.clone(),
            ..Self::of(config.build())
        });
        roles.insert(role.to_owned(), Arc::clone(&connection));
        connection
    }

    /// The region that a queue named without one is looked for in.
    pub fn region(&self) -> Option<&str> {
        self.config.region().map(Region::as_ref)
    }

    /// The endpoint that stands in for SQS's own, where the settings or a profile name one.
    pub fn endpoint(&self) -> Option<String> {
        let of_all = || self.config.endpoint_url().map(str::to_owned);
        self.sqs_endpoint.clone().or_else(of_all)
    }

    /// The client of SQS for `region`, or for the connection's own.
    ///
    /// # Errors
    /// [`SqsError::NotConnected`] where neither names a region.
    pub fn client(&self, region: Option<&str>) -> Result<Arc<AwsSqs>, SqsError> {
        self.of_region(&self.clients, region, || {
            AwsSqs::new(&self.config, region, self.sqs_endpoint.as_deref())
        })
    }

    /// The client of SNS for `region`, or for the connection's own.
    ///
    /// # Errors
    /// [`SqsError::NotConnected`] where neither names a region.
    pub fn sns(&self, region: Option<&str>) -> Result<Arc<AwsSns>, SqsError> {
        self.of_region(&self.sns_clients, region, || {
            AwsSns::new(&self.config, region, self.sns_endpoint.as_deref())
        })
    }

    /// The memory of a queue's finished messages: one for all who read the queue, now and after
    /// they were mounted again (rule 5.11).
    pub fn finished(&self, queue: &QueueUrl) -> Finished {
        let mut finished = self.finished.lock().unwrap_or_else(PoisonError::into_inner);
        finished.entry(queue.clone()).or_default().clone()
    }

    fn of_region<T>(
        &self,
        clients: &ByRegion<T>,
        region: Option<&str>,
        make: impl FnOnce() -> T,
    ) -> Result<Arc<T>, SqsError> {
        if region.is_none() && self.region().is_none() {
            return Err(SqsError::NotConnected(
                "no AWS region: set `region` under [aws] in queuelet.toml, --region, AWS_REGION, \
                 or a profile that has one"
                    .into(),
            ));
        }
        let mut clients = clients.lock().unwrap_or_else(PoisonError::into_inner);
        let client = clients
            .entry(region.map(str::to_owned))
            .or_insert_with(|| Arc::new(make()));
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

fn http() -> SharedHttpClient {
    let client = HttpBuilder::new()
        .tls_provider(tls::Provider::Rustls(
            tls::rustls_provider::CryptoMode::Ring,
        ))
        .build_https();
    SharedHttpClient::new(Naming(client))
}

#[cfg(test)]
mod tests {
    use super::*;

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
