//! Between wasi:http and us: what one store's guest asks, and for whom.

use std::sync::Arc;

use hyper::{Request, Response};
use tokio::sync::Semaphore;
use tokio_util::sync::{CancellationToken, DropGuard};
use wasmtime::component::ResourceTable;
use wasmtime_wasi_http::p2::bindings::http::types::ErrorCode;
use wasmtime_wasi_http::{
    Error, RequestOptions, WasiBody, WasiHttpCtx, WasiHttpCtxView, WasiHttpHooks,
};

use super::Outbound;
use super::lines::{self, Caller, Line, Named};
use super::outcome::hyper_error;
use super::refusal::NoAnswer;
use super::send::{Rest, check, send};
use crate::limits::{HTTP_CHUNK, HTTP_FIELDS, HTTP_TOGETHER};
use crate::plugin::lane::Lane;
use crate::plugin::log::Subject;
use crate::plugin::voice::Spoken;

type Io = Box<dyn Future<Output = Result<(), Error>> + Send>;
type Answered = Result<(Response<WasiBody>, Io), Error>;

/// The requests of one store's guest.
pub(in crate::plugin) struct Requests {
    context: WasiHttpCtx,
    calls: Calls,
}

/// Whose requests they are, and where they may go.
struct Calls {
    outbound: Arc<Outbound>,
    lane: Arc<Lane>,
    subject: Arc<Subject>,
    voice: Arc<Spoken>,
    /// What the requests of the call share, once it has made one.
    open: Option<Open>,
}

struct Open {
    places: Arc<Semaphore>,
    /// Ends them all when it is dropped.
    over: DropGuard,
}

impl Requests {
    /// Requests to where the mount's rules let them go.
    pub(in crate::plugin) fn new(
        outbound: Arc<Outbound>,
        lane: Arc<Lane>,
        subject: Arc<Subject>,
        voice: Arc<Spoken>,
    ) -> Self {
        let mut context = WasiHttpCtx::new();
        context.set_field_size_limit(HTTP_FIELDS);
        Self {
            context,
            calls: Calls {
                outbound,
                lane,
                subject,
                voice,
                open: None,
            },
        }
    }

    /// A call begins.
    pub(in crate::plugin) fn begin(&mut self, subject: Arc<Subject>) {
        self.end();
        self.calls.subject = subject;
    }

    /// The call has ended, and with it what is left of its requests: nothing of them is kept for
    /// another message.
    pub(in crate::plugin) fn end(&mut self) {
        self.calls.open = None;
    }

    /// What wasi:http works on.
    pub(in crate::plugin) fn view<'a>(
        &'a mut self,
        table: &'a mut ResourceTable,
    ) -> WasiHttpCtxView<'a> {
        WasiHttpCtxView {
            hooks: &mut self.calls,
            table,
            ctx: &mut self.context,
        }
    }
}

impl WasiHttpHooks for Calls {
    /// We set it ourselves, once the authority has been checked.
    fn set_host_header(&mut self) -> bool {
        false
    }

    fn p2_outgoing_body_chunk_size(&mut self) -> usize {
        HTTP_CHUNK
    }

    fn p2_error_from_hyper(&mut self, error: &hyper::Error) -> ErrorCode {
        match hyper_error(error) {
            Error::HttpResponseIncomplete => ErrorCode::HttpResponseIncomplete,
            Error::ConnectionTerminated => ErrorCode::ConnectionTerminated,
            _ => ErrorCode::HttpProtocolError,
        }
    }

    fn send_request(
        &mut self,
        request: Request<WasiBody>,
        options: Option<RequestOptions>,
        _: Box<dyn Future<Output = Result<(), Error>> + Send>,
    ) -> Box<dyn Future<Output = Answered> + Send> {
        let (outbound, subject) = (Arc::clone(&self.outbound), Arc::clone(&self.subject));
        let (lane, voice) = (Arc::clone(&self.lane), Arc::clone(&self.voice));
        let open = self.open.get_or_insert_with(|| Open {
            places: Arc::new(Semaphore::new(HTTP_TOGETHER)),
            over: CancellationToken::new().drop_guard(),
        });
        let (places, over) = (Arc::clone(&open.places), open.over.token().clone());
        Box::new(async move {
            let answered = answer(
                &outbound,
                Caller {
                    subject: &subject,
                    voice: &voice,
                },
                request,
                options,
                places,
            );
            // What the connection costs is the plugin's: it has a thread when the plugin's turn comes.
            let answered = lane.in_turns(over.run_until_cancelled(answered)).await;
            let (response, rest) = answered.unwrap_or(Err(Error::ConnectionTerminated))?;
            let io: Io = Box::new(async move {
                // What ends here closes the connection.
                lane.in_turns(over.run_until_cancelled(rest)).await;
                Ok(())
            });
            Ok((response, io))
        })
    }
}

/// Makes the request and says in the log how it went.
async fn answer(
    outbound: &Outbound,
    caller: Caller<'_>,
    request: Request<WasiBody>,
    options: Option<RequestOptions>,
    places: Arc<Semaphore>,
) -> Result<(Response<WasiBody>, Rest), Error> {
    let target = match check(outbound, request.method(), request.uri()) {
        Ok(target) => target,
        Err(refusal) => {
            let named = Named::by(request.uri());
            return Err(lines::refused(outbound, caller, &named, &refusal));
        }
    };
    let line = Line::begin(caller, request.method(), Named::of(&target));
    match send(outbound, &target, request, options, places).await {
        Ok((response, rest)) => {
            line.answered(response.status());
            Ok((response, rest))
        }
        Err(NoAnswer::Failed(error)) => {
            line.failed(&error);
            Err(error)
        }
        Err(NoAnswer::Refused(refusal)) => {
            let named = line.unsaid();
            Err(lines::refused(outbound, caller, &named, &refusal))
        }
    }
}
