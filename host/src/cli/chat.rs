//! `cofferdam chat`: turns from this terminal's lines, through the same machinery as a channel.

use super::Exit;
use super::approving::{KEPT_LINES_MAX, TerminalQuestions};
use super::call::{attach, one_shot_turn, this_user};
use super::progress::ProgressLine;
use super::serve::{cancel_on_signal, cancelled_by_signals};
use super::streaming::StreamedAnswer;
use super::typed::TypedLines;
use crate::config::Config;
use crate::gateway::{self, Gateway, ReadScope, Role};
use anyhow::Context;
use async_trait::async_trait;
use cofferdam_agent::llm::{self, Answering};
use cofferdam_agent::turn::{History, Runner, StepListener, TurnInput};
use cofferdam_core::attachment::AttachmentInfo;
use cofferdam_core::id::SessionId;
use cofferdam_core::message::OutgoingResponse;
use cofferdam_core::text::{about, one_line};
use cofferdam_store::{Store, now};
use cofferdam_warden::attachments::{Attachments, RecentAttachments};
use std::collections::BTreeSet;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::sync::Arc;
use tokio::io::{BufReader, Stdin};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

pub(super) const EXAMPLE: &str = "Lines are messages: /help lists the tools, /attach FILE adds a file to the next message, /new \
starts the conversation anew, /retry runs a failed message again, Ctrl-C stops what is running, /quit or Ctrl-D ends. Where a \
policy wants an approval, the call is shown with a code: yes and the code approve it, no refuses it, and any other line is kept \
as a message for later.\nExample: cofferdam chat --attach photo.jpg";

/// Talks until the end; these files come with the first message.
pub(super) fn run(config: &Config, files: Vec<PathBuf>) -> anyhow::Result<Exit> {
    let answering = llm::open(&config.provider).context("[provider]")?;
    gateway::confine(config, ReadScope::Anything)?;
    let gateway = Gateway::open(config, Role::Beside)?;
    super::block_on(run_chat(config, &gateway, answering, files))
}

/// The files of the last message that had any, for as long as the chat lasts.
struct ChatFiles(Attachments);

#[async_trait]
impl RecentAttachments for ChatFiles {
    async fn recent(&self) -> Attachments {
        self.0.clone()
    }

    async fn refetch(&self, _: &[AttachmentInfo]) -> Attachments {
        self.0.clone()
    }
}

/// A chat from this terminal's lines.
struct TerminalChat<'a> {
    config: &'a Config,
    gateway: &'a Gateway,
    runner: Runner,
    signals: Signals,
    lines: TypedLines<BufReader<Stdin>>,
    out: super::NamedStdout,
    questions: TerminalQuestions,
    /// Those that come with the next message.
    files: Vec<PathBuf>,
    /// Those of the last message that had any.
    earlier: Attachments,
}

async fn run_chat(
    config: &Config,
    gateway: &Gateway,
    answering: Answering,
    files: Vec<PathBuf>,
) -> anyhow::Result<Exit> {
    let store = Store::in_memory()?;
    let mut chat = TerminalChat {
        config,
        gateway,
        runner: gateway.runner(config, answering, History::transient(store.clone())),
        signals: Signals::new(std::io::stdin().is_terminal())?,
        lines: TypedLines::into(BufReader::new(tokio::io::stdin())),
        out: super::stdout(),
        questions: TerminalQuestions::new(store, config.approvals.expires, KEPT_LINES_MAX),
        files,
        earlier: Attachments::default(),
    };
    // Fails now rather than at the first message.
    attach(gateway, config, &chat.files)?;
    while let Some(line) = chat.next_line().await? {
        match line.strip_prefix("/attach ") {
            _ if line.trim() == "/attach" => writeln!(chat.out, "name a file: /attach FILE")?,
            Some(file) => chat.add(PathBuf::from(file.trim()))?,
            None if line.trim().is_empty() && chat.files.is_empty() => {}
            None => chat.answer(line).await?,
        }
    }
    Ok(Exit::Done)
}

