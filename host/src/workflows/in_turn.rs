//! Writing to people from within a turn, and having their replies go on with its request: what is
//! behind `message_send`, `workflow_create`, `workflow_task_create` and `workflow_wait_for_reply`.
//!
//! Who may be written to with what was judged before. Each message and each wait has a name that
//! its call makes: a call that runs again after a crash finds what it did.

use super::executor::Executor;
mod run;

pub(super) use run::{BeganInTurn, event};

use super::executor::failed_end;
use super::executor::people::{
    await_sent, keep_and_send, lost_problem, recipient_denied, retry_reach, texts,
};
use cofferdam_chat::runs::{CallingTurn, Served};
use cofferdam_core::audit::{self, CallFacts, WorkflowState, sha256_hex};
use cofferdam_core::id::{Caller, TurnId};
use cofferdam_core::message::{DirectMessage, OutgoingResponse, SentMessage};
use cofferdam_core::secret::redact;
use cofferdam_core::text::one_line;
use cofferdam_core::tool::{ErrorCode, ToolError};
use cofferdam_store::{
    KeptRun, NewMessage, NewReply, NewRun, NewTelling, NewTurnWait, RunOwner, SendState, StoreError,
    TurnWaited, now_ms,
};
use cofferdam_warden::attachments::outgoing::{OutgoingBytes, OutgoingFile};
use cofferdam_warden::messaging::{Messaging, UnsentMessage};
use run::{WORKFLOW, new_run};
use serde_json::json;
use std::cell::Cell;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

/// A summary is told with each reply, so it is short.
pub const SUMMARY_BYTES_MAX: usize = 4 << 10;
/// Longer texts are no message.
pub const MESSAGE_TEXT_BYTES_MAX: usize = 32 << 10;

/// How often it is looked whether the call is still wanted.
const LOOK: Duration = Duration::from_millis(100);

/// Writes to people for the calls of one turn, or of one task of a run.
pub(super) struct TurnMessaging {
    pub(super) executor: Executor,
    /// The turn; none for a task of a file, whose run has steps of its own to wait.
    pub(super) asking: Option<CallingTurn>,
    pub(super) runtime: Handle,
}

impl Messaging for TurnMessaging {
    fn check_served(&self, to: &str) -> Result<(), ToolError> {
        let person = person(to)?;
        self.may_write()?;
        let Some(people) = &self.executor.people else { return Err(recipient_denied(to)) };
        if !people.may_come_up(&person.channel) {
            return Err(recipient_denied(to));
        }
        match people.messenger(&person.channel) {
            Some(messenger) if messenger.served(&person.sender) == Served::No => Err(recipient_denied(to)),
            // A channel that is not up yet, or does not know now, says so when it does.
            _ => Ok(()),
        }
    }

    fn send(
        &self,
        of: &CallFacts,
        message: DirectMessage,
        files: Vec<OutgoingFile>,
        stopped: &dyn Fn() -> Option<ToolError>,
    ) -> Result<SentMessage, UnsentMessage> {
        let cancel = self.executor.stop.child_token();
        let may_go_out = Cell::new(false);
        let sent = self.runtime.block_on(async {
            let delivered = self.deliver(of, message, files, (&cancel, &may_go_out));
            tokio::pin!(delivered);
            loop {
                tokio::select! {
                    sent = &mut delivered => return sent,
                    () = tokio::time::sleep(LOOK) => if let Some(why) = stopped() {
                        return Err(why);
                    }
                }
            }
        });
        sent.map_err(|error| UnsentMessage { error, may_go_out: may_go_out.get() })
    }

