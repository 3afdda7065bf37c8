//! The database as it lies there: whether it opens, is whole, and is of a version that this program
//! knows.

use super::finding::{DoctorFinding, shell};
use super::places::{is_own_folder, name_other_place};
use crate::config::Config;
use crate::gateway;
use cofferdam_store::{DatabaseView, FILE_NAME, StoreError, StoreLocation, WaitingCounts};
use serde::Serialize;
use std::fmt;

#[derive(Default, Serialize)]
pub(super) struct Database {
    /// `sqlite` or `postgres`.
    engine: &'static str,
    /// Host, port and database of PostgreSQL.
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<String>,
    /// The schema there.
    #[serde(skip_serializing_if = "Option::is_none")]
    schema: Option<String>,
    /// The process that serves with it, as PostgreSQL is told.
    #[serde(skip_serializing_if = "Option::is_none")]
    serves: Option<String>,
    /// None when it does not open.
    version: Option<i64>,
    /// What this program writes.
    known: i64,
    sound: bool,
    /// None when its version is another.
    waiting: Option<WaitingCounts>,
}

/// None when there is none yet.
pub(super) fn look(config: &Config, findings: &mut Vec<DoctorFinding>) -> Option<Database> {
    let known = config.store.location.version_known();
    let (engine, server, schema) = match &config.store.location {
        StoreLocation::Sqlite(_) => ("sqlite", None, None),
        StoreLocation::Postgres(at) => {
            ("postgres", Some(at.server().to_owned()), Some(at.schema().to_owned()))
        }
    };
    let database = Database { engine, server, schema, known, ..Database::default() };
    let look = match DatabaseView::open(&config.store.location) {
        Ok(look) => look,
        Err(error) => {
            findings.push(closed(config, &error));
            return Some(database);
        }
    };
    let Some(look) = look else {
        // The first `serve` makes the tables.
        return database.server.is_some().then_some(Database { version: Some(0), sound: true, ..database });
    };
    let version = look.version();
    if version > known {
        let what = format!("the database has version {version}, and this program knows {known}");
        findings.push(DoctorFinding::problem("database", what, "run the newer release, or restore a backup"));
    }
    let damage = match look.damage() {
        Err(error) if error.is_file_locked() => {
            findings.push(closed(config, &error));
            return Some(database);
        }
        looked => looked.unwrap_or_else(|error| Some(error.to_string())),
    };
    let (sound, waiting) = (damage.is_none(), look.count_waiting().ok().filter(|_| version == known));
    findings.extend(damage.map(|said| damaged(config, &said)));
    findings.extend(look_elsewhere(config, &look));
    Some(Database { version: Some(version), sound, waiting, serves: who_serves(&look), ..database })
}

/// The processes that serve, where the database knows.
fn who_serves(look: &DatabaseView) -> Option<String> {
    let nodes: Vec<String> = look.nodes().ok()?.into_iter().map(|node| node.who).collect();
    (!nodes.is_empty()).then(|| nodes.join("; "))
}

/// Whether a node that is there has another state folder, where files that wait with replies lie:
/// `serve` does not start beside it.
fn look_elsewhere(config: &Config, look: &DatabaseView) -> Option<DoctorFinding> {
    let node = gateway::existing_node(config).ok()?;
    let stranger = look.find_stranger(&node).ok()??;
    let what = format!("node {stranger:?} has another state folder, so serve does not start here");
    let mend = "[state] dir = the folder of that node, on a filesystem that all nodes see, or another [store] schema";
    Some(DoctorFinding::problem("database", what, mend))
}

fn closed(config: &Config, error: &StoreError) -> DoctorFinding {
    match error {
        StoreError::Open { .. } => {
            let mend = match is_own_folder(&config.state_dir) {
                true => format!("chown -R $(id -u) {}", shell(&config.state_dir)),
                false => name_other_place("state").to_owned(),
            };
            DoctorFinding::problem("database", error.to_string(), mend)
        }
        _ if error.is_file_locked() => {
            let mend = "stop the program that has it, such as a backup, or wait for its end; then cofferdam doctor again";
            DoctorFinding::problem("database", error.to_string(), mend)
        }
        _ if matches!(config.store.location, StoreLocation::Postgres(_)) => {
            let mend = "start the server, or correct the URL of [store]";
            DoctorFinding::problem("database", error.to_string(), mend)
        }
        _ => damaged(config, &error.to_string()),
    }
}

fn damaged(config: &Config, said: &str) -> DoctorFinding {
    let dir = &config.state_dir;
    let (aside, all) = (shell(&dir.join("damaged")), format!("{}*", shell(&dir.join(FILE_NAME))));
    let what = format!(
        "the database is damaged: {said}; stop serve and restore a backup, or begin anew: what waits is lost"
    );
    // Its companion files go with it: with them another database would be damaged as well.
    DoctorFinding::problem("database", what, format!("mkdir {aside} && mv {all} {aside}"))
}

impl fmt::Display for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let (Some(server), Some(schema)) = (&self.server, &self.schema) {
            write!(f, "PostgreSQL at {server}, schema {schema}: ")?;
        }
        let Some(version) = self.version else { return f.write_str("DOES NOT OPEN") };
        if version == 0 && self.server.is_some() {
            return f.write_str("reachable, without tables yet");
        }
        write!(f, "version {version}, {}", if self.sound { "sound" } else { "DAMAGED" })?;
        match &self.waiting {
            Some(WaitingCounts { messages, turns, replies, approvals, .. }) => write!(
                f,
                "; {messages} messages wait, {turns} turns have begun, {replies} replies and {approvals} approvals are open"
            ),
            None => write!(f, "; this program writes version {}", self.known),
        }?;
        self.serves.as_ref().map_or(Ok(()), |who| write!(f, "; {who} serves"))
    }
}
