//! What runs of workflows need of channels, and channels of them: messages to people and questions
//! to them, on any channel; commands that begin runs.

pub use crate::handler::ResumedTurn;
pub use crate::people::Served;
pub use crate::send_error::SendError;
pub use crate::session_queue::RunningTurn;

use crate::handler::{CurrentChannel, PlatformChannel, fetch_files, hand_on, incoming};
use crate::outbound::plan;
use crate::session_queue::Arrival;
use async_trait::async_trait;
use cofferdam_agent::tools::Approver;
use cofferdam_core::id::{Caller, SessionId, TurnId};
use cofferdam_core::lock::lock;
use cofferdam_core::message::OutgoingResponse;
use cofferdam_store::{AnswerTo, NewPart, ReplyPlace, StoredReply, WaitReply};
use cofferdam_warden::attachments::{Attachments, SentFile};
use cofferdam_warden::messaging::Messaging;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::mpsc;

/// How often a channel is looked for that is not up yet.
const NOT_UP: Duration = Duration::from_millis(100);

/// Reaches the people of one channel.
#[async_trait]
pub trait Messenger: Send + Sync {
    /// What is this channel's in the store.
    fn channel(&self) -> String;

    /// Whether somebody is served in private.
    fn served(&self, person: &str) -> Served;

    /// The same, once it is known.
    async fn await_served(&self, person: &str) -> bool {
        Served::await_known(|| self.served(person)).await
    }

    /// Whether somebody is served where they were to be answered, in private or in a group; nobody
    /// is where that place is unreadable.
    fn served_at(&self, target: &str, person: &str) -> Served;

    /// Where somebody is written to in private.
    ///
    /// # Errors
    /// [`SendError`].
    async fn open(&self, person: &str) -> Result<PrivateChat, SendError>;

    /// Fetches files that somebody has sent on this channel, as [`wait_reply`] has them.
    async fn fetch(&self, files: &str) -> Attachments;

    /// A message is in the inbox that no platform has brought: has it worked on.
    async fn arrive(&self);

    /// The messages that a response becomes.
    fn parts(&self, said: OutgoingResponse) -> Vec<NewPart>;

    /// Has a stored message sent, once, beside what is under way where it is said.
    async fn send(&self, message: StoredReply);

    /// Has a stored answer sent, once, behind what is said there before it.
    async fn answer(&self, reply: StoredReply);

    /// Asks somebody in private, who alone decides, for so long once it is shown to them.
    ///
    /// # Errors
    /// [`SendError`].
    async fn approver(&self, person: &str, patience: Duration) -> Result<Arc<dyn Approver>, SendError>;

    /// Asks below the message that is answered there, as its turn would; none where that place is
    /// unreadable.
    fn approver_below(&self, target: &str, asker: &str) -> Option<Arc<dyn Approver>>;
}

/// Somebody's private chat.
#[derive(Clone, Debug)]
pub struct PrivateChat {
    /// To be kept, in the channel's own words.
    pub target: String,
    /// The platform's id of the chat.
    pub chat: String,
    /// What is to be noted so that nothing is missed there, where a channel needs that.
    pub place: Option<ReplyPlace>,
}

/// Begins runs for messages.
#[async_trait]
pub trait RunStarter: Send + Sync {
    /// Whether a message is a command of a workflow.
    fn is_command(&self, text: &str) -> bool;

    /// Begins its run, or goes on with it; the answer once the run has ended or waits. `None`: the
    /// program stops, and the turn is run again. `files` are the names of those that came with the
    /// message. Who stops `turn` ends the run.
    async fn run(
        &self,
        asking: &CallingTurn,
        text: &str,
        files: &[String],
        turn: &RunningTurn,
    ) -> Option<OutgoingResponse>;

    /// Writes to people for the calls of a turn.
    fn messaging(&self, asking: CallingTurn) -> Arc<dyn Messaging>;
}

/// A turn that may begin a run, and whose calls may write to people.
#[derive(Clone, Debug)]
pub struct CallingTurn {
    /// The turn.
    pub turn: TurnId,
    /// The request that it answers: its own, or the one that it goes on with.
    pub request: TurnId,
    /// Its session.
    pub session: SessionId,
    /// Whom it is for.
    pub by: Caller,
    /// Where the request is answered.
    pub answer_to: AnswerTo,
    /// Whether all tools may be called from there.
    pub is_unlimited: bool,
}

