//! `workflow_task_create`: writes to somebody as a task of a workflow, so that the reply can be
//! waited for. To whom, and with which files, the host has judged before.

use cofferdam_sdk::messaging::{self, Message};
use cofferdam_sdk::{Tool, ToolError, export_tool, progress};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The id that workflow_create returned.
    workflow: String,
    /// The message.
    send: Send,
}

/// A message to somebody.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Send {
    /// Who gets it: the channel and the person's id there, for example "telegram:1002".
    to: String,
    /// What it says, in plain text. Write it so that somebody understands it who has not seen this
    /// conversation, say for whom you ask, and ask for a reply to this very message.
    text: String,
    /// Files to send with it, each a full path under /shared or /tmp.
    #[serde(default)]
    files: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Output {
    /// The channel that it went out on.
    channel: String,
    /// The chat's id there.
    channel_id: String,
    /// The message's id there, for workflow_wait_for_reply.
    message_id: String,
}

impl Tool for Arguments {
    const NAME: &str = "workflow_task_create";
    const SUMMARY: &str = "Writes a message to somebody as a task of a workflow, so that workflow_wait_for_reply can \
        wait for what they reply.";
    type Arguments = Self;
    type Output = Output;

    fn call(arguments: Arguments) -> Result<Output, ToolError> {
        let Arguments { workflow, send: Send { to, text, files } } = arguments;
        progress::report("sending the message");
        let sent = messaging::send(&Message { to, text, files }, Some(&workflow))?;
        Ok(Output { channel: sent.channel, channel_id: sent.channel_id, message_id: sent.message_id })
    }
}

export_tool!(Arguments);
