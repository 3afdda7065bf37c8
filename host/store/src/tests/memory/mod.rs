//! A storage engine in memory, for tests alone: that a second one can be held to the seam is shown
//! by it. Tests of the crate above include it, so it names what it uses of the store through
//! `super`.

mod approvals;
mod conversations;
mod inbox;
mod outbox;
mod runs;
mod streams;
mod turn_runs;
mod voices;
mod waits;

use super::*;
use async_trait::async_trait;
use cofferdam_core::id::{Caller, SessionId, TurnId};
use cofferdam_core::journal::{Journal, JournalError, JournalState};
use cofferdam_core::message::{Delivery, OutgoingAttachment};
use cofferdam_core::tool::ToolAnswer;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

const HOUR_MS: i64 = 60 * 60 * 1000;
const DAY_MS: i64 = 24 * HOUR_MS;

/// The engine; a clone is the same one, opened again.
#[derive(Clone, Default)]
pub(crate) struct Memory {
    held: Arc<Mutex<Held>>,
    life: Arc<Life>,
}

/// How long a program lives that has opened the engine.
struct Life {
    /// What it may do here.
    steps_max: usize,
    /// What it has done or tried to do.
    steps: AtomicUsize,
}

impl Default for Life {
    fn default() -> Self {
        Self { steps_max: usize::MAX, steps: AtomicUsize::default() }
    }
}

#[derive(Default)]
struct Held {
    inbox: Vec<Row>,
    replies: Vec<Stored>,
    /// Channel, sender, when they were told last, and how often.
    strangers: Vec<(String, String, i64, u32)>,
    calls: BTreeMap<String, Called>,
    deliveries: Vec<(String, Delivery, i64)>,
    recent: BTreeMap<[String; 3], (RecentFiles, i64, String)>,
    placeholders: BTreeMap<String, Placeholder>,
    lines: Vec<Spoken>,
    attempts: BTreeMap<String, (Caller, u32, AttemptRow)>,
    transcripts: BTreeMap<String, String>,
    spoken_to: BTreeSet<(String, String)>,
    used: Vec<(i64, Caller, UsedToday)>,
    approvals: Arc<ApprovalsInMemory>,
    blobs: BTreeSet<(String, String)>,
    moves: BTreeMap<(String, String), String>,
    streams: BTreeMap<String, Stream>,
    places: Vec<(String, ReplyPlace)>,
    /// And when it began.
    runs: Vec<(KeptRun, i64)>,
    messages: Vec<waits::Said>,
    /// By run and task: the task whose reply it waits for, and how long.
    patience: BTreeMap<(String, usize), (usize, i64)>,
    answered: BTreeSet<String>,
    schedules: BTreeMap<String, i64>,
}

struct Row {
    channel: String,
    update: Update,
    received_at: i64,
    album: Option<String>,
    message: Option<String>,
    headers: Option<Headers>,
    /// Where the row is that it is said to.
    request: Option<usize>,
    turn: Option<String>,
    joined: Option<usize>,
    done_at: Option<i64>,
}

struct Called {
    arguments_sha256: String,
    answer: ToolAnswer,
    bytes: u64,
    at: i64,
}

struct Spoken {
    session: String,
    n: usize,
    at: i64,
    line: HistoryLine,
}

struct Stored {
    channel: String,
    reply: StoredReply,
    next: u32,
    done: bool,
}

impl Row {
    fn waits(&self) -> bool {
        self.turn.is_none() && self.done_at.is_none()
    }

    fn is_of(&self, channel: &str, turn: &str) -> bool {
        self.channel == channel && self.turn.as_deref() == Some(turn)
    }
}

