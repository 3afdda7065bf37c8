//! Answering for a second channel: one of paper, that shares nothing with any platform.

mod crashes;
mod files;
mod queues;
mod recent;
mod resumed;

use super::*;
use crate::approvals::{self, ApprovalDisplay, ApprovalService, Changing};
use crate::outbound::{ChannelLimits, PlaceholderRef, SendError, SendingPart, StyledText};
use crate::people::{AccessControl, ConfiguredPeople, PairedPeople, Served};
use crate::runs::Runs;
use crate::session_queue::{AlbumWindow, Arrival, RunningTurns, Stop, StopPower, TurnPlaces, Unit};
use crate::{Activity, EditableMessage};
use async_trait::async_trait;
use cofferdam_agent::tools::{ApprovalRequest, CallRequest, OutputKeeper};
use cofferdam_agent::turn::{
    Config, Deltas, History, HistoryEntry, Provider, ProviderError, Runner, StepReply, StepRequest, ToolCall,
    ToolSpec, Tools,
};
use cofferdam_agent::voice::Voice;
use cofferdam_core::command::steer_text;
use cofferdam_core::id::TurnId;
use cofferdam_core::tool::{ToolAnswer, ToolError};
use cofferdam_store::people::People;
use cofferdam_store::{
    AlbumStanding, Headers, NewUpdate, QueueMode, Store, StoreRetry, Update, UpdateClaim, UpdateFate,
};
use cofferdam_warden::attachments::outgoing::{self, Outgoing};
use cofferdam_warden::attachments::{
    self, Attachment, Attachments, BlobStore, DeclaredFile, Download, SentFile,
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeSet;
use std::io::Read;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Notify;

/// A message as it comes: who says what in which room, with a sheet at most.
#[derive(Clone, Default, Serialize, Deserialize)]
struct Letter {
    n: i64,
    room: String,
    from: String,
    text: String,
    sheet: Option<Sheet>,
    album: Option<String>,
    replies_to: Option<Box<Letter>>,
}

/// A file, by the number of its letter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Sheet {
    n: i64,
    name: String,
}

impl SentFile for Sheet {
    fn declaration(&self) -> DeclaredFile {
        let source = Some(format!("paper:{}", self.n));
        DeclaredFile { name: Some(self.name.clone()), source, ..DeclaredFile::default() }
    }

    fn place(&self) -> Option<i64> {
        Some(self.n)
    }

    fn missing_reason(&self) -> Option<String> {
        (self.name == "blank").then(|| "nothing is on it".to_owned())
    }
}

/// What is outside of the program, and outlives it.
#[derive(Default)]
struct Outside {
    /// What people have read, in order.
    read: Mutex<Vec<String>>,
    /// Somebody has read something.
    reads: Notify,
    /// The provider was told to wait.
    waits: Notify,
    /// Whether somebody is served; they are where it says nothing.
    served: Mutex<Option<Served>>,
    /// It was looked whether they are.
    looks: Notify,
}

/// The channel.
struct Paper {
    base: ChannelServices,
    outside: Arc<Outside>,
}

/// Nothing is shown of a turn.
struct Nothing;

#[async_trait]
impl EditableMessage for Nothing {
    const IS_SENT_ONCE: bool = false;
    const TEXT_UNITS_MAX: usize = 1000;

    fn is_in_group(&self) -> bool {
        false
    }

    async fn room(&self) {
        std::future::pending().await
    }

    async fn send(&self, _: &StyledText) -> Result<i64, SendError> {
        Err(SendError::Refused("nothing is shown".to_owned()))
    }

    async fn edit(&self, _: i64, _: &StyledText) -> Result<(), SendError> {
        Err(SendError::Refused("nothing is shown".to_owned()))
    }
}

/// Nobody can be asked.
struct Board(Arc<Outside>);

#[async_trait]
impl ApprovalDisplay for Board {
    fn chat(&self) -> String {
        String::new()
    }

    fn approvers(&self, _: Vec<String>) -> Vec<String> {
        Vec::new()
    }

    fn asker_served(&self) -> Served {
        self.0.looks.notify_one();
        self.0.served.lock().expect("held shortly").unwrap_or(Served::Yes)
    }

    fn is_shown_as(&self, _: &str) -> bool {
        false
    }

    async fn show(&self, _: &str, _: &ApprovalRequest) -> Result<String, SendError> {
        Err(SendError::Refused("paper has no buttons".to_owned()))
    }

    fn change(&self, _: &str, _: &str, _: &str) -> Changing {
        Box::pin(std::future::ready(true))
    }
}

