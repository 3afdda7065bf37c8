//! `cofferdam status`: what the running gateway is doing, from what it keeps in the state folder
//! and from the kernel. It asks the gateway nothing, takes no lock and contacts nobody but a store
//! in PostgreSQL, so it works when nothing runs, too.

mod words;

use super::allow::time;
use super::doctor::free;
use super::errors::describe_error;
use super::{Exit, Output};
use crate::config::Config;
use crate::gateway;
use cofferdam_agent::llm::ProviderKind;
use cofferdam_core::audit::sha256_hex;
use cofferdam_core::standing::HealthHistory;
use cofferdam_core::text::one_line;
use cofferdam_store::{
    self as store, AwayHome, DatabaseView, DayUsage, LastError, NodeRow, OpenRequestRow, PresenceNote,
    StoreError, StoreLocation, WaitingCounts,
};
use cofferdam_warden::audit::{self, EntryRange, Head, LogEntry, LogSelection};
use cofferdam_warden::publish;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

/// A workspace that takes longer to measure is not measured.
const MEASURING_MAX: Duration = Duration::from_secs(2);
/// So many lines from the end the newest record is looked for: a crash leaves one torn line.
const LINES_FROM_END: u64 = 4;

/// What `--json` prints. The shape is stable: keys are added, never changed.
#[derive(Serialize)]
struct StatusReport {
    running: bool,
    /// The process that serves; none when none does.
    pid: Option<u32>,
    /// The release that runs, or ran last; none when none ever did.
    version: Option<String>,
    /// Since when it runs; none when it does not.
    started_at: Option<String>,
    /// The bot, once it has polled.
    bot: Option<String>,
    /// When its platform answered last, of an earlier run as well; of several channels the latest.
    polled_at: Option<String>,
    /// Each channel by name; empty before one was served.
    channels: BTreeMap<String, ChannelStatus>,
    #[serde(flatten)]
    health: Health,
    workers: usize,
    /// Runs that wait until the audit is settled; the gateway that runs here notes the first 20.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    held_runs: Vec<String>,
    #[serde(flatten)]
    database: DatabaseStatus,
    workspace: WorkspaceStatus,
    /// None when there is no audit yet.
    audit: Option<NewestRecord>,
    /// What is null or empty above because it cannot be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unreadable: Vec<UnreadablePart>,
}

/// A part of the report that cannot be read: damaged files do not keep the rest from being told.
#[derive(Serialize)]
struct UnreadablePart {
    /// `queue`, `workspace` or `audit`.
    key: &'static str,
    /// On one line, with the path.
    reason: String,
}

#[derive(Serialize)]
struct ChannelStatus {
    bot: Option<String>,
    /// When its platform answered last, of an earlier run as well.
    polled_at: Option<String>,
    /// Since then; none when it does not run, or has not answered yet.
    poll_age_seconds: Option<i64>,
}

/// How it has fared, in an earlier run where this one has nothing to tell.
#[derive(Serialize)]
struct Health {
    /// None when it does not run.
    uptime_seconds: Option<i64>,
    /// Since Telegram answered a poll; none when it does not run, or has not polled yet.
    poll_age_seconds: Option<i64>,
    /// The last error of the log.
    last_error: Option<LastError>,
    /// None where no model is asked.
    model: Option<ModelStatus>,
    store: LastFailure,
}

/// When a model was asked last.
#[derive(Serialize)]
struct ModelStatus {
    answered_at: Option<String>,
    #[serde(flatten)]
    failed: LastFailure,
}

/// What went wrong last.
#[derive(Serialize)]
struct LastFailure {
    failed_at: Option<String>,
    /// On one line.
    reason: Option<String>,
    /// Since when every attempt of the running gateway fails; none when the last one did not.
    failing_since: Option<String>,
}

impl LastFailure {
    fn from_health(fared: &HealthHistory, own: bool) -> Self {
        Self {
            failed_at: fared.failed_at.map(time),
            reason: fared.reason.as_deref().map(|reason| one_line(reason, 400)),
            failing_since: fared.failing_since.filter(|_| own).map(time),
        }
    }

    /// It is so now, whether the gateway has noticed or not.
    fn note_away(&mut self, error: &anyhow::Error) {
        let now = time(store::machine_now_ms());
        self.failed_at = Some(now.clone());
        self.reason = Some(one_line(&error.to_string(), 400));
        self.failing_since.get_or_insert(now);
    }
}

/// Whether the store's server does not answer.
fn is_away(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(StoreError::Unreachable { .. } | StoreError::Lost { .. }))
}

#[derive(Serialize)]
struct QueueStatus {
    #[serde(flatten)]
    waiting: WaitingCounts,
    /// When a message came last.
    received_at: Option<String>,
}