/// Where channels and runs find each other. Clones share it.
#[derive(Clone, Default)]
pub struct Runs(Arc<Mutex<ReachableChannels>>);

#[derive(Default)]
struct ReachableChannels {
    /// Those that come up; absent where nobody has said which.
    configured: Option<Vec<&'static str>>,
    messengers: BTreeMap<&'static str, Arc<dyn Messenger>>,
    starter: Option<Arc<dyn RunStarter>>,
}

impl Runs {
    /// With these channels and no other one.
    pub fn with_channels(channels: Vec<&'static str>) -> Self {
        let known = ReachableChannels { configured: Some(channels), ..ReachableChannels::default() };
        Self(Arc::new(Mutex::new(known)))
    }

    /// Who reaches the people of a channel; none while it is not up.
    pub fn messenger(&self, channel: &str) -> Option<Arc<dyn Messenger>> {
        lock(&self.0).messengers.get(channel).cloned()
    }

    /// Who reaches the people of a channel, once it is up.
    pub async fn await_messenger(&self, channel: &str) -> Arc<dyn Messenger> {
        loop {
            if let Some(messenger) = self.messenger(channel) {
                return messenger;
            }
            tokio::time::sleep(NOT_UP).await;
        }
    }

    /// The same; none where the channel is not up, and never comes up as it is not configured.
    pub async fn find_messenger(&self, channel: &str) -> Option<Arc<dyn Messenger>> {
        match self.may_come_up(channel) {
            true => Some(self.await_messenger(channel).await),
            false => self.messenger(channel),
        }
    }

    /// Whether a channel is one of those that come up.
    pub fn may_come_up(&self, channel: &str) -> bool {
        let known = lock(&self.0);
        known.configured.as_ref().is_none_or(|all| all.contains(&channel))
    }

    /// Has messages begin runs.
    pub fn begin_with(&self, starter: Arc<dyn RunStarter>) {
        lock(&self.0).starter = Some(starter);
    }

    /// Lets go of channels and of what begins runs: they hold this, and with the last of them the
    /// store is closed. Which channels come up stays known: people of another one are refused as
    /// before.
    pub fn close(&self) {
        let mut known = lock(&self.0);
        let left = (std::mem::take(&mut known.messengers), known.starter.take());
        drop(known);
        // Unlocked: what ends may look here.
        drop(left);
    }

    /// Writes to people for the calls of a turn; none where nobody does.
    pub(crate) fn messaging(&self, asking: CallingTurn) -> Option<Arc<dyn Messaging>> {
        let starter = lock(&self.0).starter.clone()?;
        Some(starter.messaging(asking))
    }

    /// Who begins a run for this message, if it is for one.
    pub(crate) fn starter(&self, text: &str) -> Option<Arc<dyn RunStarter>> {
        let starter = lock(&self.0).starter.clone();
        starter.filter(|starter| starter.is_command(text))
    }

    /// The channel is up, and sends what it is handed.
    pub(crate) fn is_up<C: PlatformChannel>(
        &self,
        channels: CurrentChannel<C>,
        arrivals: mpsc::Sender<Arrival>,
    ) {
        lock(&self.0).messengers.insert(C::NAME, Arc::new(ReachableChannel { channels, arrivals }));
    }
}

/// A channel that is up, as it is configured at the moment.
struct ReachableChannel<C> {
    channels: CurrentChannel<C>,
    arrivals: mpsc::Sender<Arrival>,
}

impl<C: PlatformChannel> ReachableChannel<C> {
    fn current(&self) -> Arc<C> {
        self.channels.borrow().clone()
    }

    async fn hand_on(&self, channel: &C, arrival: Arrival) {
        if hand_on(channel.base(), &self.arrivals, [arrival]).await.is_none() {
            tracing::debug!("a message of a run waits for the next start");
        }
    }

    async fn private(&self, person: &str) -> Result<(Arc<C>, C::Target, Option<ReplyPlace>), SendError> {
        let channel = self.current();
        let Some(number) = person_number(person) else {
            return Err(SendError::Refused(format!("{person} is no number of a person")));
        };
        let (target, place) = channel.open_private(number).await?;
        Ok((channel, target, place))
    }
}

#[async_trait]
impl<C: PlatformChannel> Messenger for ReachableChannel<C> {
    fn channel(&self) -> String {
        self.current().base().channel.clone()
    }

    fn served(&self, person: &str) -> Served {
        let Some(person) = person_number(person) else { return Served::No };
        self.current().base().door.served(person)
    }

