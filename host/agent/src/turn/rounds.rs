//! The rounds of a turn: the provider decides a step, its calls run, and again, until there is an
//! answer or a limit is reached. Where it stands is told by the conversation alone, so a turn that
//! was cut off by a crash goes on from its last entry.

use super::cost::{CostMeter, cost, count_wasted};
use super::history::{EntryExtras, HistoryError};
use super::open_conversation::OpenConversation;
use super::runner::conversation_lost;
use super::shortening::Shortening;
use super::{
    HistoryEntry, Provider, ProviderError, Runner, StepListener, StepReply, StepRequest, Stop, ToolSpec,
    TurnInput, TurnStep, words,
};
use crate::tools::Journal;
use cofferdam_core::arguments::BadArguments;
use cofferdam_core::counts::COUNTS;
use cofferdam_core::message::OutgoingAttachment;
use cofferdam_core::secret::redact;
use std::sync::Arc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Calls of one step; what is asked for beyond them is dropped, and the model told so.
pub(super) const STEP_CALLS_MAX: usize = 32;

/// A turn under way.
pub(super) struct Rounds<'a> {
    pub(super) runner: &'a Runner,
    provider: &'a dyn Provider,
    instructions: &'a str,
    specs: &'a [ToolSpec],
    pub(super) turn: TurnInput,
    pub(super) conversation: OpenConversation,
    pub(super) progress: Arc<dyn StepListener>,
    pub(super) journal: Option<Arc<dyn Journal>>,
    /// Somebody stops it.
    cancelled: CancellationToken,
    /// Ends what is under way, for any reason.
    pub(super) stop: CancellationToken,
    /// Why the provider stopped speaking in the newest step.
    pub(super) last_stop: Stop,
    started: Instant,
}

/// What a turn says at its end.
pub(super) struct TurnEnd {
    pub(super) text: String,
    /// Whether it is the provider's answer, and not this program's words in its place.
    pub(super) is_answer: bool,
    pub(super) is_markdown: bool,
    /// Files that come with it.
    pub(super) files: Vec<OutgoingAttachment>,
}

impl TurnEnd {
    /// This program's own words, and nothing with them.
    pub(super) fn from_text(text: String) -> Self {
        Self { text, is_answer: false, is_markdown: false, files: Vec::new() }
    }
}

/// Why a turn ends without the provider's answer.
#[derive(Debug)]
pub(super) enum EarlyEnd {
    /// What is said is the answer: going on would change nothing.
    Answered(String),
    /// The request stays without an answer, and may be retried.
    Open(String),
}

impl From<HistoryError> for EarlyEnd {
    fn from(error: HistoryError) -> Self {
        Self::Open(conversation_lost(&error))
    }
}

