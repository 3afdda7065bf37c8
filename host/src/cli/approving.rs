//! Approvals on the command line: the person there is the operator. `call --approve` approves its
//! one call, and `run` with the same flag each of its calls. `chat`, and `run` on a terminal, show
//! a call with a code. Only a line that repeats the code approves it: what was typed before the
//! question, or in answer to another one, approves nothing. Lines that are no answer are the next
//! messages.

mod of_runs;

pub(super) use of_runs::RunApprovals;

use super::call::this_user;
use super::streaming::StreamedAnswer;
use super::typed::TypedLines;
use async_trait::async_trait;
use cofferdam_agent::tools::{ApprovalRequest, Approver, Decision};
use cofferdam_chat::approvals::{ApprovalDisplay, ApprovalService, Changing, Rules, Verb};
use cofferdam_chat::outbound::SendError;
use cofferdam_chat::people::Served;
use cofferdam_chat::session_queue::{Stop, TurnPlaces, TurnSlot};
use cofferdam_core::limits::TimeSpan;
use cofferdam_core::lock::lock;
use cofferdam_store::{Store, StoreRetry};
use std::collections::{HashMap, VecDeque};
use std::io::Write;
use std::sync::{Arc, Mutex};
use tokio::io::AsyncBufRead;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_util::sync::CancellationToken;

const CHANNEL: &str = "terminal";
/// Lines that are kept while a question waits; for more there is a word.
pub(super) const KEPT_LINES_MAX: usize = 16;
/// So much of a call's SHA-256 is its code.
const CODE_CHARS: usize = 4;

/// Approves at once, and says on standard error what.
pub(super) struct ApproveAll;

#[async_trait]
impl Approver for ApproveAll {
    async fn decide(&self, approval: &ApprovalRequest, _: &CancellationToken) -> Decision {
        super::tell(&format!("approved: {}", approval.text.replace('\n', "\n  ")));
        Decision::Approved(this_user("cli"))
    }
}

/// Calls of a chat that wait for an answer.
pub(super) struct TerminalQuestions {
    /// What was approved and which paths are remembered, as long as the chat lasts.
    approvals: ApprovalService,
    /// Not bounded here: a turn makes few calls at once.
    ask: UnboundedSender<TerminalQuestion>,
    asked: UnboundedReceiver<TerminalQuestion>,
    /// Lines that are no answer, up to a number; none where lines are nothing but answers.
    kept: VecDeque<String>,
    kept_max: usize,
}

struct TerminalQuestion {
    /// What an answer names it by.
    id: String,
    text: String,
    /// What an approval repeats.
    code: String,
    /// Cancelled when it is too late to answer.
    over: CancellationToken,
}

/// Said of a line that decides nothing.
const UNCLEAR: &str = "That does not say which call it approves.";

impl TerminalQuestions {
    /// None yet; each is kept here and waits so long for its answer.
    pub(super) fn new(store: Store, expires: TimeSpan, kept_max: usize) -> Self {
        let (ask, asked) = unbounded_channel();
        let stop = Stop::default();
        let store_retry = StoreRetry::new(stop.soon.clone(), |_| {});
        let rules = Rules { approvers: Vec::new(), expires: expires.0, are_named: false };
        let approvals = ApprovalService::new(store, (store_retry, stop), CHANNEL.to_owned(), rules);
        Self { approvals, ask, asked, kept: VecDeque::new(), kept_max }
    }

    /// The first line that came while a question waited and was no answer to it.
    pub(super) fn take_kept_line(&mut self) -> Option<String> {
        self.kept.pop_front()
    }

    pub(super) fn approver(&self) -> Arc<dyn Approver> {
        let board = Terminal { ask: self.ask.clone(), open: Mutex::default() };
        let slot = TurnSlot::new(&TurnPlaces::new(1));
        self.approvals.new_approver(board, this_user(CHANNEL).sender, slot)
    }

    /// What `running` comes to; meanwhile what is said is shown, and each question, which waits for
    /// its answer. The end of all lines is a no.
    pub(super) async fn run_while_asking<T, R: AsyncBufRead + Unpin>(
        &mut self,
        running: impl Future<Output = T>,
        spoken: &mut StreamedAnswer,
        out: &mut impl Write,
        lines: &mut TypedLines<R>,
    ) -> std::io::Result<T> {
        let mut running = std::pin::pin!(running);
        let mut open: Option<TerminalQuestion> = None;
        loop {
            tokio::select! {
                // What was said comes before what followed from it.
                biased;
                step = spoken.next() => spoken.write(step, out)?,
                done = &mut running => return Ok(done),
                Some(question) = self.asked.recv(), if open.is_none() => {
                    write!(out, "{}\n{}", question.text, question.prompt())?;
                    out.flush()?;
                    open = Some(question);
                }
                line = lines.next(), if open.is_some() => {
                    let line = line?;
                    if let Some(question) = &open
                        && let Some(data) = self.answer_question(question, line, out)?
                    {
                        open = None;
                        let person = this_user(CHANNEL).sender;
                        self.approvals.press(&data, Some(&person), |_| true).await;
                    }
                }
                () = await_expiry(&mut open), if open.is_some() => {
                    writeln!(out, "\nThis is not asked any more.")?;
                    open = None;
                }
            }
        }
    }