impl Channel for Paper {
    const NAME: &'static str = "paper";
    const CHANNEL_LIMITS: &'static ChannelLimits = &ChannelLimits {
        text_units_max: 1000,
        caption_units_max: 0,
        first_text_carries_files: false,
        group_max: 1,
        file_bytes_max: 0,
        photo_bytes_max: 0,
        message_bytes_max: 0,
        shown: &[],
        length: crate::outbound::units,
    };

    type Target = String;
    type File = Sheet;
    type Draft = Nothing;

    fn base(&self) -> &ChannelServices {
        &self.base
    }

    fn read(&self, updates: &[Update], _: AlbumStanding) -> MessageAction<String, Sheet> {
        let letters: Vec<_> = updates.iter().filter_map(letter).collect();
        let Some(first) = letters.first().filter(|first| first.from != "eve") else {
            return MessageAction::Nothing;
        };
        let own: Vec<_> = letters.iter().filter_map(|letter| letter.sheet.clone()).collect();
        let mut files = RequestFiles::new(own, first.album.clone());
        if let Some(to) = first.replies_to.as_ref().filter(|_| files.own.is_empty()) {
            (files.replied, files.replied_album) = (to.sheet.iter().cloned().collect(), to.album.clone());
        }
        MessageAction::Run(Box::new(TurnRequest {
            target: first.room.clone(),
            sender: first.from.clone(),
            power: StopPower::Served,
            queue: queue(first),
            text: steer_text(&first.text).unwrap_or(&first.text).to_owned(),
            files,
            is_voice: false,
            notices: Vec::new(),
            about: None,
            profiles: None,
        }))
    }

    fn target_of(&self, update: &Update) -> Option<String> {
        Some(letter(update)?.room)
    }

    fn file_of(&self, update: &Update) -> Option<Sheet> {
        letter(update)?.sheet
    }

    async fn fetch(&self, sheet: Sheet, mut download: Download) -> Attachment {
        let _ = download.write(format!("<{}>", sheet.name).as_bytes());
        download.finish()
    }

    fn conversation(&self, target: &String) -> String {
        target.clone()
    }

    fn profiles(&self, _: &String) -> Option<BTreeSet<String>> {
        None
    }

    fn target(kept: &str) -> Option<String> {
        Some(kept.to_owned())
    }

    async fn send(&self, target: String, sending: SendingPart<'_>) -> Result<String, SendError> {
        let mut read = self.outside.read.lock().expect("read");
        read.push(format!("{target}: {}", sending.part.body));
        self.outside.reads.notify_one();
        Ok(read.len().to_string())
    }

    async fn answers(&self) -> bool {
        true
    }

    fn reply_address(target: &String, _: Option<PlaceholderRef>) -> String {
        target.clone()
    }

    async fn show_activity(&self, _: &String, _: Activity) -> Duration {
        Duration::ZERO
    }

    fn draft(self: &Arc<Self>, _: &TurnId, _: &String) -> Nothing {
        Nothing
    }

    fn take_choices(&self, _: &str, _: &str) -> Changing {
        Box::pin(std::future::ready(true))
    }

    fn board(self: &Arc<Self>, _: &String, _: &str) -> impl ApprovalDisplay {
        Board(self.outside.clone())
    }
}

fn letter(update: &Update) -> Option<Letter> {
    serde_json::from_str(&update.raw).ok()
}

fn queue(letter: &Letter) -> QueueMode {
    if steer_text(&letter.text).is_some() { QueueMode::Steer } else { QueueMode::Turn }
}

/// Says what it is told in the turn that runs, with what the files hold. `again` asks for the files
/// before, `wait` is never answered.
struct Echo(Arc<Outside>);

#[async_trait]
impl Provider for Echo {
    async fn respond(
        &self,
        request: StepRequest<'_>,
        _: &mut Deltas<'_>,
    ) -> Result<StepReply, ProviderError> {
        let entries = request.conversation;
        let begun =
            entries.iter().rposition(|entry| matches!(entry, HistoryEntry::User { .. })).expect("a request");
        let mut said = Vec::new();
        for entry in &entries[begun..] {
            match entry {
                HistoryEntry::User { text, attachments, .. } => {
                    // Below the line that tells the time.
                    let text = text.split_once('\n').map_or("", |(_, text)| text);
                    if text == "wait" {
                        self.0.waits.notify_one();
                        std::future::pending().await
                    }
                    said.push(format!("{text}{}", contents(attachments)));
                }
                HistoryEntry::Steer { text, attachments, .. } => {
                    said.push(format!("{text}{}", contents(attachments)));
                }
                HistoryEntry::ToolResult { result: Ok(result), .. } => said.push(result["found"].to_string()),
                _ => {}
            }
        }
        if said == ["again"] {
            let call = ToolCall { id: "0".into(), tool: "again".into(), arguments: Ok("{}".into()) };
            return Ok(StepReply { tool_calls: vec![call], ..StepReply::default() });
        }
        Ok(StepReply { text: Some(said.join("; ")), ..StepReply::default() })
    }

    fn has_memory(&self) -> bool {
        true
    }
}

/// What files hold; `-` stands for one that could not be had.
fn contents(files: &Attachments) -> String {
    let content = |file: &Attachment| {
        let Some(blob) = &file.blob else { return "-".to_owned() };
        let mut text = String::new();
        blob.reader().read_to_string(&mut text).expect("text");
        text
    };
    files.iter().map(content).collect()
}

/// The one tool finds the files of the most recent message before.
struct Recall;