impl Held {
    fn insert(&mut self, channel: &str, new: &NewUpdate) -> Option<&mut Row> {
        let known = |row: &Row| row.channel == channel && row.update.update_id == new.update_id;
        if self.inbox.iter().any(known) {
            return None;
        }
        let (update, album) = (Update { update_id: new.update_id, raw: new.raw.clone() }, new.album.clone());
        let (headers, request, turn, message) = (None, None, None, new.message.clone());
        let (channel, received_at) = (channel.to_owned(), now_ms());
        let row = Row {
            channel,
            update,
            received_at,
            album,
            message,
            headers,
            request,
            turn,
            joined: None,
            done_at: None,
        };
        self.inbox.push(row);
        self.inbox.last_mut()
    }

    /// The first message of a session that is not done, unless it waits for one that is not.
    fn head(&self, headers: &Headers) -> Option<usize> {
        let open = |row: &&Row| row.done_at.is_none();
        let waits = |row: &Row| row.request.is_some_and(|at| self.inbox[at].done_at.is_none());
        let of = |row: &Row| row.headers.as_ref().is_some_and(|of| of.session == headers.session);
        let found = self.inbox.iter().position(|row| open(&row) && of(row) && !waits(row))?;
        let sender = self.inbox[found].headers.as_ref().map(|of| &of.sender);
        (headers.queue == QueueMode::Steer && sender == Some(&headers.sender)).then_some(found)
    }

    fn bound(&self, channel: &str, turn: &str) -> BoundTurn {
        let own = move |row: &Row| row.is_of(channel, turn) && row.joined.is_none();
        let of = || self.inbox.iter().enumerate().filter(move |(_, row)| own(row));
        let late = of().any(|(at, mine)| {
            let earlier = |row: &Row| row.turn.as_deref().is_some_and(|other| other != turn);
            mine.album.is_some() && self.inbox[..at].iter().any(|row| row.album == mine.album && earlier(row))
        });
        let standing = if late { AlbumStanding::Late } else { AlbumStanding::First };
        let updates = of().map(|(_, row)| row.update.clone()).collect();
        BoundTurn { turn: TurnId::new(turn), updates, standing }
    }

    fn done(&mut self, turn: &str) -> usize {
        let mut count = 0;
        for row in self.inbox.iter_mut().filter(|row| row.turn.as_deref() == Some(turn)) {
            if row.done_at.is_none() {
                (row.done_at, count) = (Some(now_ms()), count + 1);
                if row.album.is_none() {
                    row.update.raw.clear();
                }
            }
        }
        self.attempts.remove(turn);
        self.placeholders.remove(turn);
        count
    }

    fn release(&mut self, turn: &str) {
        self.blobs.retain(|(of, _)| of != turn);
    }

    fn hold(&mut self, turn: &str, files: &[OutgoingAttachment]) {
        self.blobs.extend(files.iter().map(|file| (turn.to_owned(), file.sha256.clone())));
    }

    fn reply(&mut self, channel: &str, turn: &TurnId, new: NewReply) -> StoredReply {
        if let Some(stored) = self.replies.iter().find(|stored| stored.reply.turn == *turn) {
            return stored.reply.clone();
        }
        let parts: Vec<ReplyPart> =
            (0..).zip(new.parts).map(|(n, NewPart { kind, body })| ReplyPart { n, kind, body }).collect();
        if parts.is_empty() {
            self.release(turn.as_str());
        }
        let next = u32::try_from(parts.len()).expect("few");
        let reply = StoredReply { turn: turn.clone(), target: new.target, parts, last_sent: None };
        let (channel, done) = (channel.to_owned(), reply.parts.is_empty());
        self.replies.push(Stored { channel, reply: reply.clone(), next, done });
        reply
    }

    /// Ends a part; `message` if it was sent.
    fn settle(&mut self, turn: &TurnId, n: u32, message: Option<&str>) {
        let Some(stored) = self.replies.iter_mut().find(|stored| stored.reply.turn == *turn) else { return };
        stored.reply.parts.retain(|part| part.n != n);
        stored.reply.last_sent = message.map(str::to_owned).or(stored.reply.last_sent.take());
        stored.done = stored.reply.parts.is_empty();
        if stored.done {
            self.release(turn.as_str());
        }
    }

