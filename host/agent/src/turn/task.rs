//! A task of a workflow as a turn of its own: nothing of other conversations is in it, nothing in
//! it is a command, and what it answers is held to what the task wants before anybody believes it.

use super::instructions::{RULES_OF_TASKS, instructions};
use super::open_conversation::{HistoryPlace, OpenConversation};
use super::rounds::Rounds;
use super::runner::whose_turn;
use super::{EntryExtras, HistoryEntry, Runner, Stop, TaskAttachments, TurnInput, words};
use cofferdam_core::id::SessionId;
use cofferdam_warden::attachments::Attachments;
use serde_json::Value;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// What a task asks. The turn beside it has its id, caller and attachments, and no text.
#[derive(Clone, Debug)]
pub struct TaskRequest {
    /// What the operator tells the agent.
    pub instructions: String,
    /// What is asked.
    pub prompt: String,
    /// One line for each attachment.
    pub list: Option<String>,
    /// What is shown, in order.
    pub shown: Vec<TaskAttachments>,
}

/// Why a task has no answer; the text is for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskFailure {
    /// Somebody stopped it.
    Cancelled,
    /// The model, which may have declined or been cut off, or a limit of the turn.
    Unanswered(String),
    /// It answered twice otherwise than the task wants.
    Invalid(String),
    /// There is no model.
    NoModel,
}

impl Runner {
    /// Answers a task; what `read` made of the answer. Where that says what is wrong with it
    /// instead, the model is asked once more, in what is left of the turn's time; one that declined
    /// is not. Each step is charged when it is taken. The text of the turn is not looked at. A task
    /// has no reply, so it is not among the requests to which others hand files.
    ///
    /// # Errors
    /// [`TaskFailure`].
    pub async fn answer_task(
        &self,
        turn: TurnInput,
        request: TaskRequest,
        read: &(dyn Fn(&str) -> Result<Value, String> + Sync),
        cancel: &CancellationToken,
    ) -> Result<Value, TaskFailure> {
        if !self.has_memory() {
            return Err(TaskFailure::NoModel);
        }
        let TaskRequest { instructions: agent, prompt, list, shown } = request;
        let attachments = turn.attachments.clone();
        let asked = HistoryEntry::Task { prompt, list, shown, attachments };
        let whose = whose_turn(&turn, SessionId::new(turn.id.as_str()));
        let history = self.history.clone();
        let charged = HistoryPlace { history, whose, begun: None, used: None, may_have_files: false };
        let conversation = OpenConversation::new_unkept(turn.id.clone(), asked, Some(charged));
        let (instructions, specs) = (instructions(RULES_OF_TASKS, &agent), self.tools.specs());
        let asked = (&*self.provider, instructions.as_str(), specs.as_slice());
        let mut rounds = Rounds::new(self, asked, (turn, conversation), Arc::new(()), cancel.clone());
        let mut wrong: Option<String> = None;
        for _ in 0..2 {
            if let Some(why) = wrong {
                let text = format!(
                    "Your answer cannot be used: {why}. Answer once more with the JSON alone, nothing before or after it."
                );
                let entry = HistoryEntry::User { text, attachments: Attachments::default(), addendum: None };
                let pushed = rounds.conversation.push(entry, EntryExtras::default()).await;
                pushed.map_err(|error| TaskFailure::Unanswered(error.to_string()))?;
            }
            let said = rounds.go_on().await;
            if !said.is_answer {
                return Err(match cancel.is_cancelled() {
                    true => TaskFailure::Cancelled,
                    false => TaskFailure::Unanswered(said.text),
                });
            }
            let unanswered = |why: &str| Err(TaskFailure::Unanswered(why.to_owned()));
            match (rounds.last_stop, read(&said.text)) {
                (Stop::Declined, _) => return unanswered(words::DECLINED),
                // A task that takes any text would take this for the whole.
                (Stop::Length, Ok(_)) => return unanswered(words::CUT_OFF),
                (_, Ok(output)) => return Ok(output),
                (_, Err(why)) => wrong = Some(why),
            }
        }
        Err(TaskFailure::Invalid(wrong.unwrap_or_default()))
    }
}
