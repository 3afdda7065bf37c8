//! What a turn needs of the tools.

use super::ToolSpec;
use crate::open_requests::Requests;
use crate::tools::{CallRequest, OutputKeeper, Toolbox};
use async_trait::async_trait;
use cofferdam_core::tool::{ToolAnswer, ToolError};
use cofferdam_policy::Safety;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The tools of a turn.
#[async_trait]
pub trait Tools: Send + Sync {
    /// Those that can be called.
    fn specs(&self) -> Vec<ToolSpec>;

    /// Whether calls of this tool change nothing, by its policy, so that their order does not
    /// matter. A tool that is not there changes nothing.
    fn is_read_only(&self, tool: &str) -> bool;

    /// The requests that calls may add to.
    fn requests(&self) -> Arc<Requests>;

    /// Whether a tool's policy is of one of these profiles. A tool that is not there is of none.
    fn is_among(&self, tool: &str, profiles: &BTreeSet<String>) -> bool;

    /// Runs one call to its audited end.
    ///
    /// # Errors
    /// Every refusal and failure.
    async fn call(&self, request: CallRequest) -> Result<ToolAnswer, ToolError>;

    /// Writes down that a call was refused before it ran; returns what to answer.
    async fn refuse(&self, request: CallRequest, why: ToolError) -> ToolError;

    /// Keeps the output of a call as a file that tools can read; the file's path.
    ///
    /// # Errors
    /// Why it could not be kept.
    async fn keep(&self, output: OutputKeeper) -> Result<String, ToolError>;
}

#[async_trait]
impl Tools for Toolbox {
    fn specs(&self) -> Vec<ToolSpec> {
        let spec = |(name, tool): (&str, &crate::tools::Loaded)| {
            let description = &tool.as_ref().ok()?.description;
            Some(ToolSpec {
                name: name.to_owned(),
                summary: description.summary.clone(),
                arguments: description.arguments.clone(),
            })
        };
        self.registry().iter().filter_map(spec).collect()
    }

    fn is_read_only(&self, tool: &str) -> bool {
        self.registry().get(tool).map_or(true, |tool| tool.policy.safety == Safety::ReadOnly)
    }

    fn requests(&self) -> Arc<Requests> {
        Toolbox::requests(self).clone()
    }

    fn is_among(&self, tool: &str, profiles: &BTreeSet<String>) -> bool {
        self.registry().get(tool).is_ok_and(|tool| profiles.contains(&tool.policy.profile))
    }

    async fn call(&self, request: CallRequest) -> Result<ToolAnswer, ToolError> {
        Toolbox::call(self, request).await
    }

    async fn refuse(&self, request: CallRequest, why: ToolError) -> ToolError {
        Toolbox::refuse(self, request, why).await
    }

    async fn keep(&self, output: OutputKeeper) -> Result<String, ToolError> {
        self.keep_output(output).await
    }
}