impl<'a> Rounds<'a> {
    /// A turn in its conversation, which puts its request to a provider with these instructions and
    /// these tools.
    pub(super) fn new(
        runner: &'a Runner,
        (provider, instructions, specs): (&'a dyn Provider, &'a str, &'a [ToolSpec]),
        (turn, conversation): (TurnInput, OpenConversation),
        progress: Arc<dyn StepListener>,
        cancelled: CancellationToken,
    ) -> Self {
        Self {
            runner,
            provider,
            instructions,
            specs,
            turn,
            conversation,
            progress,
            journal: runner.history.journal(runner.turns.user_written_bytes_per_day),
            stop: cancelled.child_token(),
            cancelled,
            last_stop: Stop::Done,
            started: Instant::now(),
        }
    }

    /// Goes on until there is an answer; with it the files that go out. More can be asked after it,
    /// in what is left of the time.
    pub(super) async fn go_on(&mut self) -> TurnEnd {
        // A crash gives no time back; a retry is a turn of its own.
        let age = self.conversation.age().max(self.started.elapsed());
        let left = self.runner.turns.deadline.0.saturating_sub(age);
        let stop = self.stop.clone();
        if left.is_zero() {
            // Before anything goes on: nobody is asked any more, and what there is is told.
            stop.cancel();
        }
        let ended = {
            let work = self.run_until_answered();
            tokio::pin!(work);
            tokio::select! {
                ended = &mut work => ended,
                () = tokio::time::sleep(left) => {
                    stop.cancel();
                    // Calls that run notice, and say what became of them.
                    work.as_mut().await
                }
            }
        };
        let counted_as = match &ended {
            Ok(_) => "answered",
            Err(EarlyEnd::Answered(_)) => "limited",
            Err(EarlyEnd::Open(_)) => "open",
        };
        COUNTS.turns.add(counted_as, 1);
        let said = match ended {
            Ok(text) => TurnEnd {
                is_markdown: self.provider.is_markdown(),
                is_answer: true,
                ..TurnEnd::from_text(text)
            },
            // What was added comes with the answer that a retry may bring.
            Err(EarlyEnd::Open(said)) => {
                self.conversation.keep_files_for_retry().await;
                return TurnEnd::from_text(said);
            }
            Err(EarlyEnd::Answered(said)) => TurnEnd::from_text(self.close(said).await),
        };
        TurnEnd { files: self.conversation.files(), ..said }
    }

    async fn run_until_answered(&mut self) -> Result<String, EarlyEnd> {
        loop {
            if let Some(answer) = self.conversation.answer() {
                return Ok(answer.to_owned());
            }
            if !self.conversation.pending().is_empty() {
                self.run_calls().await?;
                continue;
            }
            self.check_limits().await?;
            self.hear().await?;
            let reply = self.ask().await?;
            self.take(reply).await?;
        }
    }

    pub(super) fn is_durable(&self) -> bool {
        self.provider.has_memory()
    }

    /// Whether the turn is to go no further. Without a model all results are told.
    pub(super) fn is_stopped(&self) -> bool {
        self.is_durable() && self.stop.is_cancelled()
    }

    /// Whether the provider may be asked once more.
    async fn check_limits(&mut self) -> Result<(), EarlyEnd> {
        if self.is_stopped() {
            return Err(self.stop_reason());
        }
        let turns = &self.runner.turns;
        if self.conversation.rounds() >= turns.rounds {
            return Err(EarlyEnd::Answered(words::too_many_rounds(turns.rounds)));
        }
        if self.conversation.tokens > turns.tokens {
            return Err(EarlyEnd::Answered(words::too_many_tokens(turns.tokens)));
        }
        if self.is_durable() {
            let used = match self.conversation.take_used_today() {
                Some(used) => used,
                None => self.runner.history.load_usage(&self.turn.caller).await?,
            };
            if used.tokens >= turns.user_tokens_per_day {
                return Err(EarlyEnd::Open(words::no_tokens_today(turns.user_tokens_per_day)));
            }
        }
        Ok(())
    }

    /// The provider's next step. What it cannot be shown it is only told of, from then on; what is
    /// too long for it is shortened, as far as anything can be.
    async fn ask(&mut self) -> Result<StepReply, EarlyEnd> {
        self.shorten_if_long().await?;
        let mut answered = self.respond().await?;
        if matches!(answered, Err(ProviderError::Unshowable(_)))
            && self.take_measure(Shortening::Files).await?
        {
            answered = self.respond().await?;
        }
        for measure in Shortening::ALL {
            if matches!(answered, Err(ProviderError::TooLong(_))) && self.take_measure(measure).await? {
                answered = self.respond().await?;
            }
        }
        answered.map_err(|error| match error {
            // To go on would only read it once more.
            ProviderError::TooLong(_) if self.conversation.has_results() => {
                EarlyEnd::Answered(words::READ_TOO_MUCH.into())
            }
            error => EarlyEnd::Open(error.to_string()),
        })
    }

    async fn respond(&mut self) -> Result<Result<StepReply, ProviderError>, EarlyEnd> {
        let request = StepRequest {
            instructions: self.instructions,
            conversation: &self.conversation.entries,
            tools: self.specs,
        };
        let progress = self.progress.clone();
        progress.step(TurnStep::Asking);
        let mut heard = CostMeter::by(progress);
        let answered = self.ask_unless_stopped(request, &mut heard).await;
        if matches!(answered, Ok(Ok(_))) {
            heard.end();
        }
        if self.is_durable() {
            self.conversation.spend(count_wasted(&self.conversation.entries, &answered, &heard)).await?;
        }
        answered
    }

    /// What the provider says to a request. Its future is dropped when the turn is stopped.
    pub(super) async fn ask_unless_stopped(
        &self,
        request: StepRequest<'_>,
        heard: &mut CostMeter,
    ) -> Result<Result<StepReply, ProviderError>, EarlyEnd> {
        let mut deltas = |delta| heard.take(delta);
        tokio::select! {
            // Who answers at once is heard, so that results are told also after a stop.
            biased;
            reply = self.provider.respond(request, &mut deltas) => Ok(reply),
            () = self.stop.cancelled() => Err(self.stop_reason()),
        }
    }

    /// Takes a step over into the conversation.
    async fn take(&mut self, reply: StepReply) -> Result<(), EarlyEnd> {
        let tokens = if self.is_durable() { cost(&self.conversation.entries, &reply) } else { 0 };
        let (mut text, mut tool_calls) = (reply.text, reply.tool_calls);
        if self.is_durable() {
            // A model may have read them somewhere; what it says is for others.
            text = text.map(|text| redact(&text).into_owned());
        }
        self.last_stop = reply.stop;
        match reply.stop {
            Stop::Done => {}
            Stop::Length if tool_calls.is_empty() => text = Some(append_words(text, words::CUT_OFF)),
            Stop::Length => {
                for call in &mut tool_calls {
                    let is_whole =
                        |text: &String| serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
                    if !call.arguments.as_ref().is_ok_and(is_whole) {
                        call.arguments = Err(BadArguments::CutOff);
                    }
                }
            }
            Stop::Declined => {
                tool_calls.clear();
                text = Some(append_words(text, words::DECLINED));
            }
        }
        let left_out = tool_calls.len().saturating_sub(STEP_CALLS_MAX);
        tool_calls.truncate(STEP_CALLS_MAX);
        let besides = EntryExtras { tokens, left_out, ..EntryExtras::default() };
        Ok(self.conversation.push(HistoryEntry::Assistant { text, tool_calls }, besides).await?)
    }

    pub(super) fn stop_reason(&self) -> EarlyEnd {
        EarlyEnd::Open(match self.cancelled.is_cancelled() {
            true => words::cancelled(self.conversation.results()),
            false => words::too_slow(self.runner.turns.deadline),
        })
    }

    /// The same where a call of this tool was cut off, which says this.
    pub(super) fn stop_reason_within(&self, tool: &str, why: &str) -> EarlyEnd {
        match self.cancelled.is_cancelled() {
            true => EarlyEnd::Open(words::cancelled_within(self.conversation.results(), tool, why)),
            false => self.stop_reason(),
        }
    }

    /// Ends the conversation's last request with this program's own words.
    async fn close(&mut self, said: String) -> String {
        let entry = HistoryEntry::Assistant { text: Some(said.clone()), tool_calls: Vec::new() };
        match self.conversation.push(entry, EntryExtras::default()).await {
            Ok(()) => said,
            Err(error) => conversation_lost(&error),
        }
    }
}

fn append_words(text: Option<String>, words: &str) -> String {
    match text.filter(|text| !text.trim().is_empty()) {
        Some(text) => format!("{}\n\n{words}", text.trim_end()),
        None => words.to_owned(),
    }
}
