//! Tasks that write to people: messages, and the replies to them. Each step is kept before the
//! next, so that each happens once however often the process is killed.

use super::{ExecuteError, Executor, PreparedRun, TaskProblem, TaskResult, WorkflowState};
use super::{about, turn_of, unrendered};
use crate::workflows::in_turn::check_message;
use cofferdam_chat::runs::{Messenger, Runs, SendError};
use cofferdam_core::audit::{Workflow, sha256_hex};
use cofferdam_core::id::{Caller, TurnId};
use cofferdam_core::message::{OutgoingAttachment, OutgoingResponse, SentMessage};
use cofferdam_core::path::GuestPath;
use cofferdam_core::secret::redact;
use cofferdam_core::text::one_line;
use cofferdam_core::tool::{ErrorCode, ToolError};
use cofferdam_store::{NewMessage, NewReply, NewTelling, NewWait, SendState, Store, StoreError, StoredReply};
use cofferdam_store::{WaitState, now_ms, part_letters};
use cofferdam_warden::attachments::outgoing::{Addition, Outgoing, OutgoingBytes, OutgoingFile};
use cofferdam_workflow::{PlannedWork, SendWork, WaitWork};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// After this it is looked whether a message is out; each further pause is twice as long, up to
/// [`AGAIN`], since each look is a change of the store.
const LOOK: Duration = Duration::from_millis(100);
/// How often somebody is tried who cannot be written to at the moment.
pub(super) const AGAIN: Duration = Duration::from_secs(1);

/// Said of people whom nobody serves.
const CLOSED: &str = "is nobody whom this gateway serves; it writes to people of allowed_users, or let in by `cofferdam allow`";

/// To somebody whom nobody serves.
pub(in crate::workflows) fn recipient_denied(to: &str) -> ToolError {
    ToolError::new(ErrorCode::RecipientDenied, format!("{} {CLOSED}", one_line(to, 80)))
}

/// Who reaches a person; waits for a channel that is not up yet, or that does not know now whom it
/// serves.
///
/// # Errors
/// `recipient_denied` for somebody who is not served.
pub async fn reach_person(
    runs: &Runs,
    person: &Caller,
    cancel: &CancellationToken,
) -> Result<Arc<dyn Messenger>, ToolError> {
    if !runs.may_come_up(&person.channel) {
        return Err(recipient_denied(&person.to_string()));
    }
    let messenger = cancel.run_until_cancelled(runs.await_messenger(&person.channel)).await;
    let messenger = messenger.ok_or_else(ToolError::cancelled)?;
    let is_served = cancel.run_until_cancelled(messenger.await_served(&person.sender)).await;
    match is_served.ok_or_else(ToolError::cancelled)? {
        true => Ok(messenger),
        false => Err(recipient_denied(&person.to_string())),
    }
}

/// Keeps the message of a turn, and has it sent unless that was done; whether it had to be. Both
/// also where nobody waits for it any more: nobody else of this process sends what is kept.
///
/// # Errors
/// [`StoreError::Unknown`] only where `stop` came before the store could say what became of it.
pub async fn keep_and_send<K>(
    messenger: Arc<dyn Messenger>,
    (outgoing, turn): (Outgoing, TurnId),
    (store, stop): (Store, CancellationToken),
    keep: K,
) -> Result<bool, StoreError>
where
    K: Future<Output = Result<Option<StoredReply>, StoreError>> + Send + 'static,
{
    let sent = tokio::spawn(async move {
        let kept = match keep.await {
            Err(StoreError::Unknown(server, why)) => {
                find_kept(&store, &turn, (server, why), &stop).await.map(Some)
            }
            kept => kept,
        };
        // From here on the store says which bytes are needed.
        outgoing.release(&turn);
        let Some(message) = kept? else { return Ok(false) };
        messenger.send(message).await;
        Ok(true)
    });
    sent.await.unwrap_or_else(|error| Err(StoreError::Engine(Box::new(error))))
}

/// A message of which nobody knows whether it is kept, once the store answers.
///
/// # Errors
/// [`StoreError::Lost`] where it is not kept; [`StoreError::Unknown`] where `stop` came before.
async fn find_kept(
    store: &Store,
    turn: &TurnId,
    (server, why): (String, String),
    stop: &CancellationToken,
) -> Result<StoredReply, StoreError> {
    loop {
        match store.load_unsent(turn).await {
            Ok(Some(message)) => return Ok(message),
            Ok(None) => return Err(StoreError::Lost(server, why)),
            Err(error) => tracing::debug!(%error, "whether a message is kept cannot be looked up"),
        }
        if stop.run_until_cancelled(tokio::time::sleep(AGAIN)).await.is_none() {
            return Err(StoreError::Unknown(server, why));
        }
    }
}