/// Used today, a day of UTC.
#[derive(Default, Serialize)]
struct UsageToday {
    people: Vec<DayUsage>,
    /// What one person may use.
    tokens_max: u64,
    written_bytes_max: u64,
}

#[derive(Serialize)]
struct WorkspaceStatus {
    /// None when that takes long to measure, or a folder cannot be read.
    used_bytes: Option<u64>,
    max_bytes: u64,
    /// On its disk; none before there is a folder.
    free_bytes: Option<u64>,
    /// On the disk of the state.
    state_free_bytes: Option<u64>,
}

#[derive(Serialize)]
struct NewestRecord {
    head: Head,
    time: String,
}

pub(super) fn run(config: &Config, output: Output) -> anyhow::Result<Exit> {
    let status = status(config);
    let mut out = super::stdout();
    match output.json {
        true => writeln!(out, "{}", serde_json::to_string(&status)?)?,
        false => write!(out, "{}", words::format_status(&status))?,
    }
    Ok(if status.is_well() { Exit::Done } else { Exit::ProblemFound })
}

impl StatusReport {
    /// Whether it runs, neither the model nor the store keeps it from answering, nobody waits for a
    /// node that is away, and all of it can be read.
    fn is_well(&self) -> bool {
        let Health { model, store, .. } = &self.health;
        let failing = model.iter().map(|model| &model.failed).chain([store]);
        self.running
            && self.database.away.is_empty()
            && self.unreadable.is_empty()
            && !failing.into_iter().any(|failed| failed.failing_since.is_some())
    }
}

fn status(config: &Config) -> StatusReport {
    let pid = gateway::find_serving_process(config);
    let noted = store::read_note(&gateway::note_file(config));
    // An earlier process's note says nothing of when this one began.
    let own = noted.as_ref().filter(|noted| Some(noted.pid) == pid);
    let mut health = health(config, noted.as_ref(), own);
    let mut unreadable = Vec::new();
    let mut database = match read_database(config) {
        Err(error) if is_away(&error) => {
            health.store.note_away(&error);
            DatabaseStatus::default()
        }
        read => or_unreadable("queue", &database_place(config), read, &mut unreadable),
    };
    let workspace = workspace(config, MEASURING_MAX, &mut unreadable);
    let audit_file = gateway::audit_file(config);
    let audit =
        or_unreadable("audit", &audit_file.display().to_string(), newest(&audit_file), &mut unreadable);
    // Perhaps on another machine.
    let running = pid.is_some() || !database.nodes.is_empty();
    // What an earlier process was at is nobody's to add to.
    database.requests.retain(|_| running);
    database.today.tokens_max = config.turns.user_tokens_per_day;
    database.today.written_bytes_max = config.turns.user_written_bytes_per_day.0;
    StatusReport {
        running,
        pid,
        version: noted.as_ref().map(|noted| noted.version.clone()),
        started_at: own.map(|noted| time(noted.started_at)),
        bot: noted.as_ref().and_then(|noted| noted.bot.clone()),
        polled_at: noted.as_ref().and_then(|PresenceNote { polled_at, .. }| polled_at.map(time)),
        channels: noted
            .iter()
            .flat_map(|noted| &noted.channels)
            .map(|(name, channel)| {
                let polled_at = channel.polled_at;
                let age = polled_at.filter(|_| own.is_some()).map(seconds_since);
                let status = ChannelStatus {
                    bot: channel.bot.clone(),
                    polled_at: polled_at.map(time),
                    poll_age_seconds: age,
                };
                (name.clone(), status)
            })
            .collect(),
        health,
        workers: pid.map_or(0, gateway::workers),
        held_runs: own.map(|noted| noted.held_runs.clone()).unwrap_or_default(),
        database,
        workspace,
        audit,
        unreadable,
    }
}

/// What was read; else its default, and why it cannot be read, with the place.
fn or_unreadable<T: Default>(
    key: &'static str,
    place: &str,
    read: anyhow::Result<T>,
    unreadable: &mut Vec<UnreadablePart>,
) -> T {
    read.unwrap_or_else(|error| {
        let said = describe_error(&error);
        let reason = if said.contains(place) { said } else { format!("{place}: {said}") };
        unreadable.push(UnreadablePart { key, reason: one_line(&reason, 400) });
        T::default()
    })
}

