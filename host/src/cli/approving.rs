//! Approvals on the command line: the person there is the operator. `call --approve` approves its one call;
//! `chat` shows a call and takes the next line for the answer.

use super::call::this_user;
use super::streaming::Spoken;
use crate::tools::{Approval, Approver, Decision};
use async_trait::async_trait;
use cofferdam_core::limits::Span;
use cofferdam_core::policy::GuestPath;
use std::collections::BTreeSet;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::io::{AsyncBufRead, Lines};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// Approves at once, and says on standard error what.
pub(super) struct AtOnce;

#[async_trait]
impl Approver for AtOnce {
    fn approved_before(&self, _: &str, _: &[GuestPath]) -> Vec<GuestPath> {
        Vec::new()
    }

    async fn decide(&self, approval: &Approval, _: &CancellationToken) -> Decision {
        super::tell(&format!("approved: {}", approval.text.replace('\n', "\n  ")));
        Decision::Approved(this_user("cli"))
    }
}

/// Calls of a chat that wait for an answer.
pub(super) struct Questions {
    ask: mpsc::Sender<Question>,
    asked: mpsc::Receiver<Question>,
    approved: Arc<Mutex<BTreeSet<(String, GuestPath)>>>,
    expires: Span,
}

/// One of them.
struct Question {
    text: String,
    answer: oneshot::Sender<Answer>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Yes,
    No,
}

impl Questions {
    /// None yet; each waits so long for its answer.
    pub(super) fn new(expires: Span) -> Self {
        // One turn runs at a time; further questions wait where they come from.
        let (ask, asked) = mpsc::channel(1);
        Self { ask, asked, approved: Arc::default(), expires }
    }

    /// Asks here.
    pub(super) fn approver(&self) -> Arc<dyn Approver> {
        Arc::new(Terminal { ask: self.ask.clone(), approved: self.approved.clone(), expires: self.expires })
    }

    /// What `running` comes to; meanwhile what is said is shown, and each question, and the next line is its answer. The end of
    /// all lines is a no.
    pub(super) async fn during<T, R: AsyncBufRead + Unpin>(
        &mut self,
        running: impl Future<Output = T>,
        spoken: &mut Spoken,
        out: &mut impl Write,
        lines: &mut Lines<R>,
    ) -> std::io::Result<T> {
        let mut running = std::pin::pin!(running);
        let mut open: Option<Question> = None;
        loop {
            tokio::select! {
                // What was said comes before what followed from it.
                biased;
                piece = spoken.next() => spoken.write(piece, out)?,
                done = &mut running => return Ok(done),
                Some(question) = self.asked.recv(), if open.is_none() => {
                    write!(out, "{}\nApprove? [y/N] ", question.text)?;
                    out.flush()?;
                    open = Some(question);
                }
                line = lines.next_line(), if open.is_some() => {
                    let line = line?.unwrap_or_default();
                    let yes = ["y", "yes"].contains(&line.trim().to_ascii_lowercase().as_str());
                    if let Some(question) = open.take() {
                        let _ = question.answer.send(if yes { Answer::Yes } else { Answer::No });
                    }
                }
                () = over(&mut open), if open.is_some() => open = None,
            }
        }
    }
}

/// Returns when it is too late to answer.
async fn over(open: &mut Option<Question>) {
    if let Some(question) = open {
        question.answer.closed().await;
    }
}

struct Terminal {
    ask: mpsc::Sender<Question>,
    /// As long as the chat lasts.
    approved: Arc<Mutex<BTreeSet<(String, GuestPath)>>>,
    expires: Span,
}

#[async_trait]
impl Approver for Terminal {
    fn approved_before(&self, tool: &str, paths: &[GuestPath]) -> Vec<GuestPath> {
        let approved = self.approved.lock().unwrap_or_else(PoisonError::into_inner);
        paths.iter().filter(|path| approved.contains(&(tool.to_owned(), (*path).clone()))).cloned().collect()
    }

    async fn decide(&self, approval: &Approval, cancel: &CancellationToken) -> Decision {
        let (answer, answered) = oneshot::channel();
        let asking = async {
            self.ask.send(Question { text: approval.text.clone(), answer }).await.ok()?;
            answered.await.ok()
        };
        let answer = tokio::select! {
            answer = asking => answer,
            () = tokio::time::sleep(self.expires.0) => return Decision::Expired,
            () = cancel.cancelled() => return Decision::Withdrawn,
        };
        let person = this_user("terminal");
        match answer {
            Some(Answer::Yes) => {
                let mut approved = self.approved.lock().unwrap_or_else(PoisonError::into_inner);
                approved.extend(approval.remember.iter().map(|path| (approval.tool.clone(), path.clone())));
                Decision::Approved(person)
            }
            Some(Answer::No) => Decision::Denied(person),
            None => Decision::Unasked("the chat has ended".to_owned()),
        }
    }
}