impl TerminalChat<'_> {
    /// The next message; none once the chat ends.
    async fn next_line(&mut self) -> anyhow::Result<Option<String>> {
        let kept = self.questions.take_kept_line();
        if std::io::stdin().is_terminal() {
            // What was typed while a question waited is seen again where it is a message.
            let typed = kept.as_deref().map(|line| one_line(line, 400) + "\n").unwrap_or_default();
            write!(self.out, "> {typed}")?;
            self.out.flush()?;
        }
        let line = match kept {
            Some(line) => Some(line),
            None => tokio::select! {
                line = self.lines.next() => line?,
                () = self.signals.end() => None,
            },
        };
        Ok(line)
    }

    /// Adds a file to the next message, if it can be read.
    fn add(&mut self, file: PathBuf) -> anyhow::Result<()> {
        match attach(self.gateway, self.config, std::slice::from_ref(&file)) {
            Ok(_) => self.files.push(file),
            Err(error) => writeln!(self.out, "{}", super::errors::describe_error(&error))?,
        }
        Ok(())
    }

    /// Runs the turn of a message and shows what comes of it.
    async fn answer(&mut self, text: String) -> anyhow::Result<()> {
        let turn = self.turn(text)?;
        let id = turn.id.clone();
        let shown = ProgressLine::start();
        let (mut spoken, progress) = StreamedAnswer::new(shown.progress());
        let running = answer_turn(&self.runner, turn, progress, &mut self.signals);
        let response =
            self.questions.run_while_asking(running, &mut spoken, &mut self.out, &mut self.lines).await?;
        let rest = spoken.rest(response.text.unwrap_or_default(), &mut self.out)?;
        if let Some(line) = shown.end().await {
            line.clear().await;
        }
        self.gateway.warden.outgoing().release(&id);
        if let Some(rest) = rest {
            writeln!(self.out, "{rest}")?;
        }
        for file in &response.attachments {
            let (name, mime, sha256) = (one_line(&file.name, 120), &file.mime_type, &file.sha256);
            let size = about(file.bytes);
            writeln!(self.out, "[attachment] {name} ({mime}, {size}) sha256 {}", &sha256[..12])?;
        }
        // Shown, and nothing else becomes of them here.
        Ok(self.gateway.warden.outgoing().sweep(now(), || Ok::<_, std::io::Error>(BTreeSet::new()))?)
    }

    /// The turn of a message, with the files that come with it.
    fn turn(&mut self, text: String) -> anyhow::Result<TurnInput> {
        let attachments = attach(self.gateway, self.config, &std::mem::take(&mut self.files))?;
        let recent = ChatFiles(self.earlier.clone());
        if !attachments.is_empty() {
            self.earlier = attachments.clone();
        }
        Ok(TurnInput {
            id: one_shot_turn("terminal"),
            session: session(&self.runner),
            caller: this_user("terminal"),
            text,
            about: None,
            profiles: None,
            attachments,
            recent: Some(Arc::new(recent)),
            messaging: None,
            approver: Some(self.questions.approver()),
            steering: None,
            notices: Vec::new(),
        })
    }
}

/// The one conversation of this process, where a provider remembers one.
fn session(runner: &Runner) -> Option<SessionId> {
    let id = || SessionId::new(format!("terminal:{}", std::process::id()));
    runner.has_memory().then(id)
}

/// The answer to a turn. On a terminal Ctrl-C stops the turn; a second one ends the chat as well.
async fn answer_turn(
    runner: &Runner,
    turn: TurnInput,
    progress: Arc<dyn StepListener>,
    signals: &mut Signals,
) -> OutgoingResponse {
    let cancel = signals.ended.child_token();
    let answer = runner.run(turn, progress, &cancel);
    tokio::pin!(answer);
    loop {
        tokio::select! {
            answer = &mut answer => return answer,
            () = signals.await_interrupt() => match cancel.is_cancelled() {
                false => cancel.cancel(),
                true => signals.ended.cancel(),
            },
        }
    }
}

/// What a person at a terminal, or another program, sends besides lines.
struct Signals {
    /// The chat is to end.
    ended: CancellationToken,
    /// On a terminal: Ctrl-C.
    interrupts: Option<Signal>,
}

impl Signals {
    fn new(interactive: bool) -> anyhow::Result<Self> {
        if !interactive {
            return Ok(Self { ended: cancelled_by_signals()?, interrupts: None });
        }
        let ended = CancellationToken::new();
        cancel_on_signal(SignalKind::terminate(), &ended)?;
        Ok(Self { ended, interrupts: Some(signal(SignalKind::interrupt())?) })
    }

    /// The next Ctrl-C; never where it ends the chat.
    async fn await_interrupt(&mut self) {
        match &mut self.interrupts {
            Some(interrupts) => {
                interrupts.recv().await;
            }
            None => std::future::pending().await,
        }
    }

    /// The end of a chat that waits for a line.
    async fn end(&mut self) {
        let ended = self.ended.clone();
        tokio::select! {
            () = ended.cancelled() => {}
            () = self.await_interrupt() => {}
        }
    }
}
