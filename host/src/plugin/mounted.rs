//! A plugin, and the handlers that it is in its mounts.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::allowance::Allowance;
use super::call::{Calling, Linked};
use super::convert::{Lent, answer};
use super::digest::Digest;
use super::engine::Guests;
use super::lane::Lane;
use super::log::Subject;
use super::places::Pool;
use super::publish::Publishing;
use super::warm::Instance;
use crate::config::{Environment, Instances, Reuse, Sandbox};
use crate::handler::{
    Answer, Call, Failure, Handler, HandlerKind, Handling, MessageId, SqsMessage, Voice,
};
use crate::limits::{GUEST_MEMORY, GUEST_OUTPUT};

/// What a mount grants its plugin.
#[derive(Clone, Debug)]
pub struct MountGrants {
    /// What an instance may use and reach.
    pub sandbox: Sandbox,
    /// What it finds in its environment, read from where the sandbox says.
    pub environment: Environment,
    /// Whether an instance serves one call, or calls one after the other.
    pub instances: Instances,
}

/// What a mount grants that says nothing of it.
impl Default for MountGrants {
    fn default() -> Self {
        Self {
            sandbox: Sandbox {
                memory: GUEST_MEMORY,
                cpu_time: None,
                max_output: GUEST_OUTPUT,
                env: BTreeMap::new(),
                http: Vec::new(),
            },
            environment: Environment::default(),
            instances: Instances::Fresh,
        }
    }
}

/// One version of a handler: compiled, linked, and asked for its descriptor.
pub struct Plugin {
    pub(super) name: Arc<str>,
    pub(super) digest: Digest,
    pub(super) short: Arc<str>,
    pub(super) contract: String,
    pub(super) descriptor: Vec<(String, String)>,
    pub(super) linked: Linked,
    pub(super) guests: Arc<Guests>,
    pub(super) lane: Arc<Lane>,
    /// The bytes of memory that an instance begins with.
    pub(super) memory: usize,
    /// What it has where no mount grants it anything.
    pub(super) standard: Arc<Allowance>,
}

impl Plugin {
    /// The plugin's name: its file's, without `.wasm`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The digest of its file.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// The version of the contract that it was built for.
    pub fn contract(&self) -> &str {
        &self.contract
    }

    /// The settings that it says of itself, in its own order.
    pub fn descriptor(&self) -> &[(String, String)] {
        &self.descriptor
    }

    /// The bytes of memory that an instance begins with. A mount that allows less can handle nothing.
    pub fn memory(&self) -> usize {
        self.memory
    }

    /// The handler that this version is in one mount. Its warm instances are its own; they go when
    /// it is dropped.
    pub fn mounted(self: &Arc<Self>, grants: MountGrants) -> Arc<dyn Handler> {
        let warm = match &grants.instances {
            Instances::Fresh => None,
            Instances::Reuse(reuse) => Some((self.guests.places().open(), reuse.clone())),
        };
        let lines = Arc::clone(&self.standard.voice.lines);
        let allowance = Allowance::of(&grants.sandbox, grants.environment, lines);
        Arc::new(Mounted {
            plugin: Arc::clone(self),
            allowance: Arc::new(allowance),
            warm,
        })
    }

    fn calling(
        &self,
        call: Call,
        message: Option<&MessageId>,
        messages: usize,
        allowance: &Arc<Allowance>,
        warm: Option<&(Pool, Reuse)>,
    ) -> Calling {
        Calling {
            guests: Arc::clone(&self.guests),
            lane: Arc::clone(&self.lane),
            linked: self.linked.clone(),
            allowance: Arc::clone(allowance),
            subject: Subject {
                plugin: Arc::clone(&self.name),
                digest: Arc::clone(&self.short),
                queue: call.queue,
                message: message.map(|id| id.as_str().to_owned()),
            },
            publishing: call.publish.map(Publishing::from_here),
            limit: call.timeout,
            messages: messages as u64,
            reuse: warm.map(|(pool, reuse)| (pool.id(), reuse.clone())),
        }
    }

