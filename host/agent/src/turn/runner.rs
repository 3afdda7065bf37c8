//! Runs a turn: what it is about, its conversation, the provider's steps, the answer.

use super::clock::{WallClock, frame_request};
use super::history::{History, HistoryError, mend};
use super::instructions::{RULES, instructions};
use super::open_conversation::{HistoryPlace, OpenConversation};
use super::refetch::{files_added, refetch_files};
use super::rounds::{Rounds, TurnEnd};
use super::{Config, HistoryEntry, Provider, Steering, StepListener, ToolSpec, Tools, TurnStep, words};
use crate::open_requests::CallOrigin;
use crate::tools::Approver;
use cofferdam_core::attachment::{AttachmentInfo, addendum};
use cofferdam_core::command::{ControlWord, split_command, word};
use cofferdam_core::id::{Caller, SessionId, TurnId};
use cofferdam_core::message::OutgoingResponse;
use cofferdam_core::tool::wire_name;
use cofferdam_store::{StoreRetry, WhoseTurn};
use cofferdam_warden::attachments::{Attachments, RecentAttachments};
use cofferdam_warden::messaging::Messaging;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// One user message (or album), ready to be answered.
#[derive(Clone)]
pub struct TurnInput {
    /// The same again when the turn is replayed after a crash.
    pub id: TurnId,
    /// The conversation that it belongs to; none where turns stand alone.
    pub session: Option<SessionId>,
    /// Who asks.
    pub caller: Caller,
    /// Text or caption; empty when there is none, or when it must not run (an album's straggler).
    pub text: String,
    /// What a model is told of the message besides its words, as data on one line; kept with them.
    pub about: Option<String>,
    /// The profiles whose tools this turn may call; absent: all of them.
    pub profiles: Option<Arc<BTreeSet<String>>>,
    /// What came with it, in order.
    pub attachments: Attachments,
    /// Brings the files of an earlier message, for the tools that may ask for them.
    pub recent: Option<Arc<dyn RecentAttachments>>,
    /// Writes to people for its calls; absent where nobody is reached.
    pub messaging: Option<Arc<dyn Messaging>>,
    /// Asks people about calls that a policy asks about; absent where nobody can be asked.
    pub approver: Option<Arc<dyn Approver>>,
    /// Brings what the user adds while it runs; absent where nobody can.
    pub steering: Option<Arc<dyn Steering>>,
    /// Lines that the user must read with the answer, besides those on unavailable attachments.
    pub notices: Vec<String>,
}

/// Runs turns.
pub struct Runner {
    pub(super) provider: Arc<dyn Provider>,
    /// Answers what is typed as a command.
    commands: Arc<dyn Provider>,
    clock: WallClock,
    pub(super) tools: Arc<dyn Tools>,
    pub(super) history: History,
    pub(super) turns: Config,
    instructions: String,
    specs: Vec<ToolSpec>,
    whose: ConversationOwner,
}

/// Whose a conversation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConversationOwner {
    /// A session's: all who speak in it are heard together.
    Session,
    /// One person's in a session: what one is told of their files is shown to nobody else's turns.
    Person,
}

/// A turn that can be answered, or what to say instead.
type OpenedTurn = Result<(TurnInput, OpenConversation), String>;

impl Runner {
    /// A runner over a provider and the tools. `history` keeps conversations, where the provider
    /// wants to know of them; `operator` is what the operator tells a model besides the rules of
    /// this program.
    pub fn new(
        provider: Arc<dyn Provider>,
        tools: Arc<dyn Tools>,
        history: History,
        turns: Config,
        operator: String,
    ) -> Self {
        let instructions = if provider.has_memory() { instructions(RULES, &operator) } else { String::new() };
        let (specs, commands) = (tools.specs(), provider.clone());
        let (clock, whose) = (WallClock::system(), ConversationOwner::Session);
        Self { provider, commands, clock, tools, history, turns, instructions, specs, whose }
    }

    /// The same with a provider of its own for what is typed as a command: such a turn stands
    /// alone, and costs nothing.
    #[must_use]
    pub fn with_commands(self, commands: Arc<dyn Provider>) -> Self {
        Self { commands, ..self }
    }

    /// The same by another clock.
    #[must_use]
    pub fn by(self, clock: WallClock) -> Self {
        Self { clock, ..self }
    }

    /// The same for conversations of these.
    #[must_use]
    pub fn with_history(self, whose: ConversationOwner) -> Self {
        Self { whose, ..self }
    }

    /// Whose conversations it keeps.
    pub fn owner(&self) -> ConversationOwner {
        self.whose
    }

    /// Whether its provider knows of earlier turns.
    pub fn has_memory(&self) -> bool {
        self.provider.has_memory()
    }