    fn begin(&self, of: &CallFacts, summary: Option<String>) -> Result<String, ToolError> {
        self.runtime.block_on(async {
            let asking = self.asking_turn()?;
            self.may_write()?;
            if summary.as_ref().is_some_and(|summary| summary.len() > SUMMARY_BYTES_MAX) {
                return Err(invalid(format!(
                    "\"summary\" has at most {SUMMARY_BYTES_MAX} bytes; shorten it"
                )));
            }
            let store = &self.executor.store;
            let run = format!("{WORKFLOW}-{}", &sha256_hex(of.call.as_str().as_bytes())[..20]);
            if store.load_run(&run).await.map_err(lost_problem)?.is_some() {
                return Ok(run);
            }
            let new = new_run(run.clone(), asking, summary, self.is_served(&asking.by));
            self.note(&new, WorkflowState::Started, Some(&asking.by))?;
            if !store
                .begin_turn_run(new.clone(), asking.turn.clone(), self.executor.max_open)
                .await
                .map_err(lost_problem)?
            {
                self.note(&new, WorkflowState::Failed, None)?;
                let message = format!(
                    "{} runs of workflows are open ([workflows] max_open); try again when one has ended",
                    self.executor.max_open
                );
                return Err(ToolError::new(ErrorCode::QuotaExceeded, message));
            }
            Ok(run)
        })
    }

    fn wait(
        &self,
        of: &CallFacts,
        workflow: &str,
        message: &str,
        timeout: Option<Duration>,
    ) -> Result<(), ToolError> {
        self.runtime.block_on(async {
            let run = self.own_run(workflow).await?;
            let age = u64::try_from(now_ms() - run.began_at).unwrap_or(0);
            let left = self.executor.deadline.0.saturating_sub(Duration::from_millis(age));
            // No run takes longer than that, so nobody waits for what would end it.
            let patience = timeout.unwrap_or(left).min(left);
            let new = NewTurnWait {
                run: run.new.run.clone(),
                id: name_of("wait", of, &[message]),
                message: message.to_owned(),
                patience: i64::try_from(patience.as_millis()).unwrap_or(i64::MAX),
            };
            let refused = |said: &str| Err(ToolError::new(ErrorCode::NotFound, said));
            match self.executor.store.wait_in_turn(new, now_ms()).await.map_err(lost_problem)? {
                TurnWaited::Begun => self.note(&run.new, WorkflowState::Waiting, None),
                TurnWaited::Again => Ok(()),
                TurnWaited::Ended => Err(ended_problem()),
                TurnWaited::NoMessage => refused(
                    "this workflow has sent no such message; give the messageId that workflow_task_create returned",
                ),
                TurnWaited::Over => {
                    refused("what came of this message was told already; send another one to ask further")
                }
            }
        })
    }
}

impl TurnMessaging {
    /// Refuses the one who is answered in an open group alone: nobody is written to for them.
    fn may_write(&self) -> Result<(), ToolError> {
        let (Some(asking), Some(people)) = (&self.asking, &self.executor.people) else { return Ok(()) };
        match people.messenger(&asking.by.channel) {
            Some(messenger) if messenger.served(&asking.by.sender) != Served::Yes => {
                let by = asking.by.to_string();
                let said = format!(
                    "{} is not served in private, so nobody is written to for them",
                    one_line(&by, 80)
                );
                Err(ToolError::new(ErrorCode::RecipientDenied, said))
            }
            _ => Ok(()),
        }
    }

