//! Approvals on the command line: the person there is the operator. `call --approve` approves its one call;
//! `chat` shows a call with a code, and only a line that repeats the code approves it: what was typed before the
//! question, or in answer to another one, approves nothing. Lines that are no answer are the next messages.

use super::call::this_user;
use super::streaming::Spoken;
use crate::tools::{Approval, Approver, Decision};
use async_trait::async_trait;
use cofferdam_core::limits::Span;
use cofferdam_core::policy::GuestPath;
use std::collections::{BTreeSet, VecDeque};
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::io::{AsyncBufRead, Lines};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// Lines that are kept while a question waits; for more there is a word.
const KEPT_LINES_MAX: usize = 16;
/// So much of a call's SHA-256 is its code.
const CODE_CHARS: usize = 4;

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
    kept: VecDeque<String>,
}

/// One of them.
struct Question {
    text: String,
    /// What an approval repeats.
    code: String,
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
        Self { ask, asked, approved: Arc::default(), expires, kept: VecDeque::new() }
    }

    /// The first line that came while a question waited and was no answer to it.
    pub(super) fn kept(&mut self) -> Option<String> {
        self.kept.pop_front()
    }

    /// Asks here.
    pub(super) fn approver(&self) -> Arc<dyn Approver> {
        Arc::new(Terminal { ask: self.ask.clone(), approved: self.approved.clone(), expires: self.expires })
    }

    /// What `running` comes to; meanwhile what is said is shown, and each question, which waits for its answer. The
    /// end of all lines is a no.
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
                    write!(out, "{}\n{}", question.text, question.prompt())?;
                    out.flush()?;
                    open = Some(question);
                }
                line = lines.next_line(), if open.is_some() => {
                    let line = line?;
                    if let Some(question) = open.take() {
                        open = self.answered(question, line, out)?;
                    }
                }
                () = over(&mut open), if open.is_some() => {
                    writeln!(out, "\nThis is not asked any more.")?;
                    open = None;
                }
            }
        }
    }

    /// Takes a line, or the end of all lines, in answer to a question; the question, if it still waits.
    fn answered(
        &mut self,
        question: Question,
        line: Option<String>,
        out: &mut impl Write,
    ) -> std::io::Result<Option<Question>> {
        let read = line.as_deref().map_or(Read::Answer(Answer::No), |line| read(line, &question.code));
        let said = match (read, line) {
            (Read::Answer(answer), _) => {
                // Nobody need be waiting any more.
                let _ = question.answer.send(answer);
                return Ok(None);
            }
            (Read::Message, Some(line)) if self.kept.len() < KEPT_LINES_MAX => {
                let ends = line.trim() == "/quit";
                self.kept.push_back(line);
                if ends {
                    let _ = question.answer.send(Answer::No);
                    return Ok(None);
                }
                "Kept as a message for later; the call still waits."
            }
            (Read::Message, _) => "Not kept, since too many lines wait; the call waits, too.",
            (Read::Unclear, _) => "That does not say which call it approves.",
        };
        write!(out, "{said}\n{}", question.prompt())?;
        out.flush()?;
        Ok(Some(question))
    }
}

impl Question {
    fn prompt(&self) -> String {
        format!("Approve? [yes {}/no] ", self.code)
    }
}

/// What a line is to a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Read {
    Answer(Answer),
    /// A yes to nothing, or to something else.
    Unclear,
    Message,
}

fn read(line: &str, code: &str) -> Read {
    let line = line.to_ascii_lowercase();
    let words: Vec<&str> = line.split_whitespace().collect();
    match words.as_slice() {
        ["y" | "yes", given] if *given == code => Read::Answer(Answer::Yes),
        ["n" | "no"] => Read::Answer(Answer::No),
        ["n" | "no", given] if *given == code => Read::Answer(Answer::No),
        [] | ["y" | "yes"] | ["y" | "yes", _] => Read::Unclear,
        _ => Read::Message,
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
            let code = approval.sha256.chars().take(CODE_CHARS).collect();
            self.ask.send(Question { text: approval.text.clone(), code, answer }).await.ok()?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_yes_with_the_code_approves() {
        for (line, expected) in [
            ("yes 7f3a", Read::Answer(Answer::Yes)),
            (" Y  7F3A ", Read::Answer(Answer::Yes)),
            ("no", Read::Answer(Answer::No)),
            ("N", Read::Answer(Answer::No)),
            ("no 7f3a", Read::Answer(Answer::No)),
            ("y", Read::Unclear),
            ("yes", Read::Unclear),
            ("yes 0000", Read::Unclear),
            ("yes please", Read::Unclear),
            ("", Read::Unclear),
            ("7f3a", Read::Message),
            ("yes 7f3a 7f3a", Read::Message),
            ("y7f3a", Read::Message),
            ("no thanks", Read::Message),
            ("/new", Read::Message),
        ] {
            assert_eq!(read(line, "7f3a"), expected, "{line:?}");
        }
    }

    #[test]
    fn what_is_no_answer_is_kept_up_to_a_number() {
        let mut questions = Questions::new(Span(std::time::Duration::from_secs(1)));
        let (answer, mut answered) = oneshot::channel();
        let mut question = Question { text: "t".into(), code: "7f3a".into(), answer };
        let mut take = |question: Question, line: &str| {
            let mut out = Vec::new();
            let open = questions.answered(question, Some(line.to_owned()), &mut out).expect("written");
            (open, String::from_utf8(out).expect("text"))
        };
        for n in 0..=KEPT_LINES_MAX {
            let (open, said) = take(question, &format!("message {n}"));
            assert_eq!(said.starts_with("Kept as a message"), n < KEPT_LINES_MAX, "{n}: {said}");
            assert!(said.ends_with("\nApprove? [yes 7f3a/no] "), "{said}");
            question = open.expect("it still waits");
        }
        assert!(answered.try_recv().is_err(), "nothing is decided");
        assert!(take(question, "no").0.is_none());
        assert_eq!(answered.try_recv(), Ok(Answer::No));
        let kept: Vec<_> = std::iter::from_fn(|| questions.kept()).collect();
        assert_eq!((kept.len(), kept[0].as_str()), (KEPT_LINES_MAX, "message 0"));
    }
}
