//! Messages of the operator's own: `cofferdam say` has one sent to somebody who is served, as a
//! task of a workflow would. Each is in the audit before anybody sees it, is kept before it is sent
//! and is sent once under its name.

use crate::gateway::attaching::{AttachAnswer, OperatorMessage, SayRequest};
use crate::workflows::{await_sent, keep_and_send, reach_person, retry_reach};
use cofferdam_chat::outbound::FileBundle;
use cofferdam_chat::runs::{PrivateChat, Runs};
use cofferdam_core::audit::{AuditEvent, CallFacts, CallOutcome, Effect, VerdictKind, sha256_hex};
use cofferdam_core::id::{Caller, TurnId};
use cofferdam_core::message::{OutgoingResponse, SentMessage};
use cofferdam_core::text::one_line;
use cofferdam_core::tool::{ErrorCode, ToolError};
use cofferdam_store::{
    self as store, NewReply, NewTelling, PartKind, SendState, Store, StoreError, WeakStore,
};
use cofferdam_warden::attachments::outgoing::{Addition, Outgoing, OutgoingFile};
use cofferdam_warden::audit::{AuditError, AuditLog, Durability};
use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// Messages of the operator's that are waited for at once.
pub const SAYING_MAX: usize = 64;
/// The tool that the audit has.
const COMMAND: &str = "cmd.message.send";

/// Sends messages of the operator's. Clones share it.
#[derive(Clone)]
pub struct MessageSender {
    runs: Runs,
    /// Not held open from here: `serve` closes it when it ends.
    store: WeakStore,
    outgoing: Outgoing,
    audit: Arc<AuditLog>,
    places: Arc<Semaphore>,
    runtime: Handle,
}

impl MessageSender {
    /// What sends to the people of these channels, keeps messages in this store and has the bytes
    /// of their files.
    pub fn new(
        runs: Runs,
        store: &Store,
        (outgoing, audit): (Outgoing, Arc<AuditLog>),
        runtime: Handle,
    ) -> Self {
        let places = Arc::new(Semaphore::new(SAYING_MAX));
        Self { runs, store: store.downgrade(), outgoing, audit, places, runtime }
    }

    /// Sends a message and waits until it is out, at most for as long as was asked.
    ///
    /// # Errors
    /// `recipient_denied`, `too_large`, `send_failed`; `timed_out` for one that is kept and goes
    /// out later.
    pub async fn say(&self, message: OperatorMessage) -> Result<SentMessage, ToolError> {
        let Some(to) = Caller::parse(&message.say.to) else {
            let to = one_line(&message.say.to, 80);
            let said = format!("{to} is no person; write CHANNEL:USER, e.g. telegram:123456789");
            return Err(ToolError::new(ErrorCode::InvalidArguments, said));
        };
        let patience = Duration::from_millis(message.say.patience_ms);
        let until = tokio::time::Instant::now() + patience;
        let turn = name_of(&message.say);
        let cancel = CancellationToken::new();
        let channel = to.channel.clone();
        let mut keeps = false;
        let kept = tokio::time::timeout_at(until, self.keep(message, to, &turn, (&cancel, &mut keeps))).await;
        let store = self.store()?;
        // What may be kept has its bytes.
        if !keeps && !matches!(kept, Ok(Ok(_))) {
            self.sweep(store.clone()).await;
        }
        let Ok(kept) = kept else {
            let patience = patience.as_secs();
            let (code, said) = match keeps {
                false => (
                    ErrorCode::SendFailed,
                    format!("{channel} was not reached within {patience} s; nothing was sent"),
                ),
                true => (
                    ErrorCode::TimedOut,
                    format!("the store has not kept it within {patience} s; it goes out if it does later"),
                ),
            };
            return Err(ToolError::new(code, said));
        };
        let private = kept?;
        let sent = await_sent(&store, &turn, (channel.clone(), private.chat), &cancel);
        tokio::time::timeout_at(until, sent).await.unwrap_or_else(|_| {
            let said = format!(
                "{channel} has not taken it within {} s; it is kept, and goes out as soon as {channel} takes it",
                patience.as_secs()
            );
            Err(ToolError::new(ErrorCode::TimedOut, said))
        })
    }