    /// Sends a message, once, and waits until it is out. `may_go_out` is set while it may go out
    /// also where nobody waits for it any more.
    async fn deliver(
        &self,
        of: &CallFacts,
        message: DirectMessage,
        files: Vec<OutgoingFile>,
        (cancel, may_go_out): (&CancellationToken, &Cell<bool>),
    ) -> Result<SentMessage, ToolError> {
        let DirectMessage { to, text: given, workflow, .. } = message;
        // Who calls may have read a secret somewhere; what is written is for others.
        let text = redact(&given).into_owned();
        check_message(&text, files.len())?;
        let executor = &self.executor;
        let to = person(&to)?;
        let run = match &workflow {
            Some(run) => Some(self.own_run(run).await?),
            None => None,
        };
        // Of what was given: a call that runs again may know other secrets, and writes once.
        let id = name_message(of, (&to, &given), &files);
        let turn = match &run {
            Some(run) => TurnId::new(format!("{}/{id}", run.new.run)),
            None => TurnId::new(format!("{}/{id}", of.call)),
        };
        let state = executor.store.load_send_state(&turn).await.map_err(lost_problem)?;
        may_go_out.set(matches!(state, SendState::NotYet | SendState::Out(_)));
        let messenger = executor.messenger(&to, cancel).await?;
        self.may_write()?;
        let private = retry_reach(|| messenger.open(&to.sender), cancel).await?;
        if state == SendState::Unknown {
            let taken = executor.hold_files(files, &turn)?;
            let files = taken.attachments();
            executor.warden.note_message(audit::MessageRecord {
                facts: of.clone(),
                to: to.to_string(),
                text_sha256: sha256_hex(text.as_bytes()),
                files: taken.effects(),
                run: run.as_ref().map(|run| run.new.run.clone()),
            })?;
            let response = OutgoingResponse { attachments: files.clone(), ..OutgoingResponse::text(text) };
            let reply = NewReply { target: private.target, parts: messenger.parts(response) };
            taken.keep();
            let (channel, place) = (messenger.channel(), private.place);
            let held = (executor.warden.outgoing().clone(), turn.clone());
            let asked = (executor.store.clone(), executor.stop.clone());
            let (store, turn, id) = (executor.store.clone(), turn.clone(), id.clone());
            let begun = run.as_ref().map(|run| (run.new.run.clone(), to.sender.clone()));
            let is_of_run = begun.is_some();
            let keep = async move {
                let texts = texts(&reply);
                let telling = NewTelling { turn, reply, files, place };
                let Some((run, recipient)) = begun else { return store.tell_noting(&channel, telling).await };
                let (task, is_awaited) = (0, true);
                let new = NewMessage { run, task, channel, recipient, texts, is_awaited, telling };
                store.keep_turn_message(&id, new).await
            };
            may_go_out.set(true);
            let kept = keep_and_send(messenger, held, asked, keep).await;
            may_go_out.set(matches!(kept, Ok(true) | Err(StoreError::Unknown(..))));
            if !kept.map_err(lost_problem)? && is_of_run {
                return Err(ended_problem());
            }
            may_go_out.set(true);
        }
        let sent = await_sent(&executor.store, &turn, (to.channel, private.chat), cancel).await;
        may_go_out.set(sent.as_ref().err().is_none_or(|error| error.code != ErrorCode::SendFailed));
        if let Some(run) = &run {
            self.note_task(run, &id, &sent).await?;
        }
        sent
    }

    /// Keeps what became of the message of a run.
    async fn note_task(
        &self,
        run: &KeptRun,
        id: &str,
        sent: &Result<SentMessage, ToolError>,
    ) -> Result<(), ToolError> {
        let ended = match sent {
            Ok(sent) => Ok(json!(sent).to_string()),
            Err(problem) if problem.code == ErrorCode::SendFailed => Err(failed_end(problem, Some(id))),
            Err(_) => return Ok(()),
        };
        self.executor.store.end_turn_task(&run.new.run, id, ended).await.map_err(lost_problem)
    }

    /// The turn that asks, where it can be gone on with.
    fn asking_turn(&self) -> Result<&CallingTurn, ToolError> {
        let refused = |said: &str| ToolError::new(ErrorCode::ToolUnavailable, said);
        match &self.asking {
            None => {
                Err(refused("a task of a workflow's file begins no workflow; the file has `send` and `wait`"))
            }
            Some(asking) if !asking.is_unlimited => {
                Err(refused("here only tools of some profiles may be called, and no workflow is begun"))
            }
            Some(asking) => Ok(asking),
        }
    }

    /// A run of this very person in this very conversation.
    async fn own_run(&self, run: &str) -> Result<KeptRun, ToolError> {
        let asking = self.asking_turn()?;
        let kept = self.executor.store.load_run(run).await.map_err(lost_problem)?;
        let is_own = |kept: &KeptRun| {
            let began = BeganInTurn::from_kept(kept).ok();
            kept.new.owner == RunOwner::Turn
                && kept.new.by == asking.by
                && began.is_some_and(|began| began.begun.trigger["session"] == asking.session.as_str())
        };
        let said = "there is no such workflow of this conversation; begin one with workflow_create";
        kept.filter(is_own).ok_or_else(|| ToolError::new(ErrorCode::NotFound, said))
    }