    fn served_at(&self, target: &str, person: &str) -> Served {
        let (channel, Some(target)) = (self.current(), C::target(target)) else { return Served::No };
        let board = channel.board(&target, person);
        crate::approvals::ApprovalDisplay::asker_served(&board)
    }

    async fn open(&self, person: &str) -> Result<PrivateChat, SendError> {
        let (channel, target, place) = self.private(person).await?;
        let chat = crate::approvals::ApprovalDisplay::chat(&channel.board(&target, person));
        Ok(PrivateChat { target: C::reply_address(&target, None), chat, place })
    }

    async fn fetch(&self, files: &str) -> Attachments {
        let channel = self.current();
        let files = serde_json::from_str(files).unwrap_or_else(|error| {
            tracing::error!(%error, "the files of a reply are unreadable");
            Vec::new()
        });
        fetch_files(&channel, files, &channel.base().limits, &()).await
    }

    async fn arrive(&self) {
        let channel = self.current();
        if let Err(error) = channel.base().store.wake_nodes().await {
            tracing::debug!(%error, "the node whose session it is looks in a second");
        }
        if hand_on(channel.base(), &self.arrivals, [Arrival::Inbox]).await.is_none() {
            tracing::debug!("a request goes on at the next start");
        }
    }

    fn parts(&self, said: OutgoingResponse) -> Vec<NewPart> {
        plan(said, C::CHANNEL_LIMITS, None)
    }

    async fn send(&self, message: StoredReply) {
        let channel = self.current();
        self.hand_on(&channel, incoming::message(&*channel, message)).await;
    }

    async fn answer(&self, reply: StoredReply) {
        let channel = self.current();
        self.hand_on(&channel, incoming::reply(&*channel, reply)).await;
    }

    async fn approver(&self, person: &str, patience: Duration) -> Result<Arc<dyn Approver>, SendError> {
        let (channel, target, _) = self.private(person).await?;
        let base = channel.base();
        let approvals = base.approvals.of_one(person, patience);
        // A turn that waits here holds no place among the turns.
        Ok(approvals.new_approver(channel.board(&target, person), person.to_owned(), base.slot()))
    }

    fn approver_below(&self, target: &str, asker: &str) -> Option<Arc<dyn Approver>> {
        let (channel, target) = (self.current(), C::target(target)?);
        let base = channel.base();
        Some(base.approvals.new_approver(channel.board(&target, asker), asker.to_owned(), base.slot()))
    }
}

/// The number that a person is known by, in its one spelling: what they reply and press comes with
/// that, and nothing would be taken for theirs under another one, such as `007`.
fn person_number(person: &str) -> Option<i64> {
    person.parse().ok().filter(|number: &i64| number.to_string() == person)
}

/// What somebody has replied to a message of the bot, for a run that may wait for that; both
/// messages by id and text. The run is told of `files` by name, type and size. None where the reply
/// has neither words nor files, such as a place on a map: it would answer nothing, and its sender
/// is told so as of any message of that kind.
pub fn wait_reply<F: SentFile>(
    from: &Caller,
    (own, text): (&str, &str),
    (replied, replied_text): (String, &str),
    files: &[F],
) -> Option<WaitReply> {
    if text.trim().is_empty() && files.is_empty() {
        return None;
    }
    let file = |file: &F| {
        let declared = file.declaration();
        json!({ "name": declared.name, "mime_type": declared.mime_type, "bytes": declared.size })
    };
    let told: Vec<_> = files.iter().map(file).collect();
    let reply = json!({ "text": text, "from": from.to_string(), "messageId": own, "files": told });
    Some(WaitReply {
        message: replied,
        text: replied_text.to_owned(),
        reply: reply.to_string(),
        files: (!files.is_empty()).then(|| serde_json::to_string(files).expect("plain data")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_that_never_comes_up_is_known_to_the_end() {
        let runs = Runs::with_channels(vec!["one"]);
        runs.close();
        assert!(runs.may_come_up("one") && !runs.may_come_up("other"));
    }

    #[test]
    fn a_person_has_one_spelling() {
        assert_eq!(["1002", "-5", "0"].map(person_number), [Some(1002), Some(-5), Some(0)]);
        for other in ["01002", "+1002", "-05", "-0", " 1002", "", "ben", "9223372036854775808"] {
            assert_eq!(person_number(other), None, "{other}");
        }
    }
}
