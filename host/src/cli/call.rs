//! `cofferdam call`: one call from the command line; the result is one line of JSON on stdout.

use super::approving::ApproveAll;
use super::{Exit, spell_path};
use crate::config::Config;
use crate::gateway::{self, Gateway, ReadScope, Role};
use anyhow::Context;
use cofferdam_agent::tools::{Approver, CallRequest, Registry};
use cofferdam_core::arguments::{BadArguments, from_pairs};
use cofferdam_core::id::{Caller, TurnId};
use cofferdam_core::limits::Limits;
use cofferdam_core::text::{about, escape_deceptive_json, one_line};
use cofferdam_core::tool::{ToolAnswer, ToolError};
use cofferdam_warden::attachments::{Attachments, DeclaredFile, Intake};
use cofferdam_warden::files::open_regular;
use serde_json::Value;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example: cofferdam call attachment_save index=0 path=/shared/photo.jpg --attach photo.jpg"
)]
pub(super) struct Arguments {
    #[command(flatten)]
    call: TypedCall,
    /// A file that comes with the call, as if a person had sent it; repeat for several
    #[arg(long, value_name = "FILE")]
    attach: Vec<PathBuf>,
    /// Approve this very call, where its policy wants a person to; without it such a call is
    /// refused
    #[arg(long)]
    approve: bool,
}

/// A call as it is typed.
#[derive(Debug, clap::Args)]
pub(super) struct TypedCall {
    /// The tool's name; `cofferdam tools` lists them
    pub(super) tool: String,
    #[command(flatten)]
    pub(super) arguments: TypedArguments,
}

/// The arguments of a call as they are typed.
#[derive(Debug, clap::Args)]
pub(super) struct TypedArguments {
    /// Arguments, typed by the tool's schema: text as it is where it takes text, else JSON
    #[arg(value_name = "KEY=VALUE")]
    pairs: Vec<String>,
    /// All arguments as one JSON object: the text itself, @FILE, or - for stdin
    #[arg(long, value_name = "JSON|@FILE|-", conflicts_with = "pairs")]
    args: Option<String>,
}

pub(super) fn run(config: &Config, arguments: Arguments) -> anyhow::Result<Exit> {
    let arguments_file = arguments.call.arguments.file();
    let files: Vec<_> = arguments.attach.iter().cloned().chain(arguments_file.map(PathBuf::from)).collect();
    gateway::confine(config, ReadScope::Listed(&files))?;
    let gateway = Gateway::open_to_call(config, Role::Beside, Some(&arguments.call.tool))?;
    let attachments = attach(&gateway, config, &arguments.attach)?;
    let text = arguments.call.arguments.text(gateway.toolbox.registry(), &arguments.call.tool)?;
    let approver = arguments.approve.then(|| Arc::new(ApproveAll) as Arc<dyn Approver>);
    let request = CallRequest { approver, ..request(arguments.call.tool, text, attachments) };
    print(run_call(&gateway, request)?)
}

/// A call by this user, of no session, which nobody approves.
pub(super) fn request(
    tool: String,
    arguments: Result<String, BadArguments>,
    attachments: Attachments,
) -> CallRequest {
    let request = CallRequest::new(one_shot_turn("cli"), this_user("cli"), tool, arguments);
    CallRequest { attachments, ..request }
}

/// What becomes of one call; SIGINT and SIGTERM cancel it.
pub(super) fn run_call(
    gateway: &Gateway,
    request: CallRequest,
) -> anyhow::Result<Result<ToolAnswer, ToolError>> {
    super::runtime()?.block_on(async {
        let cancel = super::serve::cancelled_by_signals()?;
        Ok(gateway.toolbox.call(CallRequest { cancel, ..request }).await)
    })
}