fn health(config: &Config, noted: Option<&PresenceNote>, own: Option<&PresenceNote>) -> Health {
    let uptime_seconds = own.map(|noted| seconds_since(noted.started_at));
    let poll_age_seconds = own.and_then(|noted| noted.polled_at).map(seconds_since);
    let health = noted.map(|noted| noted.health.clone()).unwrap_or_default();
    let model = (config.provider.kind != ProviderKind::Commands).then(|| ModelStatus {
        answered_at: health.model.succeeded_at.map(time),
        failed: LastFailure::from_health(&health.model, own.is_some()),
    });
    let store = LastFailure::from_health(&health.store, own.is_some());
    Health { uptime_seconds, poll_age_seconds, last_error: health.error, model, store }
}

/// The workspace, measured for at most so long.
fn workspace(config: &Config, limit: Duration, unreadable: &mut Vec<UnreadablePart>) -> WorkspaceStatus {
    let root = &config.workspace.root;
    let used = publish::measure_used(root, Instant::now() + limit).map_err(anyhow::Error::new);
    WorkspaceStatus {
        used_bytes: or_unreadable("workspace", &root.display().to_string(), used, unreadable),
        max_bytes: config.workspace.max_bytes.0,
        free_bytes: free(root),
        state_free_bytes: free(&config.state_dir),
    }
}

/// Never negative, also where the clock was set.
fn seconds_since(ms: i64) -> i64 {
    (store::machine_now_ms() - ms).max(0) / 1000
}

/// What the database tells; nothing where its version is another.
#[derive(Default, Serialize)]
struct DatabaseStatus {
    /// The gateways that share a store in PostgreSQL, and what each does for all; empty in SQLite.
    nodes: Vec<NodeRow>,
    /// Nodes that are not there, and have files of people and runs that wait for them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    away: Vec<AwayHome>,
    /// None without a database, with one of another version, or one that cannot be read.
    queue: Option<QueueStatus>,
    /// Those that it is at; empty when it does not run.
    requests: Vec<OpenRequestRow>,
    today: UsageToday,
}

/// The database's file, or its server.
fn database_place(config: &Config) -> String {
    match &config.store.location {
        StoreLocation::Sqlite(dir) => dir.join(store::FILE_NAME).display().to_string(),
        StoreLocation::Postgres(at) => at.server().to_owned(),
    }
}

fn read_database(config: &Config) -> anyhow::Result<DatabaseStatus> {
    let known = config.store.location.version_known();
    let look = DatabaseView::open(&config.store.location)?.filter(|look| look.version() == known);
    let Some(look) = look else { return Ok(DatabaseStatus::default()) };
    let queue = QueueStatus { waiting: look.count_waiting()?, received_at: look.received_at()?.map(time) };
    let today = UsageToday { people: look.usage_today()?, ..UsageToday::default() };
    Ok(DatabaseStatus {
        queue: Some(queue),
        today,
        requests: look.open_requests()?,
        nodes: look.nodes()?,
        away: look.homes_away()?,
    })
}

/// The newest record; no more of the log is read than holds it.
fn newest(file: &Path) -> anyhow::Result<Option<NewestRecord>> {
    if !file.try_exists()? {
        return Ok(None);
    }
    let mut newest = None;
    for entry in audit::read_entries(LogSelection::Log(file), EntryRange::Last(LINES_FROM_END), None)? {
        if let LogEntry::Record { record, line } = entry? {
            let head = Head { seq: record.seq, sha256: sha256_hex(line.as_bytes()) };
            newest = Some(NewestRecord { head, time: record.time.clone() });
        }
    }
    Ok(newest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Flags;
    use std::collections::BTreeMap;

    #[test]
    fn a_workspace_that_takes_too_long_is_not_measured() {
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("c.toml");
        std::fs::write(&file, "[workspace]\nroot = \"w\"\n[state]\ndir = \"s\"\n").expect("writable");
        let config = Config::load(Some(&file), &Flags::default(), &BTreeMap::new()).expect("valid");
        let shared = dir.path().join("w/shared");
        std::fs::create_dir_all(&shared).expect("writable");
        // More than are counted between two looks at the clock.
        for n in 0..300 {
            std::fs::write(shared.join(n.to_string()), "x").expect("writable");
        }
        let mut status = status(&config);
        assert!(
            words::format_status(&status).contains("\nworkspace: 300 bytes of 10 GiB\n"),
            "{}",
            words::format_status(&status)
        );
        status.workspace = workspace(&config, Duration::ZERO, &mut status.unreadable);
        assert_eq!((status.workspace.used_bytes, status.unreadable.len()), (None, 0));
        let told = words::format_status(&status);
        assert!(told.contains("\nworkspace: more files than can be measured at a glance\n"), "{told}");
    }

    #[test]
    fn times_are_read_by_people_and_programs() {
        assert_eq!(time(784_111_777_999), "1994-11-06T08:49:37Z");
        assert_eq!(time(-1), "1969-12-31T23:59:59Z");
        assert_eq!(time(i64::MAX), "");
    }
}