    fn store(&self) -> Result<Store, ToolError> {
        self.store.upgrade().ok_or_else(|| {
            ToolError::new(ErrorCode::ToolUnavailable, "the gateway is ending; send it after its next start")
        })
    }

    /// Keeps a message and has it sent, unless it is kept; where it goes. `keeps` is set once nobody
    /// can say any more that it is not kept.
    async fn keep(
        &self,
        message: OperatorMessage,
        to: Caller,
        turn: &TurnId,
        (cancel, keeps): (&CancellationToken, &mut bool),
    ) -> Result<PrivateChat, ToolError> {
        let began = Instant::now();
        let messenger = match reach_person(&self.runs, &to, cancel).await {
            Ok(messenger) => messenger,
            Err(error) => {
                self.note(&message, turn, began, Err(&error))?;
                return Err(error);
            }
        };
        let private = retry_reach(|| messenger.open(&to.sender), cancel).await?;
        let store = self.store()?;
        if store.load_send_state(turn).await.map_err(|error| delivery_lost(&error))? != SendState::Unknown {
            return Ok(private);
        }
        let OperatorMessage { say, text, files, by } = message;
        let addition = self.take(files, turn).await?;
        let attachments = addition.attachments();
        let text = Some(text).filter(|text| !text.is_empty());
        let response = OutgoingResponse { text, voice: None, markdown_from: None, attachments };
        let parts = messenger.parts(response.clone());
        let mut planned = parts.iter().filter(|part| part.kind == PartKind::Attachment);
        if let Some(why) = planned.find_map(|part| FileBundle::read(&part.body)?.refused) {
            let said = format!("a file is too large to be sent: {why}");
            return Err(ToolError::new(ErrorCode::TooLarge, said));
        }
        let text = response.text.unwrap_or_default();
        let message = OperatorMessage { say, text, files: Vec::new(), by };
        self.note(&message, turn, began, Ok(addition.effects()))?;
        let reply = NewReply { target: private.target.clone(), parts };
        let telling = NewTelling {
            turn: turn.clone(),
            reply,
            files: response.attachments,
            place: private.place.clone(),
        };
        let channel = messenger.channel();
        let asked = (store.clone(), cancel.clone());
        let keep = async move {
            let told = store.tell_noting(&channel, telling).await;
            if matches!(told, Ok(_) | Err(StoreError::Unknown { .. })) {
                addition.keep();
            }
            told
        };
        *keeps = true;
        let held = (self.outgoing.clone(), turn.clone());
        keep_and_send(messenger, held, asked, keep).await.map_err(|error| delivery_lost(&error))?;
        Ok(private)
    }

    /// The files of a message, held until it is kept.
    async fn take(&self, files: Vec<OutgoingFile>, turn: &TurnId) -> Result<Addition, ToolError> {
        let mut addition = self.outgoing.addition(turn);
        if files.is_empty() {
            return Ok(addition);
        }
        let taking = tokio::task::spawn_blocking(move || {
            addition.take(files, &|| Ok(()))?;
            Ok(addition)
        });
        taking.await.unwrap_or_else(|error| Err(ToolError::new(ErrorCode::Internal, error.to_string())))
    }

    /// Removes the bytes of a message that is not sent.
    async fn sweep(&self, store: Store) {
        let outgoing = self.outgoing.clone();
        let sweep = move || outgoing.sweep(store::now(), || store.blobs_in_use());
        let swept = tokio::task::spawn_blocking(sweep).await;
        if let Ok(Err(error)) = swept {
            tracing::warn!(%error, "the bytes of a message that is not sent stay for now");
        }
    }