    /// Takes a line, or the end of all lines, in answer to a question: what a button of this answer
    /// would carry; none where the question waits.
    fn answer_question(
        &mut self,
        question: &TerminalQuestion,
        line: Option<String>,
        out: &mut impl Write,
    ) -> std::io::Result<Option<String>> {
        let read = line.as_deref().map_or(LineReader::Answer(Verb::Deny), |line| read(line, &question.code));
        let said = match (read, line) {
            (LineReader::Answer(verb), _) => return Ok(Some(verb.data(&question.id))),
            (LineReader::Message, Some(line)) if self.kept.len() < self.kept_max => {
                self.kept.push_back(line);
                "Kept as a message for later; the call still waits."
            }
            (LineReader::Message, _) if self.kept_max == 0 => UNCLEAR,
            (LineReader::Message, _) => "Not kept, since too many lines wait; the call waits, too.",
            (LineReader::Unclear, _) => UNCLEAR,
        };
        write!(out, "{said}\n{}", question.prompt())?;
        out.flush()?;
        Ok(None)
    }
}

impl TerminalQuestion {
    fn prompt(&self) -> String {
        format!("Approve? [yes {}/no] ", self.code)
    }
}

/// What a line is to a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineReader {
    Answer(Verb),
    /// A yes to nothing, or to something else.
    Unclear,
    Message,
}

fn read(line: &str, code: &str) -> LineReader {
    let line = line.to_ascii_lowercase();
    let words: Vec<&str> = line.split_whitespace().collect();
    match words.as_slice() {
        ["y" | "yes", given] if *given == code => LineReader::Answer(Verb::Approve),
        ["n" | "no"] => LineReader::Answer(Verb::Deny),
        ["n" | "no", given] if *given == code => LineReader::Answer(Verb::Deny),
        [] | ["y" | "yes"] | ["y" | "yes", _] => LineReader::Unclear,
        _ => LineReader::Message,
    }
}

/// Returns when it is too late to answer.
async fn await_expiry(open: &mut Option<TerminalQuestion>) {
    if let Some(question) = open {
        question.over.cancelled().await;
    }
}

/// The board of one turn.
struct Terminal {
    ask: UnboundedSender<TerminalQuestion>,
    /// What ends the questions that are not over, by their ids.
    open: Mutex<HashMap<String, CancellationToken>>,
}

/// The one who sits there is the operator, and sees everything.
#[async_trait]
impl ApprovalDisplay for Terminal {
    fn chat(&self) -> String {
        CHANNEL.to_owned()
    }

    fn approvers(&self, named: Vec<String>) -> Vec<String> {
        named
    }

    fn asker_served(&self) -> Served {
        Served::Yes
    }

    async fn show(&self, id: &str, approval: &ApprovalRequest) -> Result<String, SendError> {
        let over = CancellationToken::new();
        lock(&self.open).insert(id.to_owned(), over.clone());
        let code = approval.sha256.chars().take(CODE_CHARS).collect();
        let question = TerminalQuestion { id: id.to_owned(), text: approval.text.clone(), code, over };
        self.ask.send(question).map_err(|_| SendError::Gone("the chat has ended".to_owned()))?;
        Ok(id.to_owned())
    }

    /// What was answered is said by the answer to the turn.
    fn change(&self, message: &str, _: &str, _: &str) -> Changing {
        let open = lock(&self.open).remove(message);
        if let Some(over) = open {
            over.cancel();
        }
        Box::pin(std::future::ready(true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_yes_with_the_code_approves() {
        for (line, expected) in [
            ("yes 7f3a", LineReader::Answer(Verb::Approve)),
            (" Y  7F3A ", LineReader::Answer(Verb::Approve)),
            ("no", LineReader::Answer(Verb::Deny)),
            ("N", LineReader::Answer(Verb::Deny)),
            ("no 7f3a", LineReader::Answer(Verb::Deny)),
            ("y", LineReader::Unclear),
            ("yes", LineReader::Unclear),
            ("yes 0000", LineReader::Unclear),
            ("yes please", LineReader::Unclear),
            ("", LineReader::Unclear),
            ("7f3a", LineReader::Message),
            ("yes 7f3a 7f3a", LineReader::Message),
            ("y7f3a", LineReader::Message),
            ("no thanks", LineReader::Message),
            ("/new", LineReader::Message),
        ] {
            assert_eq!(read(line, "7f3a"), expected, "{line:?}");
        }
    }

    #[test]
    fn what_is_no_answer_is_kept_up_to_a_number() {
        let mut questions = TerminalQuestions::new(
            Store::in_memory().expect("a store"),
            TimeSpan(std::time::Duration::from_secs(1)),
            KEPT_LINES_MAX,
        );
        let over = CancellationToken::new();
        let question = TerminalQuestion { id: "id".into(), text: "t".into(), code: "7f3a".into(), over };
        let mut take = |line: &str| {
            let mut out = Vec::new();
            let answered =
                questions.answer_question(&question, Some(line.to_owned()), &mut out).expect("written");
            (answered, String::from_utf8(out).expect("text"))
        };
        for n in 0..=KEPT_LINES_MAX {
            let (answered, said) = take(&format!("message {n}"));
            assert_eq!(said.starts_with("Kept as a message"), n < KEPT_LINES_MAX, "{n}: {said}");
            assert!(said.ends_with("\nApprove? [yes 7f3a/no] "), "{said}");
            assert_eq!(answered, None, "it is decided");
        }
        assert_eq!(take("no").0, Some(Verb::Deny.data("id")));
        let kept: Vec<_> = std::iter::from_fn(|| questions.take_kept_line()).collect();
        assert_eq!((kept.len(), kept[0].as_str()), (KEPT_LINES_MAX, "message 0"));
    }
}
