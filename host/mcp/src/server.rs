//! The server as the protocol sees it: what it is, what it offers, and a call for each
//! `tools/call`. One serves all clients of a process.

use crate::CHANNEL;
use crate::approving::OpenQuestions;
use crate::message::RawArguments;
use crate::offer::offer_tools;
use cofferdam_agent::tools::Toolbox;
use cofferdam_core::id::Caller;
use cofferdam_core::schema::Schema;
use cofferdam_warden::attachments::outgoing::Outgoing;
use cofferdam_warden::attachments::{self, BlobStore};
use rmcp::ServerHandler;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CustomRequest, CustomResult, ErrorCode, ErrorData,
    Implementation, InitializeRequestParams, InitializeResult, ListToolsResult, PaginatedRequestParams,
    ProtocolVersion, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio_util::task::TaskTracker;

/// How long a client may keep the list of tools: it changes with the process alone.
const LIST_TTL_MS: u64 = 300_000;

/// What the server is made of.
pub struct ServerParts {
    /// What calls pass through.
    pub toolbox: Arc<Toolbox>,
    /// Where the bytes of attachments are held.
    pub blobs: BlobStore,
    /// Limits on attachments.
    pub attachments: attachments::Config,
    /// Holds the files that calls add to replies. It is this process's alone: what no call holds is
    /// removed.
    pub outgoing: Outgoing,
    /// How long a person is waited for.
    pub expires: Duration,
    /// Who calls, as the audit names them.
    pub sender: String,
}

/// The tools of the policies as an MCP server. A clone is the same server.
#[derive(Clone)]
pub struct McpServer(pub(crate) Arc<ServerState>);

pub(crate) struct ServerState {
    pub(crate) parts: ServerParts,
    /// The tools as they are offered, each with what its results are held to.
    pub(crate) offer: BTreeMap<String, (Tool, Option<Schema>)>,
    pub(crate) questions: OpenQuestions,
    /// Calls that have not ended.
    pub(crate) calls: TaskTracker,
    /// Names this process in the ids of calls.
    started: u128,
    next: AtomicU64,
}

impl McpServer {
    /// A server of the tools that load.
    pub fn new(parts: ServerParts) -> Self {
        let offer = offer_tools(parts.toolbox.registry());
        let questions = OpenQuestions::new(parts.expires);
        let started = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let calls = TaskTracker::new();
        Self(Arc::new(ServerState { parts, offer, questions, calls, started, next: AtomicU64::new(0) }))
    }

    /// Waits until no call is under way, for so long at most.
    pub(crate) async fn wait_idle(&self, patience: Duration) {
        self.0.calls.close();
        if tokio::time::timeout(patience, self.0.calls.wait()).await.is_err() {
            tracing::warn!("calls are still under way; what they have not published stays unpublished");
        }
    }
}

/// What tells a client over HTTP from others, all of which have one name: a session's id, or the
/// address of one that has none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClientKey(pub(crate) Arc<str>);

impl ServerState {
    pub(crate) fn caller(&self) -> Caller {
        Caller { channel: CHANNEL.to_owned(), sender: self.parts.sender.clone() }
    }

    /// The name of a turn that is one call, and that nobody asks for again.
    pub(crate) fn next_turn(&self) -> String {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        format!("{CHANNEL}-{:x}-{:x}-{number:x}", self.started, std::process::id())
    }
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        ServerConfig::new(capabilities)
            // Of those that have `initialize`; the newer era names its version in each request.
            .with_protocol_version(ProtocolVersion::V_2025_11_25)
            .with_server_info(
                Implementation::new("cofferdam", env!("CARGO_PKG_VERSION")).with_title("Cofferdam"),
            )
            .with_instructions(instructions(self))
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let answer = self.negotiate_initialize(&request)?;
        // From here on the client speaks the version that was agreed on.
        let mut agreed = request;
        agreed.protocol_version = answer.protocol_version.clone();
        context.peer.set_peer_info(agreed);
        Ok(answer)
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        if let Some(cursor) = request.and_then(|request| request.cursor) {
            let said = format!("no page {cursor:?}: all tools are on the first one; leave out the cursor");
            return Err(ErrorData::invalid_params(cofferdam_core::text::one_line(&said, 300), None));
        }
        let mut list =
            ListToolsResult::with_all_items(self.0.offer.values().map(|(tool, _)| tool.clone()).collect());
        if is_stateless(&context) {
            list.ttl_ms = Some(LIST_TTL_MS);
            list.cache_scope = Some(CacheScope::Private);
        }
        Ok(list)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.0.offer.get(name).map(|(tool, _)| tool.clone())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let _under_way = self.0.calls.token();
        self.0.call(request, context).await
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        // The library takes for a method that it does not know what it cannot read as one it knows.
        let known = ["initialize", "server/discover", "tools/list", "tools/call", "ping"];
        let method = cofferdam_core::text::one_line(&request.method, 80);
        let is_gone = is_stateless(&context) && matches!(&*method, "initialize" | "ping");
        if known.contains(&&*request.method) && !is_gone {
            let said = format!("the parameters of {method} have a wrong shape");
            return Err(ErrorData::invalid_params(said, None));
        }
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("no method {method:?}"), None))
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(ProtocolVersion::KNOWN_VERSIONS)
    }
}

/// Whether a request is one of the newer era.
pub(crate) fn is_stateless(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}

/// The arguments of a call as its client wrote them, by either transport. They are held here no
/// longer.
pub(crate) fn take_raw_arguments(context: &mut RequestContext<RoleServer>) -> Option<RawArguments> {
    let extensions = &mut context.extensions;
    extensions
        .remove::<RawArguments>()
        .or_else(|| extensions.get_mut::<::http::request::Parts>()?.extensions.remove::<RawArguments>())
}

/// Which client asks, as far as it can be told from others.
pub(crate) fn client_key(context: &RequestContext<RoleServer>) -> Option<ClientKey> {
    context.extensions.get::<::http::request::Parts>()?.extensions.get::<ClientKey>().cloned()
}

/// What a model is told beside the tools themselves.
fn instructions(server: &McpServer) -> String {
    let tools = server.0.parts.toolbox.registry().iter().filter_map(|(_, tool)| tool.as_ref().ok());
    let mounts = tools.flat_map(|tool| &tool.policy.grants.mounts).map(|mount| mount.guest.as_str());
    let mounts: Vec<&str> = mounts.collect::<BTreeSet<_>>().into_iter().collect();
    format!(
        "Paths are absolute and lie below {}. A refusal begins with its code, such as path_denied, and says \
         what to do instead.",
        if mounts.is_empty() { "nothing: no tool has files".to_owned() } else { mounts.join(" or ") }
    )
}