    /// Answers a turn. Never fails: what went wrong is part of the answer.
    ///
    /// Cancelling stops the provider and the tool; the answer then says so.
    pub async fn run(
        &self,
        turn: TurnInput,
        progress: Arc<dyn StepListener>,
        cancel: &CancellationToken,
    ) -> OutgoingResponse {
        let mut infos = turn.attachments.infos();
        let mut lines = turn.notices.clone();
        if word(&turn.text) == Some(ControlWord::Help) && self.has_memory() {
            lines.push(words::help(turn.steering.as_ref().map(|_| words::STEER_HELP)));
        }
        let id = turn.id.clone();
        let (session, caller) = (turn.session.clone(), turn.caller.clone());
        let active = self.tools.requests().begin(CallOrigin { request: id.clone(), session, caller });
        let opened = tokio::select! {
            biased;
            opened = self.open(turn, cancel) => opened,
            // Files of a retried message may take long to come.
            () = cancel.cancelled() => Err(words::cancelled(0)),
        };
        // Of one that did not open nobody has looked.
        let mut may_have_files = true;
        let mut answer = match opened {
            Err(said) => TurnEnd::from_text(said),
            Ok((turn, conversation)) => {
                may_have_files = conversation.may_have_files();
                infos = turn.attachments.infos();
                if !infos.is_empty() {
                    progress.step(TurnStep::Attachments(infos.clone()));
                }
                let specs = self.specs_of(&turn);
                let provider = if self.is_command(&turn.text) { &*self.commands } else { &*self.provider };
                let asked = (provider, self.instructions.as_str(), &*specs);
                let mut rounds = Rounds::new(self, asked, (turn, conversation), progress, cancel.clone());
                let said = rounds.go_on().await;
                // With those of the messages that were said to the turn while it ran.
                infos = rounds.turn.attachments.infos();
                said
            }
        };
        // From here on calls of others find it ended, so what they have handed over is all.
        may_have_files |= active.end().await;
        if may_have_files {
            match self.history.store.files_handed_over(&id).await {
                Ok(more) => answer.files.extend(more),
                Err(error) => lines.push(conversation_lost(&error.into())),
            }
        }
        lines.extend(infos.iter().filter_map(AttachmentInfo::notice));
        prepend_lines(lines, answer)
    }

    /// Whether a text is a command: a plain name, whether there is such a tool or not, or another
    /// way to write a tool's. Words about the conversation are none.
    fn is_command(&self, text: &str) -> bool {
        match word(text) {
            Some(ControlWord::Help) => true,
            Some(ControlWord::New | ControlWord::Retry | ControlWord::Cancel) => false,
            None => split_command(text).is_some_and(|typed| {
                typed.is_plain() || self.specs.iter().any(|spec| spec.name == wire_name(typed.name))
            }),
        }
    }

