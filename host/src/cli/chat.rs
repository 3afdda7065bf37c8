//! `cofferdam chat`: turns from this terminal's lines, through the same machinery as a channel.

use super::Exit;
use super::approving::Questions;
use super::call::{attach, one_shot_turn, this_user};
use super::progress::Shown;
use crate::attachments::{Attachments, RecentAttachments};
use crate::config::Config;
use crate::gateway::{self, Gateway, Readable, Role};
use crate::turn::Turn;
use async_trait::async_trait;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::sync::Arc;
use tokio::io::{AsyncBufReadExt, BufReader};

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Lines are messages: /help lists the tools, /attach FILE adds a file to the next message, /quit or \
                  Ctrl-D ends. Where a policy wants an approval, the call is shown, and the next line decides: y or \
                  yes, anything else is no.\nExample: cofferdam chat --attach photo.jpg"
)]
pub(super) struct Arguments {
    /// A file that comes with the first message; repeat for several
    #[arg(long, value_name = "FILE")]
    attach: Vec<PathBuf>,
}

pub(super) fn run(config: &Config, arguments: Arguments) -> anyhow::Result<Exit> {
    gateway::confine(config, Readable::Anything)?;
    let gateway = Gateway::open(config, Role::Beside)?;
    let runtime = super::runtime()?;
    let exit = runtime.block_on(talk(config, &gateway, arguments.attach));
    // Not waited for: a thread of it may be reading a line that never comes.
    runtime.shutdown_background();
    exit
}

/// The files of the last message that had any, for as long as the chat lasts.
struct Earlier(Attachments);

#[async_trait]
impl RecentAttachments for Earlier {
    async fn recent(&self) -> Attachments {
        self.0.clone()
    }
}

async fn talk(config: &Config, gateway: &Gateway, mut files: Vec<PathBuf>) -> anyhow::Result<Exit> {
    let runner = gateway.runner(config, None);
    let stop = super::serve::cancelled_by_signals()?;
    // Fails now rather than at the first message.
    attach(gateway, config, &files)?;
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    let interactive = std::io::stdin().is_terminal();
    let mut out = std::io::stdout();
    let mut earlier = Attachments::default();
    let mut questions = Questions::new(config.approvals.expires);
    loop {
        if interactive {
            write!(out, "> ")?;
            out.flush()?;
        }
        let line = tokio::select! {
            line = lines.next_line() => line?,
            () = stop.cancelled() => None,
        };
        let Some(line) = line.filter(|line| line.trim() != "/quit") else { return Ok(Exit::Done) };
        if let Some(file) = line.strip_prefix("/attach ") {
            let file = PathBuf::from(file.trim());
            match attach(gateway, config, std::slice::from_ref(&file)) {
                Ok(_) => files.push(file),
                Err(error) => writeln!(out, "{error:#}")?,
            }
            continue;
        }
        if line.trim().is_empty() && files.is_empty() {
            continue;
        }
        let attachments = attach(gateway, config, &std::mem::take(&mut files))?;
        let turn = Turn {
            id: one_shot_turn("terminal"),
            session: None,
            caller: this_user("terminal"),
            text: line,
            attachments: attachments.clone(),
            recent: Some(Arc::new(Earlier(earlier.clone()))),
            approver: Some(questions.approver()),
            notices: Vec::new(),
        };
        if !attachments.is_empty() {
            earlier = attachments;
        }
        let shown = Shown::start();
        let running = runner.run(turn, shown.progress(), &stop);
        let response = questions.during(running, &mut out, &mut lines).await?;
        shown.end().await;
        writeln!(out, "{}", response.text.unwrap_or_default())?;
    }
}
