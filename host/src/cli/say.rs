//! `cofferdam say`: sends a message of the operator's own to somebody who is served. A running
//! `serve` sends it; where none runs, this process does, and hears nothing.

use super::attach::{ask, open};
use super::serve::alone;
use super::{Exit, Output};
use crate::config::Config;
use crate::gateway::attaching::{
    self, AttachAnswer, AttachFile, AttachRequest, OperatorMessage, SAY_TEXT_BYTES_MAX, SayRequest,
};
use crate::gateway::{GatewayError, ServeLock, check_account};
use anyhow::Context as _;
use cofferdam_core::limits::TimeSpan;
use cofferdam_core::message::SentMessage;
use cofferdam_core::text::escape_deceptive_json;
use cofferdam_core::tool::{ErrorCode, ToolError};
use std::io::{Read, Write};
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE)]
pub(super) struct Arguments {
    /// Who gets it: `telegram:ID` or `discord:ID`, somebody whom the gateway serves
    #[arg(value_name = "CHANNEL:USER")]
    to: String,
    /// What it says, as plain text; - reads it from stdin
    text: String,
    /// A file that goes with it; repeat for several, which go in this order
    #[arg(long, value_name = "FILE")]
    file: Vec<PathBuf>,
    /// Names the message: sent again under the same key to the same person it is the same message,
    /// and there once
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// How long it may take until it is out, at most 1h
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = TimeSpan::parse)]
    timeout: TimeSpan,
    #[command(flatten)]
    output: Output,
}

const EXAMPLE: &str = "The running gateway sends it, after what it is sending in that chat; where none runs, this command \
does. The audit has it before anybody sees it. With --json one line: {\"channel\",\"channelId\",\"messageId\"}, or \
{\"error\":{\"code\",\"message\"}}. Exit codes: 0 it is out; 1 it is not, with the code: recipient_denied (nobody whom the \
gateway serves), too_large, send_failed, timed_out (it is kept, and goes out later: repeat it under the same --key alone); 2 \
usage or configuration.\nExample: cofferdam say telegram:123456789 \"The backup is done.\" --file backup.log --key \
\"backup-$(date +%F)\"";

/// What a command waits for the gateway's answer, on top of the message's own time.
const ANSWER_MAX: Duration = Duration::from_secs(60);

pub(super) fn run(config: &Config, arguments: &Arguments) -> anyhow::Result<Exit> {
    let mut files = arguments.file.iter().map(|file| open(file)).collect::<anyhow::Result<Vec<_>>>()?;
    let text = if arguments.text == "-" { read_words()? } else { arguments.text.clone() };
    let say = SayRequest {
        to: arguments.to.clone(),
        text_bytes: text.len() as u64,
        key: arguments.key.clone(),
        patience_ms: u64::try_from(arguments.timeout.0.as_millis()).unwrap_or(u64::MAX),
    };
    let answer = match say.check(files.len()) {
        Err(error) if error.code == ErrorCode::InvalidArguments => anyhow::bail!("{}", error.message),
        Err(error) => AttachAnswer::Refused { error },
        Ok(()) => match attaching::connect(config) {
            Ok(stream) => {
                stream.set_read_timeout(Some(arguments.timeout.0 + ANSWER_MAX))?;
                let heads = files.iter().map(|(file, _)| file.clone()).collect();
                let asked = AttachRequest { say: Some(say), files: heads, ..AttachRequest::default() };
                ask(stream, &asked, text.as_bytes(), &mut files)?
            }
            Err(_) => send_here(config, (say, text), files)?,
        },
    };
    print(answer, arguments.output.json)
}

/// Sends it here, with the state to itself meanwhile.
fn send_here(
    config: &Config,
    (say, text): (SayRequest, String),
    files: Vec<(AttachFile, std::fs::File)>,
) -> anyhow::Result<AttachAnswer> {
    check_account(config)?;
    let lock = match ServeLock::take(config) {
        Ok(lock) => lock,
        Err(GatewayError::Locked(_)) => {
            let said = "a gateway runs with this state and takes no messages at the moment; send it again";
            return Ok(AttachAnswer::Refused { error: ToolError::new(ErrorCode::ToolUnavailable, said) });
        }
        Err(error) => return Err(error.into()),
    };
    let files = files.into_iter().map(|(said, file)| said.with_contents(file)).collect();
    let by = super::call::this_user("cli");
    alone::say(config, lock, OperatorMessage { say, text, files, by })
}

fn read_words() -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    std::io::stdin().take(SAY_TEXT_BYTES_MAX + 1).read_to_end(&mut bytes).context("cannot read stdin")?;
    let text = String::from_utf8(bytes).map_err(|_| anyhow::anyhow!("stdin is not UTF-8 text"))?;
    // What a shell ends a line with is not meant.
    Ok(text.strip_suffix('\n').map(str::to_owned).unwrap_or(text))
}

fn print(answer: AttachAnswer, as_json: bool) -> anyhow::Result<Exit> {
    let (line, exit) = match answer {
        AttachAnswer::Said(said) if as_json => (serde_json::to_string(&said)?, Exit::Done),
        AttachAnswer::Said(SentMessage { channel, channel_id, message_id }) => {
            (format!("sent as message {message_id} of {channel} chat {channel_id}"), Exit::Done)
        }
        AttachAnswer::Refused { error } if as_json => (error.to_json().to_string(), Exit::ToolFailed),
        AttachAnswer::Refused { error } => {
            super::tell(&error.to_string());
            return Ok(Exit::ToolFailed);
        }
        AttachAnswer::Added { .. } => anyhow::bail!("the gateway answered something else; look into its log"),
    };
    let line = if as_json { escape_deceptive_json(&line) } else { line.into() };
    writeln!(super::stdout(), "{line}")?;
    Ok(exit)
}