    /// Writes down what became of a message before it is sent: its files, or why it is refused. The
    /// audit has the words by length and SHA-256 alone. What cannot be written down does not
    /// happen.
    fn note(
        &self,
        message: &OperatorMessage,
        turn: &TurnId,
        began: Instant,
        files: Result<Vec<Effect>, &ToolError>,
    ) -> Result<(), ToolError> {
        let OperatorMessage { say, text, by, .. } = message;
        let words = json!({ "bytes": text.len(), "sha256": sha256_hex(text.as_bytes()) });
        let arguments = json!({ "to": one_line(&say.to, 80), "text": words, "key": say.key });
        let refused = files.as_ref().err();
        let outcome = AuditEvent::Outcome(CallOutcome {
            facts: CallFacts::new(turn.call(0), turn.clone(), by.clone(), COMMAND, arguments),
            verdict: if refused.is_some() { VerdictKind::Deny } else { VerdictKind::Permit },
            reason: refused.map(|error| error.message.clone()),
            code: refused.map(|error| error.code),
            files: files.unwrap_or_default().into_iter().map(Effect::without_path).collect(),
            intent: None,
            reconciled: false,
            settled_by: None,
            duration_us: u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX),
        });
        let unwritten =
            |error: AuditError| ToolError::new(ErrorCode::Internal, format!("the audit: {error}"));
        self.audit.append(outcome, Durability::Synced).map(drop).map_err(unwritten)
    }

    /// Has a message sent, and answers once it is out or will not be. Returns at once.
    pub fn speak(&self, message: OperatorMessage, answer: Box<dyn FnOnce(AttachAnswer) + Send>) {
        let Ok(place) = self.places.clone().try_acquire_owned() else {
            let said = format!("{SAYING_MAX} messages are on their way already; send it again later");
            return answer(AttachAnswer::Refused { error: ToolError::new(ErrorCode::QuotaExceeded, said) });
        };
        let this = self.clone();
        self.runtime.spawn(async move {
            let said = this.say(message).await;
            let answered = match said {
                Ok(said) => AttachAnswer::Said(said),
                Err(error) => AttachAnswer::Refused { error },
            };
            drop(place);
            // It writes to anyone who waits, who may be slow.
            drop(tokio::task::spawn_blocking(move || answer(answered)));
        });
    }
}

fn delivery_lost(error: &StoreError) -> ToolError {
    ToolError::new(ErrorCode::WriteFailed, format!("the message is not kept: {error}"))
}

/// Names a message for ever: one that is sent again under its key is the same one.
fn name_of(say: &SayRequest) -> TurnId {
    let name = match &say.key {
        Some(key) => sha256_hex(json!([say.to, key]).to_string().as_bytes())[..32].to_owned(),
        None => crate::unique(),
    };
    TurnId::new(format!("say-{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use cofferdam_core::id::Caller;

    #[test]
    fn a_key_names_one_message_to_one_person() {
        let say = |to: &str, key: Option<&str>| {
            name_of(&SayRequest { to: to.into(), text_bytes: 1, key: key.map(str::to_owned), patience_ms: 1 })
        };
        assert_eq!(say("telegram:1", Some("a")), say("telegram:1", Some("a")));
        assert_ne!(say("telegram:1", Some("a")), say("telegram:1", Some("b")));
        assert_ne!(say("telegram:1", Some("a")), say("telegram:2", Some("a")));
        assert_ne!(say("telegram:1", None), say("telegram:1", None));
    }

    #[tokio::test]
    async fn so_many_messages_are_waited_for_at_once() {
        let dir = tempfile::tempdir().expect("a folder");
        let store = Store::open(dir.path()).expect("opened");
        let config = cofferdam_warden::audit::Config::default();
        let audit = AuditLog::open_with(&dir.path().join("audit.jsonl"), &config).expect("opened");
        let outgoing =
            Outgoing::open_beside(&dir.path().join("outgoing"), Default::default()).expect("opened");
        // A channel that is configured and not up: each waits for it.
        let (runs, parts) = (Runs::default(), (outgoing, Arc::new(audit)));
        let saying = MessageSender::new(runs, &store, parts, Handle::current());
        let (tell, told) = std::sync::mpsc::channel();
        for _ in 0..=SAYING_MAX {
            let say =
                SayRequest { to: "telegram:1".into(), text_bytes: 1, key: None, patience_ms: 3_600_000 };
            let by = Caller { channel: "cli".into(), sender: "1".into() };
            let tell = tell.clone();
            let message = OperatorMessage { say, text: "x".into(), files: Vec::new(), by };
            saying.speak(message, Box::new(move |answer| tell.send(answer).expect("heard")));
        }
        let answer = told.try_recv().expect("one more than wait is refused at once");
        let AttachAnswer::Refused { error } = answer else { panic!("{answer:?}") };
        assert_eq!((error.code, told.try_recv().is_err()), (ErrorCode::QuotaExceeded, true));
    }
}