    /// The tools that a turn may call. Calls are held against the same list when they are made.
    fn specs_of(&self, turn: &TurnInput) -> Cow<'_, [ToolSpec]> {
        match &turn.profiles {
            None => Cow::Borrowed(&self.specs),
            Some(profiles) => {
                let may = |spec: &&ToolSpec| self.tools.is_among(&spec.name, profiles);
                Cow::Owned(self.specs.iter().filter(may).cloned().collect())
            }
        }
    }

    /// The conversation with the request of this turn in it.
    async fn open(&self, mut turn: TurnInput, cancel: &CancellationToken) -> OpenedTurn {
        let is_remembered = self.has_memory() && !self.is_command(&turn.text);
        let session = turn.session.as_ref().filter(|_| is_remembered);
        let remembered = session.map(|session| self.conversation(session, &turn.caller));
        match (word(&turn.text), remembered) {
            (Some(ControlWord::Cancel), _) => Err(words::nothing_runs(0)),
            (Some(ControlWord::New | ControlWord::Retry), None) => Err(words::NO_CONVERSATION.into()),
            (Some(ControlWord::New), Some(session)) => Err(self.forget(&turn, &session).await),
            (Some(ControlWord::Retry), Some(session)) => self.reopen(turn, session).await,
            (_, None) => {
                let conversation = OpenConversation::new_unkept(turn.id.clone(), request(&turn), None);
                Ok((turn, conversation))
            }
            (Some(ControlWord::Help) | None, Some(session)) => {
                let mut request = request(&turn);
                if let HistoryEntry::User { text, .. } = &mut request {
                    *text = frame_request(turn.about.as_deref(), &self.clock.describe_now(), text);
                }
                // Nothing was done for the turn yet, so nothing is lost by waiting for the store.
                let store_retry = StoreRetry::new(cancel.clone(), |_| {});
                let asked = || self.begin_request(&turn, &session, &request);
                let asked = store_retry.store_until_done("keep what is asked", asked).await;
                let asked = asked.ok_or_else(|| words::cancelled(0))?;
                let mut conversation = asked.map_err(|error| conversation_lost(&error))?;
                if conversation.steers() > 0 {
                    let found = std::iter::once(turn.attachments.clone()).chain(files_added(&turn).await);
                    turn.attachments = conversation.attach(found.collect());
                }
                Ok((turn, conversation))
            }
        }
    }

    /// The conversation with a new request in it, kept.
    ///
    /// # Errors
    /// What a working store may mend; the result within is for good.
    async fn begin_request(
        &self,
        turn: &TurnInput,
        session: &SessionId,
        request: &HistoryEntry,
    ) -> Result<Result<OpenConversation, HistoryError>, HistoryError> {
        let asked = async {
            let (history, whose) = (self.history.clone(), whose_turn(turn, session.clone()));
            let (kept, beginning) = history.load_turn_beginning(&whose).await?;
            let (begun, used) = (beginning.begun, Some(beginning.used));
            let may_have_files = beginning.was_given_files;
            let keeping = HistoryPlace { history, whose, begun, used, may_have_files };
            OpenConversation::begin(keeping, mend(kept, &turn.id), request.clone()).await
        };
        match asked.await {
            Err(error @ HistoryError::Store(_)) => Err(error),
            done => Ok(done),
        }
    }

    /// The conversation that somebody has in a session, as the history knows it.
    fn conversation(&self, session: &SessionId, caller: &Caller) -> SessionId {
        match self.whose {
            ConversationOwner::Session => session.clone(),
            // The length keeps apart what runs together otherwise.
            ConversationOwner::Person => {
                let Caller { channel, sender } = caller;
                SessionId::new(format!("{session} of {}:{channel}:{sender}", channel.len()))
            }
        }
    }

    async fn forget(&self, turn: &TurnInput, session: &SessionId) -> String {
        match self.history.store.forget_lines(session).await {
            Err(error) => conversation_lost(&error.into()),
            Ok(()) if turn.attachments.is_empty() => words::FORGOTTEN.into(),
            Ok(()) => format!("{}\n{}", words::FORGOTTEN, words::FILES_UNUSED),
        }
    }

    /// The conversation with its last request, which has no answer, and the files that came with
    /// it.
    async fn reopen(&self, mut turn: TurnInput, session: SessionId) -> OpenedTurn {
        let kept = self.history.load(&session, &turn.id).await.map_err(|error| conversation_lost(&error))?;
        // What a turn does it does for the person who began it, so nobody has another person's
        // request done.
        let last = kept.iter().rfind(|kept| matches!(kept.entry, HistoryEntry::User { .. }));
        match last.map(|last| &last.asker) {
            Some(Some(asker)) if *asker != turn.caller => return Err(words::NOT_YOURS.into()),
            Some(None) => return Err(words::NOBODYS.into()),
            Some(Some(_)) | None => {}
        }
        let (history, whose) = (self.history.clone(), whose_turn(&turn, session));
        let begun = history.load_attempt(&turn.id).await.map_err(|error| conversation_lost(&error))?;
        let keeping = HistoryPlace { history, whose, begun, used: None, may_have_files: true };
        let conversation = OpenConversation::resume(keeping, mend(kept, &turn.id));
        // The turn itself may have answered it before a crash.
        let unanswered =
            |conversation: &OpenConversation| conversation.answer().is_none() || conversation.has_begun();
        let mut conversation = conversation.filter(unanswered).ok_or(words::NOTHING_TO_RETRY)?;
        conversation.take_over_files().await.map_err(|error| conversation_lost(&error))?;
        turn.attachments = conversation.attach(refetch_files(&turn, conversation.attachments()).await);
        Ok((turn, conversation))
    }
}

pub(super) fn whose_turn(turn: &TurnInput, session: SessionId) -> WhoseTurn {
    WhoseTurn { session, turn: turn.id.clone(), caller: turn.caller.clone() }
}

/// The answer below the lines that are to be read with it.
fn prepend_lines(mut lines: Vec<String>, answer: TurnEnd) -> OutgoingResponse {
    // Without an answer the last line is a notice, with a name in it that a sender chose.
    let markdown = Some(answer.text.len()).filter(|len| *len > 0 && answer.is_markdown);
    lines.extend(Some(answer.text).filter(|text| !text.is_empty()));
    let text = lines.join("\n");
    let markdown_from = markdown.map(|len| text.len() - len);
    OutgoingResponse { text: Some(text), markdown_from, voice: None, attachments: answer.files }
}

fn request(turn: &TurnInput) -> HistoryEntry {
    HistoryEntry::User {
        text: turn.text.clone(),
        addendum: addendum(&turn.attachments.infos()),
        attachments: turn.attachments.clone(),
    }
}

/// In place of an answer when the conversation cannot be kept or had.
pub(super) fn conversation_lost(error: &HistoryError) -> String {
    tracing::error!(%error, "a turn was not answered");
    let then = match error {
        HistoryError::Store(_) => words::RETRY,
        HistoryError::Unreadable(_) => words::ANEW,
    };
    format!("internal: {error}; the operator finds more in the log. {then}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_above_an_answer_is_never_markdown() {
        let check = |text: &str, is_markdown: bool, expected: Option<usize>| {
            let answer = TurnEnd { is_markdown, ..TurnEnd::from_text(text.to_owned()) };
            let said = prepend_lines(vec!["[0] *a*: gone.".to_owned()], answer);
            assert_eq!(said.markdown_from, expected, "{text:?}");
        };
        check("**hi**", true, Some("[0] *a*: gone.\n".len()));
        check("**hi**", false, None);
        check("", true, None);
    }
}