    fn is_served(&self, by: &Caller) -> bool {
        let people = self.executor.people.as_ref();
        let messenger = people.and_then(|people| people.messenger(&by.channel));
        messenger.is_some_and(|messenger| messenger.served(&by.sender) == Served::Yes)
    }

    fn note(&self, new: &NewRun, state: WorkflowState, by: Option<&Caller>) -> Result<(), ToolError> {
        self.executor.warden.note_workflow(event(new, state, by))
    }
}

/// Refuses a message with so many files that says nothing, or too much.
pub(super) fn check_message(text: &str, files: usize) -> Result<(), ToolError> {
    if text.trim().is_empty() && files == 0 {
        return Err(invalid("the message is empty; give it a text"));
    }
    if text.len() > MESSAGE_TEXT_BYTES_MAX {
        let said =
            format!("a message has at most {MESSAGE_TEXT_BYTES_MAX} bytes of text; send a file instead");
        return Err(ToolError::new(ErrorCode::TooLarge, said));
    }
    Ok(())
}

/// Names what a call does: the same again when it runs again.
fn name_of(what: &str, of: &CallFacts, parts: &[&str]) -> String {
    let all = json!([of.call, of.arguments_sha256, parts]).to_string();
    format!("{what}-{}", &sha256_hex(all.as_bytes())[..12])
}

/// Names a message of a call: the same words with other files are another one.
fn name_message(of: &CallFacts, (to, text): (&Caller, &str), files: &[OutgoingFile]) -> String {
    let to = to.to_string();
    let paths = files.iter().map(|file| match &file.body {
        OutgoingBytes::File { path, .. } => path.as_str(),
        OutgoingBytes::Contents(_) => file.name.as_deref().unwrap_or_default(),
    });
    let parts: Vec<&str> = [to.as_str(), text].into_iter().chain(paths).collect();
    name_of("send", of, &parts)
}

fn person(text: &str) -> Result<Caller, ToolError> {
    Caller::parse(text).ok_or_else(|| recipient_denied(text))
}

fn invalid(said: impl AsRef<str>) -> ToolError {
    ToolError::new(ErrorCode::InvalidArguments, said)
}

fn ended_problem() -> ToolError {
    ToolError::new(ErrorCode::NotFound, "this workflow has ended; begin another one with workflow_create")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> CallFacts {
        let turn = TurnId::new("telegram-1-5");
        CallFacts {
            call: turn.call(0),
            turn,
            session: None,
            caller: ann(),
            own_workspace: false,
            tool: "post_all".to_owned(),
            component_sha256: None,
            policy_sha256: None,
            profile: None,
            arguments: json!({}),
            arguments_sha256: "ab".repeat(32),
        }
    }

    fn ann() -> Caller {
        Caller { channel: "telegram".to_owned(), sender: "1".to_owned() }
    }

    #[test]
    fn a_message_of_a_call_is_named_by_its_words_and_its_files() {
        let file = |name: &str| OutgoingFile {
            body: OutgoingBytes::Contents(Vec::new()),
            name: Some(name.to_owned()),
            mime_type: None,
        };
        let name = |text: &str, names: &[&str]| {
            let files: Vec<OutgoingFile> = names.iter().map(|name| file(name)).collect();
            name_message(&facts(), (&ann(), text), &files)
        };
        let first = name("x", &["1.png"]);
        assert_eq!(first, name("x", &["1.png"]), "a call that runs again writes once");
        let others =
            [name("x", &["2.png"]), name("x", &["1.png", "2.png"]), name("x", &[]), name("y", &["1.png"])];
        for other in others {
            assert_ne!(first, other);
        }
    }
}