/// A stored message in this chat of a channel, once it is out. A store that is away is looked at
/// again: the message goes out meanwhile, and also where nobody waits for it any more.
///
/// # Errors
/// `send_failed` with what the platform said; `cancelled`.
pub async fn await_sent(
    store: &Store,
    turn: &TurnId,
    (channel, channel_id): (String, String),
    cancel: &CancellationToken,
) -> Result<SentMessage, ToolError> {
    let mut pause = LOOK;
    loop {
        match store.load_send_state(turn).await {
            Ok(SendState::Out(ids)) => {
                let message_id = ids.into_iter().next().unwrap_or_default();
                return Ok(SentMessage { channel, channel_id, message_id });
            }
            Ok(SendState::Failed(why)) => {
                return Err(ToolError::new(ErrorCode::SendFailed, one_line(&why, 500)));
            }
            Ok(SendState::NotYet | SendState::Unknown) => {}
            Err(error) => tracing::debug!(%error, "whether a message is out cannot be looked up"),
        }
        if cancel.run_until_cancelled(tokio::time::sleep(pause)).await.is_none() {
            let said = "the turn was cancelled; the message is kept, and goes out all the same";
            return Err(ToolError::new(ErrorCode::Cancelled, said));
        }
        pause = (pause * 2).min(AGAIN);
    }
}

impl Executor {
    pub(in crate::workflows) async fn messenger(
        &self,
        person: &Caller,
        cancel: &CancellationToken,
    ) -> Result<Arc<dyn Messenger>, ToolError> {
        let people = self.people.as_ref().ok_or_else(|| recipient_denied(&person.to_string()))?;
        reach_person(people, person, cancel).await
    }

    /// Sends the message of a task, once, and waits until it is out.
    pub(super) async fn send(
        &self,
        run: &PreparedRun,
        n: usize,
        work: &SendWork,
        outputs: &Map<String, Value>,
        cancel: &CancellationToken,
    ) -> Result<Value, TaskProblem> {
        let mut ready = run.plan.message(work, outputs).map_err(|error| unrendered(run, error))?;
        // What was put in may hold a secret; what is written is for others.
        ready.text = redact(&ready.text).into_owned();
        check_message(&ready.text, ready.files.len())?;
        let messenger = self.messenger(&ready.to, cancel).await?;
        let turn = turn_of(run, n);
        let private = retry_reach(|| messenger.open(&ready.to.sender), cancel).await?;
        if self.store.load_send_state(&turn).await? == SendState::Unknown {
            let addition = self.hold_files(self.open_files(run, &ready.files)?, &turn)?;
            let files = addition.attachments();
            let response =
                OutgoingResponse { attachments: files.clone(), ..OutgoingResponse::text(ready.text.clone()) };
            let reply = NewReply { target: private.target, parts: messenger.parts(response) };
            let event = Workflow {
                task: Some(run.plan.task_id(n).to_owned()),
                to: Some(ready.to.to_string()),
                text_sha256: Some(sha256_hex(ready.text.as_bytes())),
                ..about(run)
            };
            self.warden.note_workflow(event)?;
            addition.keep();
            let new = NewMessage {
                run: run.id.clone(),
                task: n,
                channel: messenger.channel(),
                recipient: ready.to.sender.clone(),
                texts: texts(&reply),
                is_awaited: is_awaited(run, n, n),
                telling: NewTelling { turn: turn.clone(), reply, files, place: private.place },
            };
            let held = (self.warden.outgoing().clone(), turn.clone());
            let (store, asked) = (self.store.clone(), (self.store.clone(), self.stop.clone()));
            let keep = async move { store.keep_message(new).await };
            if !keep_and_send(messenger, held, asked, keep).await? {
                // The run has ended.
                return Err(ToolError::cancelled().into());
            }
        }
        let sent = await_sent(&self.store, &turn, (ready.to.channel, private.chat), cancel).await?;
        Ok(json!(sent))
    }

    /// The files of a message, held until it is kept.
    pub(in crate::workflows) fn hold_files(
        &self,
        files: Vec<OutgoingFile>,
        turn: &TurnId,
    ) -> Result<Addition, ToolError> {
        let mut addition = self.warden.outgoing().addition(turn);
        if !files.is_empty() {
            let _: Vec<OutgoingAttachment> = addition.take(files, &|| Ok(()))?;
        }
        Ok(addition)
    }

