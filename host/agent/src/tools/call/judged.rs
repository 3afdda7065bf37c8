//! From a name and a text to a judged call of a known tool, and what of both the audit may hold.

use super::request::CallRequest;
use super::toolbox::CallServices;
use crate::tools::{PermittedCall, RegisteredTool};
use cofferdam_core::audit::VerdictKind;
use cofferdam_core::tool::ToolError;
use cofferdam_policy::redact;
use cofferdam_warden::calls::CallRecord;
use serde_json::Value;
use std::sync::Arc;

impl CallServices {
    /// The tool that is meant, and what the judge says of this call of it.
    ///
    /// # Errors
    /// What the registry, the schema and the judge refuse, in this order.
    pub(super) fn judge_call(
        &self,
        request: &CallRequest,
        text: &str,
        record: &mut CallRecord,
    ) -> Result<(Arc<RegisteredTool>, PermittedCall), ToolError> {
        let tool = self.registry.get(&request.tool).cloned().inspect_err(|_| {
            // Nothing classifies them, so they are audited by length and hash.
            record.facts.arguments = redact(&Value::String(text.to_owned()), None);
        })?;
        record.facts.component_sha256 = Some(tool.component.sha256().to_owned());
        record.facts.policy_sha256 = Some(tool.policy.sha256.clone());
        record.facts.profile = Some(tool.policy.profile.clone());
        let arguments = tool.read(text).inspect_err(|_| {
            record.facts.arguments = redact(&Value::String(text.to_owned()), None);
        })?;
        record.facts.arguments = redact(&arguments, Some(&tool.policy));
        let (started, limits) = (record.started(), tool.policy.limits);
        let stopped = || request.stop_error(started, limits);
        let judged = tool.judge(request.id.clone(), arguments, &stopped)?;
        if matches!(judged, PermittedCall::Permit(_)) {
            record.verdict = VerdictKind::Permit;
        }
        Ok((tool, judged))
    }
}