/// The one line of JSON on stdout, and the exit code; on stderr the files that would have been
/// sent.
pub(super) fn print(answer: Result<ToolAnswer, ToolError>) -> anyhow::Result<Exit> {
    for file in answer.iter().flat_map(|answer| &answer.attachments) {
        let (name, size) = (one_line(&file.name, 120), about(file.bytes));
        // A call stands alone: `chat` and the channels have replies.
        let mime_type = &file.mime_type;
        super::tell(&format!("not sent, since a single call has no reply: {name} ({mime_type}, {size})"));
    }
    match answer {
        Ok(answer) => print_line(&answer.result, Exit::Done),
        Err(error) => print_line(&error.to_json(), Exit::ToolFailed),
    }
}

/// What was done, on stdout, and the exit code. What hides or reorders text is spelled out.
pub(super) fn print_line(line: &Value, exit: Exit) -> anyhow::Result<Exit> {
    match writeln!(super::stdout(), "{}", escape_deceptive_json(&line.to_string())) {
        // The one who read our output has seen enough; what was done stays true.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(exit),
        written => {
            written?;
            Ok(exit)
        }
    }
}

impl TypedArguments {
    /// The file that holds them, if one is named.
    fn file(&self) -> Option<&str> {
        self.args.as_deref()?.strip_prefix('@')
    }

    /// The arguments as JSON text, typed by the tool's schema, or why what was typed cannot become
    /// JSON.
    pub(super) fn text(
        &self,
        registry: &Registry,
        tool: &str,
    ) -> anyhow::Result<Result<String, BadArguments>> {
        if let Some(file) = self.file() {
            let opened = std::fs::File::open(file).with_context(|| format!("cannot read {file}"))?;
            return read_bounded(opened, file).map(Ok);
        }
        match self.args.as_deref() {
            Some("-") => read_bounded(std::io::stdin(), "stdin").map(Ok),
            Some(text) => Ok(Ok(text.to_owned())),
            None => {
                let tool = registry.get(tool);
                let schema = tool.map_or(&Value::Null, |tool| &tool.description.arguments);
                Ok(from_pairs(schema, &self.pairs).map(|arguments| arguments.to_string()))
            }
        }
    }
}

/// The text of a source, read no further than any tool could take: the tool's own limit refuses,
/// and records, what is longer.
fn read_bounded(source: impl Read, what: &str) -> anyhow::Result<String> {
    let limit = Limits::CEILING.arguments.0;
    let mut bytes = Vec::new();
    source.take(limit + 1).read_to_end(&mut bytes).with_context(|| format!("cannot read {what}"))?;
    if bytes.len() as u64 > limit {
        return Ok(String::from_utf8_lossy(&bytes).into_owned());
    }
    String::from_utf8(bytes).map_err(|_| anyhow::anyhow!("cannot read {what}: it is not UTF-8 text"))
}

/// A turn that nobody will ask for again.
pub(super) fn one_shot_turn(channel: &str) -> TurnId {
    TurnId::new(format!("{channel}-{}", crate::unique()))
}

/// The person at the terminal, by numeric uid.
pub(super) fn this_user(channel: &str) -> Caller {
    Caller { channel: channel.into(), sender: rustix::process::getuid().as_raw().to_string() }
}

/// Files of this machine as a turn's attachments, under the same limits as a channel's.
pub(super) fn attach(gateway: &Gateway, config: &Config, files: &[PathBuf]) -> anyhow::Result<Attachments> {
    let mut intake = Intake::new(&gateway.blobs, &config.attachments);
    for file in files {
        take(&mut intake, file).with_context(|| format!("cannot attach {}", spell_path(file)))?;
    }
    Ok(intake.finish())
}

fn take(intake: &mut Intake, path: &Path) -> anyhow::Result<()> {
    let mut file = open_regular(path)?;
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned());
    // The name alone: where the file lies on this machine is nobody's business.
    let source = name.as_ref().map(|name| format!("file:{name}"));
    let declared = DeclaredFile { name, mime_type: None, size: Some(file.metadata()?.len()), source };
    intake.read(declared, &mut file);
    Ok(())
}
