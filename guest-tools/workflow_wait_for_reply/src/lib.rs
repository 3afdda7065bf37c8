//! `workflow_wait_for_reply`: has the reply to a message of a workflow go on with the request. It
//! returns at once and waits for nothing itself.

mod timeout;

use cofferdam_sdk::{Tool, ToolError, export_tool, messaging};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Arguments {
    /// The id that workflow_create returned.
    workflow: String,
    /// The messageId that workflow_task_create returned.
    message_id: String,
    /// How long, for example "30m", "24h" or "7d"; as long as a workflow may take if left out.
    #[serde(default)]
    timeout: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct Output {
    /// Always true: tell the person that the reply is waited for, and end this turn. You are asked
    /// again when it has come, or the time is over.
    waiting: bool,
}

impl Tool for Arguments {
    const NAME: &str = "workflow_wait_for_reply";
    const SUMMARY: &str = "Waits for the reply to a message of a workflow, without holding this turn: tell the person so \
        and end your answer. The reply begins a further turn of this request.";
    type Arguments = Self;
    type Output = Output;

    fn call(arguments: Arguments) -> Result<Output, ToolError> {
        let timeout = arguments.timeout.as_deref().map(timeout::read).transpose()?;
        messaging::wait_for_reply(&arguments.workflow, &arguments.message_id, timeout)?;
        Ok(Output { waiting: true })
    }
}

export_tool!(Arguments);
