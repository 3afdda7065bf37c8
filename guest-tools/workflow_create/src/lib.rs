//! `workflow_create`: begins a workflow of the request, which is gone on with when somebody replies
//! to a message of it. It sends nothing and waits for nobody by itself.

use cofferdam_sdk::{Tool, ToolError, export_tool, messaging};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// What is wanted, for whom, and what is to be done with the reply: you are told it again when
    /// the reply comes, which may be days later.
    #[serde(default)]
    summary: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct Output {
    /// The workflow's id, for workflow_task_create and workflow_wait_for_reply.
    workflow: String,
}

impl Tool for Arguments {
    const NAME: &str = "workflow_create";
    const SUMMARY: &str = "Begins a workflow: to ask somebody else something and go on with this request when they have \
        replied. Then call workflow_task_create, and workflow_wait_for_reply.";
    type Arguments = Self;
    type Output = Output;

    fn call(arguments: Arguments) -> Result<Output, ToolError> {
        Ok(Output { workflow: messaging::begin_workflow(arguments.summary.as_deref())? })
    }
}

export_tool!(Arguments);