#[async_trait]
impl Tools for Recall {
    fn specs(&self) -> Vec<ToolSpec> {
        Vec::new()
    }

    fn is_read_only(&self, _: &str) -> bool {
        true
    }

    fn requests(&self) -> Arc<cofferdam_agent::open_requests::Requests> {
        Arc::default()
    }

    fn is_among(&self, _: &str, _: &BTreeSet<String>) -> bool {
        true
    }

    async fn call(&self, request: CallRequest) -> Result<ToolAnswer, ToolError> {
        let found = request.recent.expect("a channel brings them").recent().await;
        Ok(ToolAnswer {
            result: json!({ "found": contents(&found) }),
            attachments: Vec::new(),
            delivery: None,
        })
    }

    async fn refuse(&self, _: CallRequest, why: ToolError) -> ToolError {
        why
    }

    async fn keep(&self, _: OutputKeeper) -> Result<String, ToolError> {
        unreachable!("results are short")
    }
}

/// The outside, what was kept, and a folder for bytes.
struct World {
    outside: Arc<Outside>,
    dir: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        Self { outside: Arc::default(), dir }
    }

    fn store(&self) -> Store {
        Store::open(self.dir.path()).expect("a store")
    }

    /// The channel, as a program has it that has opened this store.
    fn started(&self, store: Store) -> Arc<Paper> {
        let stop = Stop::default();
        let store_retry = StoreRetry::new(stop.soon.clone(), |_| {});
        let rules = approvals::Rules { approvers: Vec::new(), expires: Duration::MAX, are_named: false };
        let approvals =
            ApprovalService::new(store.clone(), (store_retry.clone(), stop.clone()), "paper-1".into(), rules);
        let provider = Arc::new(Echo(self.outside.clone()));
        let runner = Runner::new(
            provider,
            Arc::new(Recall),
            History::durable(store.clone()),
            Config::default(),
            String::new(),
        );
        let base = ChannelServices {
            store,
            channel: "paper-1".into(),
            store_retry,
            stop,
            runner: Arc::new(runner),
            approvals,
            running: Arc::new(RunningTurns::default()),
            places: TurnPlaces::new(1),
            blobs: BlobStore::open(&self.dir.path().join("blobs")).expect("a folder"),
            limits: attachments::Config::default(),
            outgoing: Outgoing::open_beside(self.dir.path(), outgoing::Config::default()).expect("a folder"),
            settle: Arc::new(|_| Ok(())),
            albums: AlbumWindow { silence: Duration::ZERO, cap: Duration::ZERO },
            voice: Voice::default(),
            runs: Runs::with_channels(vec![Paper::NAME]),
            door: AccessControl::new(
                ConfiguredPeople::default(),
                PairedPeople::new(People::new(self.dir.path()), "paper"),
            ),
        };
        Arc::new(Paper { base, outside: self.outside.clone() })
    }

    /// A run from its start to where nothing is left to do.
    async fn run(&self, letters: &[Letter]) {
        run(self.started(self.store()), letters.to_vec()).await;
    }

    fn read(&self) -> Vec<String> {
        self.outside.read.lock().expect("read").clone()
    }
}

/// Takes letters in, as often as they are brought, goes on with what the last run left, and answers
/// what waits.
async fn run(paper: Arc<Paper>, letters: Vec<Letter>) {
    let ChannelServices { store, channel, .. } = paper.base();
    store.persist(channel, batch(&paper, &letters)).await.expect("kept");
    for arrival in incoming::load_left(&*paper).await.expect("the store") {
        match arrival {
            Arrival::Reply(of, reply) => turn::work(paper.clone(), (&of, Unit::Reply(reply)), None).await,
            Arrival::Bound(of, turn) => turn::work(paper.clone(), (&of, Unit::Bound(turn)), None).await,
            Arrival::Inbox => {}
            other => panic!("{other:?}"),
        }
    }
    while let Some(session) = store.sessions(channel, 1, 0).await.expect("the store").pop() {
        let next = store.load_waiting(channel, &session, 1).await.expect("the store").remove(0);
        let claim = next.album.map_or(UpdateClaim::Update(next.update_id), UpdateClaim::Album);
        turn::work(paper.clone(), (&session, Unit::Message(claim)), None).await;
    }
}

fn batch(paper: &Paper, letters: &[Letter]) -> Vec<NewUpdate> {
    let new = |letter: &Letter| {
        let (session, sender) = (paper.session(&letter.room), letter.from.clone());
        NewUpdate {
            update_id: letter.n,
            album: letter.album.clone(),
            message: None,
            raw: serde_json::to_string(letter).expect("plain data"),
            fate: UpdateFate::Pending(Headers { session, sender, queue: queue(letter), answers: None }),
        }
    };
    letters.iter().map(new).collect()
}

/// A letter of Ann's, with a sheet of this name.
fn says(n: i64, text: &str, sheet: Option<&str>) -> Letter {
    let sheet = sheet.map(|name| Sheet { n, name: name.into() });
    Letter { n, room: "attic".into(), from: "ann".into(), text: text.into(), sheet, ..Letter::default() }
}
