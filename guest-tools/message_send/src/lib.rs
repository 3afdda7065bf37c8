//! `message_send`: writes to somebody in private. To whom, and with which files, the host has
//! judged before; this component sees no file and no channel.

use cofferdam_sdk::messaging::{self, Message};
use cofferdam_sdk::{Tool, ToolError, export_tool, progress};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Who gets it: the channel and the person's id there, for example "telegram:1002".
    to: String,
    /// What it says, in plain text. Write it so that somebody understands it who has not seen this
    /// conversation, and say for whom you write.
    text: String,
    /// Files to send with it, each a full path under /shared or /tmp.
    #[serde(default)]
    paths: Option<Paths>,
}

/// A list, or the one thing in it.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum Paths {
    One(String),
    Many(Vec<String>),
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Output {
    /// The channel that it went out on.
    channel: String,
    /// The chat's id there.
    channel_id: String,
    /// The message's id there.
    message_id: String,
}

impl Tool for Arguments {
    const NAME: &str = "message_send";
    const SUMMARY: &str = "Writes a message to somebody in private, with files of /shared or /tmp if wanted. No reply to \
        it comes back here: use workflow_create, workflow_task_create and workflow_wait_for_reply for that.";
    type Arguments = Self;
    type Output = Output;

    fn call(arguments: Arguments) -> Result<Output, ToolError> {
        let files = match arguments.paths {
            None => Vec::new(),
            Some(Paths::One(path)) => vec![path],
            Some(Paths::Many(paths)) => paths,
        };
        progress::report("sending the message");
        let message = Message { to: arguments.to, text: arguments.text, files };
        let sent = messaging::send(&message, None)?;
        Ok(Output { channel: sent.channel, channel_id: sent.channel_id, message_id: sent.message_id })
    }
}

export_tool!(Arguments);