    /// The files that a task sends.
    fn open_files(&self, run: &PreparedRun, paths: &[String]) -> Result<Vec<OutgoingFile>, ToolError> {
        let place = self.place(run);
        let open = |path: &String| {
            let denied = |why: String| ToolError::new(ErrorCode::PathDenied, one_line(&why, 500));
            let guest = GuestPath::parse(path).map_err(|error| denied(error.to_string()))?;
            if !matches!(guest.mount(), "/shared" | "/tmp") {
                return Err(denied(format!("{path}: a message takes files of /shared and /tmp")));
            }
            let (file, len) = self.warden.open_file(&place, &guest)?;
            let body = OutgoingBytes::File { path: path.clone(), file, len };
            Ok(OutgoingFile { body, name: None, mime_type: None })
        };
        paths.iter().map(open).collect()
    }

    /// How the wait of a task stands; begins it.
    pub(super) async fn wait(
        &self,
        run: &PreparedRun,
        n: usize,
        work: &WaitWork,
        outputs: &Map<String, Value>,
    ) -> Result<TaskResult, ExecuteError> {
        let ready = run.plan.wait(work, outputs);
        let sent = match &run.plan.tasks[work.reply_to] {
            PlannedWork::Send(send) => run.plan.message(send, outputs),
            // The file was refused.
            _ => return self.end(run, n, Err(ToolError::cancelled())).await,
        };
        let (ready, sent) = match ready.and_then(|ready| Ok((ready, sent?))) {
            Ok(both) => both,
            Err(error) => return self.end(run, n, Err(unrendered(run, error))).await,
        };
        let from = sent.to.to_string();
        let patience = i64::try_from(ready.timeout.0.as_millis()).unwrap_or(i64::MAX);
        let (id, of) = (run.id.clone(), Some(work.reply_to));
        let is_awaited_later = is_awaited(run, work.reply_to, n);
        let new = NewWait { run: id, task: n, of, from: from.clone(), patience, is_awaited_later };
        match self.store.wait(new, now_ms()).await? {
            WaitState::Open { begins, .. } => {
                if begins {
                    self.note(run, WorkflowState::Waiting, None)?;
                }
                Ok(TaskResult::Waits)
            }
            WaitState::Replied(reply) => {
                self.note(run, WorkflowState::Resumed, Some(&sent.to))?;
                self.end(run, n, Ok(serde_json::from_str(&reply).unwrap_or_default())).await
            }
            WaitState::TimedOut => match ready.otherwise {
                Some(text) => {
                    self.note(run, WorkflowState::Resumed, None)?;
                    self.end(run, n, Ok(json!({ "text": text }))).await
                }
                None => {
                    let message = format!("{from} did not reply within {}", ready.timeout);
                    self.end(run, n, Err(ToolError::new(ErrorCode::TimedOut, message))).await
                }
            },
        }
    }
}

/// What becomes of a task whose store fails: people do not read where that is.
pub(in crate::workflows) fn lost_problem(error: StoreError) -> ToolError {
    ToolError::new(ErrorCode::Internal, one_line(&error.for_people(), 500))
}

/// Tries to reach somebody for as long as time may heal what fails.
///
/// # Errors
/// `send_failed` where it never will.
pub async fn retry_reach<T, F>(
    mut attempt: impl FnMut() -> F,
    cancel: &CancellationToken,
) -> Result<T, ToolError>
where
    F: Future<Output = Result<T, SendError>>,
{
    loop {
        match attempt().await {
            Ok(reached) => return Ok(reached),
            Err(error @ (SendError::Refused(_) | SendError::Gone(_))) => {
                return Err(ToolError::new(ErrorCode::SendFailed, one_line(&error.to_string(), 500)));
            }
            Err(error) => tracing::debug!(why = %error, "a person is tried again"),
        }
        let slept = cancel.run_until_cancelled(tokio::time::sleep(AGAIN)).await;
        slept.ok_or_else(ToolError::cancelled)?;
    }
}

/// What the parts of a message say, for who replies before their ids are noted.
pub(in crate::workflows) fn texts(reply: &NewReply) -> Vec<String> {
    reply.parts.iter().map(|part| part_letters(&part.body)).collect()
}

/// Whether a task behind this one waits for the reply to the message of task `of`.
fn is_awaited(run: &PreparedRun, of: usize, n: usize) -> bool {
    run.plan.tasks[n + 1..].iter().any(|work| matches!(work, PlannedWork::Wait(w) if w.reply_to == of))
}

#[cfg(test)]
mod tests;