    fn single(&self, calling: Calling, message: Arc<SqsMessage>) -> Handling<Answer> {
        let secrets = calling.allowance.voice.secrets.clone();
        let answered = calling.make(async move |warm| {
            let Instance::Single(handler) = &warm.instance else {
                return Err(wrong_kind(HandlerKind::Batch));
            };
            let lent = Lent::new(&message);
            let single = handler.queuelet_handler_single();
            single.call_handle(&mut warm.store, lent.message()).await
        });
        let answered = self.guests.run(&self.lane, answered);
        Box::pin(async move { answered.await.and_then(|said| secrets.answer(answer(said))) })
    }

    fn batch(
        &self,
        calling: Calling,
        messages: Vec<Arc<SqsMessage>>,
    ) -> Handling<Result<Vec<Answer>, Failure>> {
        let secrets = calling.allowance.voice.secrets.clone();
        let answered = calling.make(async move |warm| {
            let Instance::Batch(handler) = &warm.instance else {
                return Err(wrong_kind(HandlerKind::Single));
            };
            let lent: Vec<_> = messages.iter().map(|m| Lent::new(m)).collect();
            let list: Vec<_> = lent.iter().map(Lent::message).collect();
            let batch = handler.queuelet_handler_batch();
            batch.call_handle(&mut warm.store, &list).await
        });
        let answered = self.guests.run(&self.lane, answered);
        Box::pin(async move {
            let answers = answered.await?.into_iter();
            Ok(answers.map(|said| secrets.answer(answer(said))).collect())
        })
    }
}

/// A plugin with nothing granted, each call on a fresh instance.
impl Handler for Plugin {
    fn kind(&self) -> HandlerKind {
        match self.linked {
            Linked::Single(_) => HandlerKind::Single,
            Linked::Batch(_) => HandlerKind::Batch,
        }
    }

    fn voice(&self) -> Arc<dyn Voice> {
        Arc::clone(&self.standard.voice) as _
    }

    fn handle(&self, call: Call, message: Arc<SqsMessage>) -> Handling<Answer> {
        let calling = self.calling(call, message.id.as_ref(), 1, &self.standard, None);
        self.single(calling, message)
    }

    fn handle_batch(
        &self,
        call: Call,
        messages: Vec<Arc<SqsMessage>>,
    ) -> Handling<Result<Vec<Answer>, Failure>> {
        let calling = self.calling(call, None, messages.len(), &self.standard, None);
        self.batch(calling, messages)
    }
}

/// One mount of one version.
struct Mounted {
    plugin: Arc<Plugin>,
    allowance: Arc<Allowance>,
    warm: Option<(Pool, Reuse)>,
}

impl Handler for Mounted {
    fn kind(&self) -> HandlerKind {
        self.plugin.kind()
    }

    fn voice(&self) -> Arc<dyn Voice> {
        Arc::clone(&self.allowance.voice) as _
    }

    fn handle(&self, call: Call, message: Arc<SqsMessage>) -> Handling<Answer> {
        let plugin = &self.plugin;
        let calling = plugin.calling(
            call,
            message.id.as_ref(),
            1,
            &self.allowance,
            self.warm.as_ref(),
        );
        plugin.single(calling, message)
    }

    fn handle_batch(
        &self,
        call: Call,
        messages: Vec<Arc<SqsMessage>>,
    ) -> Handling<Result<Vec<Answer>, Failure>> {
        let plugin = &self.plugin;
        let calling = plugin.calling(
            call,
            None,
            messages.len(),
            &self.allowance,
            self.warm.as_ref(),
        );
        plugin.batch(calling, messages)
    }
}

fn wrong_kind(kind: HandlerKind) -> wasmtime::Error {
    wasmtime::Error::msg(format!(
        "the host called a {kind} handler the other way; please report this"
    ))
}
