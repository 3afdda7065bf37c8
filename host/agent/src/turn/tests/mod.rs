//! Turns with a provider that follows a script and tools that do as their names say.

mod commands;
mod compaction;
mod failures;
mod limits;
mod order;
mod resume;
mod secrets;
mod steering;
mod stopping;
mod tasks;
mod whose;
mod words;

pub(in crate::turn) use resume::CrashPoint;

use super::*;
use crate::tools::{CallRequest, OutputKeeper};
use async_trait::async_trait;
use cofferdam_core::id::{Caller, SessionId, TurnId};
use cofferdam_core::message::OutgoingAttachment;
use cofferdam_core::tool::{ErrorCode, ToolAnswer, ToolError};
use cofferdam_store::Store;
use cofferdam_warden::attachments::Attachments;
use serde_json::{Value, json};
use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};
use tokio::sync::{Barrier, Notify};
use tokio_util::sync::CancellationToken;

/// What the provider does when it is asked.
enum Act {
    Say(&'static str),
    /// Calls of tools with arguments.
    Call(Vec<(&'static str, String)>),
    /// Anything else.
    Reply(StepReply),
    Fail(ProviderError),
    /// It never answers.
    Hang,
    /// It begins with this, and never ends.
    Begin(Delta),
}

/// Follows a script, and notes what it was asked.
#[derive(Default)]
struct Script {
    acts: Mutex<VecDeque<Act>>,
    /// The conversation of each request, a line each.
    asked: Mutex<Vec<String>>,
    /// What it was shown of results in each request.
    shown: Mutex<Vec<Vec<String>>>,
    hangs: Notify,
    /// Futures that were dropped before they answered.
    dropped: Arc<Mutex<usize>>,
}

impl Script {
    fn of(acts: impl IntoIterator<Item = Act>) -> Arc<Self> {
        Arc::new(Self { acts: Mutex::new(acts.into_iter().collect()), ..Self::default() })
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("asked").clone()
    }

    /// For each request, which of its results were shortened: `-` whole, `s` shortened.
    fn shortened(&self) -> Vec<String> {
        let of = |shown: &String| if shown.contains("\"shortened\":true") { 's' } else { '-' };
        self.shown.lock().expect("shown").iter().map(|results| results.iter().map(of).collect()).collect()
    }
}

/// Counts itself when it is dropped before its time.
struct Guard(Arc<Mutex<usize>>);

impl Drop for Guard {
    fn drop(&mut self) {
        *self.0.lock().expect("a count") += 1;
    }
}

fn calls(of: &[(&'static str, String)]) -> Vec<ToolCall> {
    let call = |(n, (tool, arguments)): (usize, &(&str, String))| ToolCall {
        id: n.to_string(),
        tool: (*tool).into(),
        arguments: Ok(arguments.clone()),
    };
    of.iter().enumerate().map(call).collect()
}

/// A clock that always shows the same.
fn stopped_clock() -> WallClock {
    WallClock::fixed(jiff::tz::TimeZone::UTC, || jiff::Timestamp::UNIX_EPOCH)
}

/// What stands before the words of a request by that clock.
const FRAME: &str = "{\"about\":\"this message\",\"time\":\"Thursday 1970-01-01 00:00 +00:00 (UTC)\"}\n";

/// One entry as a test writes it.
fn shown(entry: &HistoryEntry) -> String {
    match entry {
        HistoryEntry::User { text, addendum, attachments } => {
            let text = text.strip_prefix(FRAME).unwrap_or(text);
            let told = if addendum.is_some() { "!" } else { "" };
            let files =
                if attachments.is_empty() { String::new() } else { format!("[{}]", attachments.len()) };
            format!("u:{text}{files}{told}")
        }
        HistoryEntry::Task { prompt, attachments, .. } => format!("t:{prompt}[{}]", attachments.len()),
        HistoryEntry::Steer { text, addendum, attachments } => {
            let told = if addendum.is_some() { "!" } else { "" };
            format!("+:{text}[{}]{told}", attachments.len())
        }
        HistoryEntry::Assistant { text, tool_calls } => {
            let tools: Vec<_> = tool_calls.iter().map(|call| call.tool.as_str()).collect();
            format!("a:{}{}", text.as_deref().unwrap_or(""), tools.join("+"))
        }
        HistoryEntry::ToolResult { result: Ok(_), .. } => "r".into(),
        HistoryEntry::ToolResult { result: Err(error), .. } => format!("x:{}", error.code),
        HistoryEntry::Summary { text } => format!("s:{text}"),
    }
}

fn all_shown(entries: &[HistoryEntry]) -> String {
    entries.iter().map(shown).collect::<Vec<_>>().join(" ")
}

#[async_trait]
impl Provider for Script {
    async fn respond(
        &self,
        request: StepRequest<'_>,
        deltas: &mut Deltas<'_>,
    ) -> Result<StepReply, ProviderError> {
        let entries = request.conversation;
        self.asked.lock().expect("asked").push(all_shown(entries));
        let of = |entry: &HistoryEntry| match entry {
            HistoryEntry::ToolResult { shown, .. } => Some(shown.clone()),
            _ => None,
        };
        self.shown.lock().expect("shown").push(entries.iter().filter_map(of).collect());
        let act = self.acts.lock().expect("acts").pop_front().expect("the script goes on");
        match act {
            Act::Say(text) => Ok(StepReply { text: Some(text.into()), usage: TEN, ..StepReply::default() }),
            Act::Call(of) => Ok(StepReply { tool_calls: calls(&of), usage: TEN, ..StepReply::default() }),
            Act::Reply(reply) => Ok(reply),
            Act::Fail(error) => Err(error),
            Act::Hang | Act::Begin(_) => {
                if let Act::Begin(delta) = act {
                    deltas(delta);
                }
                let _guard = Guard(self.dropped.clone());
                self.hangs.notify_one();
                std::future::pending().await
            }
        }
    }

    fn has_memory(&self) -> bool {
        true
    }
}

const TEN: TokenUsage = TokenUsage { input_tokens: 7, output_tokens: 3 };

/// Tools that do as their names say; upper-case ones change something.
struct Doing {
    /// What ran, in the order of its end: the call's id and its tool.
    done: Mutex<Vec<String>>,
    refused: Mutex<Vec<ErrorCode>>,
    /// Outputs that were kept.
    kept: Mutex<Vec<String>>,
    /// Calls of `meet` wait here for each other.
    meeting: Barrier,
    /// A call of `wait` has begun.
    waits: Notify,
}

impl Doing {
    fn meeting(of: usize) -> Arc<Self> {
        Arc::new(Self {
            done: Mutex::default(),
            refused: Mutex::default(),
            kept: Mutex::default(),
            meeting: Barrier::new(of),
            waits: Notify::new(),
        })
    }

    fn done(&self) -> Vec<String> {
        self.done.lock().expect("done").clone()
    }
}

#[async_trait]
impl Tools for Doing {
    fn specs(&self) -> Vec<ToolSpec> {
        Vec::new()
    }

    fn requests(&self) -> Arc<crate::open_requests::Requests> {
        Arc::default()
    }

    fn is_read_only(&self, tool: &str) -> bool {
        tool.chars().all(char::is_lowercase)
    }

    fn is_among(&self, tool: &str, profiles: &BTreeSet<String>) -> bool {
        // Each tool has a profile of its own.
        profiles.contains(tool)
    }

    async fn call(&self, request: CallRequest) -> Result<ToolAnswer, ToolError> {
        let result = match request.tool.as_str() {
            "fail" => Err(ToolError::new(ErrorCode::NotFound, "nothing is there")),
            "meet" => {
                self.meeting.wait().await;
                Ok(json!({ "met": true }))
            }
            "wait" | "WAIT" => {
                self.waits.notify_one();
                request.cancel.cancelled().await;
                Err(ToolError::new(ErrorCode::Cancelled, "the call was cancelled"))
            }
            "long" => Ok(json!({ "content": "x".repeat(100_000) })),
            "SEND" => Ok(json!({ "ok": true })),
            "read" | "WRITE" => match &request.arguments {
                Ok(arguments) => Ok(json!({ "of": arguments })),
                Err(error) => Err(ToolError::new(ErrorCode::InvalidArguments, error.to_string())),
            },
            other => Err(ToolError::new(ErrorCode::UnknownTool, format!("no tool {other:?}"))),
        };
        self.done.lock().expect("done").push(format!("{} {}", request.id, request.tool));
        let file = || OutgoingAttachment {
            sha256: "ab".into(),
            name: "a".into(),
            mime_type: "b/c".into(),
            bytes: 1,
        };
        let files = if request.tool == "SEND" { vec![file()] } else { Vec::new() };
        result.map(|result| ToolAnswer { result, attachments: files, delivery: None })
    }

    async fn refuse(&self, _: CallRequest, why: ToolError) -> ToolError {
        self.refused.lock().expect("refused").push(why.code);
        why
    }

    async fn keep(&self, output: OutputKeeper) -> Result<String, ToolError> {
        let mut kept = self.kept.lock().expect("kept");
        if kept.len() == 1 {
            return Err(ToolError::new(ErrorCode::QuotaExceeded, "the workspace is full"));
        }
        kept.push(output.text);
        Ok("/tmp/outputs/1.json".into())
    }
}

/// A runner with all that it is made of.
struct World {
    script: Arc<Script>,
    tools: Arc<Doing>,
    history: History,
    limits: Config,
}

impl World {
    fn new(acts: impl IntoIterator<Item = Act>) -> Self {
        Self {
            script: Script::of(acts),
            tools: Doing::meeting(2),
            history: History::transient(Store::in_memory().expect("a store")),
            limits: Config::default(),
        }
    }

    fn limited(mut self, limit: impl FnOnce(&mut Config)) -> Self {
        limit(&mut self.limits);
        self
    }

    /// Adds to the script.
    fn then(&self, acts: impl IntoIterator<Item = Act>) {
        self.script.acts.lock().expect("acts").extend(acts);
    }

    fn runner(&self) -> Runner {
        let (provider, tools) = (self.script.clone(), self.tools.clone());
        Runner::new(provider, tools, self.history.clone(), self.limits, String::new()).by(stopped_clock())
    }

    /// The answer to a message, in a turn of this id.
    async fn ask(&self, id: &str, text: &str) -> String {
        self.run(turn(id, text), &CancellationToken::new()).await
    }

    async fn run(&self, turn: TurnInput, cancel: &CancellationToken) -> String {
        self.runner().run(turn, Arc::new(()), cancel).await.text.expect("text")
    }

    /// What is kept of the conversation.
    async fn kept(&self) -> String {
        let kept = self.history.load(&session(), &TurnId::new("")).await.expect("kept");
        kept.iter().map(|kept| shown(&kept.entry)).collect::<Vec<_>>().join(" ")
    }
}

fn session() -> SessionId {
    SessionId::new("s")
}

fn ann() -> Caller {
    Caller { channel: "test".into(), sender: "1".into() }
}

fn turn(id: &str, text: &str) -> TurnInput {
    TurnInput {
        id: TurnId::new(id),
        session: Some(session()),
        caller: ann(),
        text: text.into(),
        about: None,
        profiles: None,
        attachments: Attachments::default(),
        recent: None,
        messaging: None,
        approver: None,
        steering: None,
        notices: Vec::new(),
    }
}

fn call(tool: &'static str) -> (&'static str, String) {
    (tool, "{}".into())
}

/// A database that lives as long as the folder.
fn store() -> (tempfile::TempDir, Store) {
    let dir = tempfile::tempdir().expect("a folder");
    let store = Store::open(dir.path()).expect("a store");
    (dir, store)
}