    fn note(&mut self, channel: &str, turn: &str, new: NewRecent) {
        let key = [channel.to_owned(), new.conversation, new.sender];
        self.recent.insert(key, (new.recent, now_ms(), turn.to_owned()));
    }

    fn charge(&mut self, caller: &Caller, tokens: u64, bytes: i64) {
        let day = now_ms() / DAY_MS;
        if !self.used.iter().any(|(of, who, _)| (*of, who) == (day, caller)) {
            self.used.push((day, caller.clone(), UsedToday::default()));
        }
        let found = self.used.iter_mut().find(|(of, who, _)| (*of, who) == (day, caller));
        let (_, _, used) = found.expect("just made");
        used.tokens += tokens;
        used.written_bytes = used.written_bytes.saturating_add_signed(bytes);
    }

    fn add_line(&mut self, whose: &WhoseTurn, n: usize, body: String, tokens: u64) {
        if !self.lines.iter().any(|spoken| spoken.line.turn == whose.turn && spoken.n == n) {
            let (session, line) =
                (whose.session.as_str().to_owned(), HistoryLine { turn: whose.turn.clone(), body });
            self.lines.push(Spoken { session, n, at: now_ms(), line });
            self.charge(&whose.caller, tokens, 0);
        }
    }
}

impl Memory {
    /// The same one, opened by a program that is killed after so many steps: the next one panics,
    /// and each after it.
    pub(crate) fn killed_after(&self, steps_max: usize) -> Self {
        let life = Life { steps_max, ..Life::default() };
        Self { held: self.held.clone(), life: Arc::new(life) }
    }

    /// Whether that came to pass.
    #[allow(dead_code, reason = "who includes this file asks for it")]
    pub(crate) fn was_killed(&self) -> bool {
        self.life.steps.load(Ordering::SeqCst) > self.life.steps_max
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        let steps = self.life.steps.fetch_add(1, Ordering::SeqCst);
        assert!(steps < self.life.steps_max, "the program is killed here");
        self.held.lock().expect("no test panics while it holds this")
    }
}

#[async_trait]
impl Storage for Memory {
    async fn prune(&self, now: i64) -> Result<usize, StoreError> {
        let before = now - i64::try_from(DONE_AGE_MAX.as_millis()).expect("small");
        let mut held = self.held();
        held.runs.retain(|(run, at)| run.state == RunState::Running || *at >= before);
        let unsent: Vec<_> = held
            .replies
            .iter()
            .filter(|stored| !stored.done)
            .map(|stored| stored.reply.turn.to_string())
            .collect();
        let goes = |row: &Row| {
            row.done_at.is_some_and(|at| at < before)
                && !row.turn.as_ref().is_some_and(|turn| unsent.contains(turn))
        };
        // Rows name rows by their place, so one that goes leaves it empty.
        let mut gone = 0;
        for row in held.inbox.iter_mut().filter(|row| goes(row) && !row.channel.is_empty()) {
            (row.channel, gone) = (String::new(), gone + 1);
        }
        let open: BTreeSet<String> = held
            .inbox
            .iter()
            .filter(|row| row.done_at.is_none())
            .filter_map(|row| row.turn.clone())
            .collect();
        let Held { calls, deliveries, lines, .. } = &mut *held;
        calls.retain(|call, called| called.at >= before || open.contains(conversations::turn_of(call)));
        deliveries.retain(|(call, delivery, at)| {
            *at >= before || open.contains(delivery.request.as_str()) || calls.contains_key(call)
        });
        lines.retain(|spoken| spoken.at >= before || open.contains(spoken.line.turn.as_str()));
        held.recent.retain(|_, (_, at, _)| *at >= before);
        held.approvals.prune(before);
        held.used.retain(|(day, _, _)| *day >= before / DAY_MS);
        Ok(gone)
    }

    async fn settle(&self) -> Result<(), StoreError> {
        Ok(())
    }

    fn check(&self) -> Result<(), StoreError> {
        Ok(())
    }
}
