//! From a name and a text to a judged call of a known tool, and what of both the audit may hold.

use super::outcome::Progress;
use super::request::CallRequest;
use super::toolbox::Parts;
use crate::tools::{Judged, Tool};
use cofferdam_core::audit::VerdictKind;
use cofferdam_core::tool::ToolError;
use cofferdam_policy::redact;
use serde_json::Value;
use std::sync::Arc;

impl Parts {
    /// The tool that is meant, and what the judge says of this call of it.
    ///
    /// # Errors
    /// What the registry, the schema and the judge refuse, in this order.
    pub(super) fn judged(
        &self,
        request: &CallRequest,
        text: &str,
        progress: &mut Progress,
    ) -> Result<(Arc<Tool>, Judged), ToolError> {
        let tool = self.registry.get(&request.tool).cloned().inspect_err(|_| {
            // Nothing classifies them, so they are audited by length and hash.
            progress.facts.arguments = redact(&Value::String(text.to_owned()), None);
        })?;
        progress.facts.component_sha256 = Some(tool.component.sha256().to_owned());
        progress.facts.policy_sha256 = Some(tool.policy.sha256.clone());
        progress.facts.profile = Some(tool.policy.profile.clone());
        let arguments = tool.read(text).inspect_err(|_| {
            progress.facts.arguments = redact(&Value::String(text.to_owned()), None);
        })?;
        progress.facts.arguments = redact(&arguments, Some(&tool.policy));
        let (started, limits) = (progress.started, tool.policy.limits);
        let stopped = || request.stopped(started, limits);
        let judged = tool.judge(request.id.clone(), arguments, &stopped)?;
        if matches!(judged, Judged::Permit(_)) {
            progress.verdict = VerdictKind::Permit;
        }
        Ok((tool, judged))
    }
}
