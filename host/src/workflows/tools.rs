//! The tools of one agent: those that its file names, each judged as in any turn.

use async_trait::async_trait;
use cofferdam_agent::open_requests::Requests;
use cofferdam_agent::tools::{CallRequest, OutputKeeper, Toolbox};
use cofferdam_agent::turn::{ToolSpec, Tools};
use cofferdam_core::tool::{ErrorCode, ToolAnswer, ToolError, wire_name};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Tools under a list of names.
pub(super) struct AgentTools {
    all: Arc<Toolbox>,
    named: BTreeSet<String>,
}

impl AgentTools {
    /// Those of the toolbox that are named.
    ///
    /// # Errors
    /// `unknown_tool` or `tool_unavailable` for the first name that is none's.
    pub(super) fn new(all: Arc<Toolbox>, names: &[String]) -> Result<Self, ToolError> {
        let registry = all.registry();
        let mut named = BTreeSet::new();
        for name in names {
            registry.get(name)?;
            named.insert(registry.resolve_name(name).into_owned());
        }
        Ok(Self { all, named })
    }

    fn may(&self, tool: &str) -> bool {
        self.named.contains(tool) || self.named.contains(&*wire_name(tool))
    }
}

#[async_trait]
impl Tools for AgentTools {
    fn specs(&self) -> Vec<ToolSpec> {
        let specs = Tools::specs(&*self.all);
        specs.into_iter().filter(|spec| self.named.contains(&spec.name)).collect()
    }

    fn is_read_only(&self, tool: &str) -> bool {
        self.all.is_read_only(tool)
    }

    fn requests(&self) -> Arc<Requests> {
        Tools::requests(&*self.all)
    }

    fn is_among(&self, tool: &str, profiles: &BTreeSet<String>) -> bool {
        self.may(tool) && self.all.is_among(tool, profiles)
    }

    async fn call(&self, request: CallRequest) -> Result<ToolAnswer, ToolError> {
        if self.may(&request.tool) {
            // What an agent answers is the output of its task, and no reply.
            return Tools::call(&*self.all, CallRequest { has_reply: false, ..request }).await;
        }
        let named: Vec<&str> = self.named.iter().map(String::as_str).collect();
        let there = if named.is_empty() { "no tools".to_owned() } else { named.join(", ") };
        let tool = cofferdam_core::text::one_line(&request.tool, 80);
        let said = format!("{tool} is not for this agent; its file names {there}");
        Err(self.refuse(request, ToolError::new(ErrorCode::UnknownTool, said)).await)
    }

    async fn refuse(&self, request: CallRequest, why: ToolError) -> ToolError {
        Tools::refuse(&*self.all, request, why).await
    }

    async fn keep(&self, output: OutputKeeper) -> Result<String, ToolError> {
        Tools::keep(&*self.all, output).await
    }
}
