//! `cofferdam store`: brings the tables to this release, and moves everything from one engine to the
//! other.

use super::{Exit, tell};
use crate::config::{Config, StoreEngine};
use crate::gateway::{ServeLock, check_account, cluster_node};
use crate::workflows::NoRuns;
use anyhow::{Context as _, bail};
use cofferdam_store::{DatabaseView, Store, StoreLocation};
use std::io::Write as _;

#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// Makes the tables of the store, or brings them to the version of this release
    #[command(after_help = MIGRATE_EXAMPLE)]
    Migrate,
    /// Copies everything into an empty store of the other engine, and leaves the first as it is
    #[command(after_help = COPY_EXAMPLE)]
    Copy {
        /// The store that is full
        from: StoreEngine,
        /// The store that is empty
        to: StoreEngine,
    },
    /// Has the people and runs of one node belong to another one, which has their files from now on
    #[command(after_help = REHOME_EXAMPLE)]
    Rehome {
        /// The node that had their files; it does not run
        from: String,
        /// The node that has them from now on
        to: String,
    },
}

const MIGRATE_EXAMPLE: &str = "Every command that writes does this by itself, but for `workflow cancel`; it is here for those who want \
to see it done first. A store of a newer release is refused, and one of an older release while a node of that is there: \
stop those first. Exit codes: 0 done; 2 it cannot be done, and nothing was changed.\nExample: DATABASE_URL=… cofferdam store migrate --config cofferdam.toml";

const COPY_EXAMPLE: &str = "Write [store] with engine = \"postgres\" first; `sqlite` is the file in [state] dir in any case. \
Meanwhile nothing may serve and no run be carried out, on other machines either. What is copied is there as a whole or not at \
all, so a copy that was cut off is simply made again, and refused where it is there already. Files, audit and people stay \
where they are, in [state] dir. With [workspace] affinity = \"user\" it is refused while another node has people, or runs that go on: \
`store rehome` them first. Exit codes: 0 done; 2 it cannot be done, and nothing was copied, or it says that this is not known.\n\
Example: cofferdam store copy sqlite postgres";

const REHOME_EXAMPLE: &str = "Where [workspace] affinity = \"user\" is written, each node has the files of its people, and what is \
done for them waits while it is away. Stop that node, copy users/ and sessions/ below its [workspace] root into that of the other \
one, which runs, then run this. What waits goes on there within seconds. Exit codes: 0 done; 2 it cannot be done, and nothing was \
changed.\nExample: cofferdam store rehome a b";

pub(super) fn run(config: &Config, command: &Command) -> anyhow::Result<Exit> {
    // What is done in PostgreSQL alone leaves nothing in the state.
    let is_sqlite = matches!(config.store.location, StoreLocation::Sqlite(_));
    if is_sqlite || matches!(command, Command::Copy { .. }) {
        check_account(config)?;
    }
    match command {
        Command::Migrate => migrate(config),
        Command::Copy { from, to } => copy(config, *from, *to),
        Command::Rehome { from, to } => rehome(config, from, to),
    }
}

fn migrate(config: &Config) -> anyhow::Result<Exit> {
    let known = config.store.location.version_known();
    let found = DatabaseView::open(&config.store.location)?.map(|look| look.version());
    Store::open(&config.store.location)?;
    let place = place(&config.store.location);
    let said = match found {
        Some(found) if found == known => format!("{place} is at version {known} already"),
        Some(found) => format!("{place} was at version {found} and is at {known} now"),
        None => format!("{place} was made, at version {known}"),
    };
    writeln!(super::stdout(), "{said}")?;
    Ok(Exit::Done)
}

fn copy(config: &Config, source: StoreEngine, target: StoreEngine) -> anyhow::Result<Exit> {
    if source == target {
        bail!(
            "FROM and TO are the same; write `cofferdam store copy sqlite postgres`, or the other way round"
        );
    }
    let (from, to) = (location(config, source)?, location(config, target)?);
    if DatabaseView::open(&from)?.is_none() {
        bail!("{} holds no store; there is nothing to copy", place(&from));
    }
    // Nothing serves with this state meanwhile, nor anywhere with the schema.
    let _lock = ServeLock::take_of_sqlite(config)?;
    // What a run did meanwhile would not be in the copy, and be done once more there.
    let Some(_no_runs) = NoRuns::take(&config.state_dir).context("cannot lock the runs")? else {
        bail!(
            "a run of a workflow is carried out, by `cofferdam serve`, `run` or `workflow resume`; wait for its end, or stop that command, then copy: the run goes on there, one of a command by `workflow resume`"
        );
    };
    let node = cluster_node(config)?;
    let (full, empty) = (Store::open_alone(&from, &node)?, Store::open_alone(&to, &node)?);
    let copied = full.copy_into(&empty, &|table, rows| tell(&format!("{table}: {rows} rows")));
    for store in [&full, &empty] {
        // What came of the copy stands in any case; what is not handed back ends with its lease.
        store.stop_asking();
        if let Err(error) = store.leave() {
            tracing::warn!(%error, "the store was not handed back");
        }
    }
    let rows = copied?;
    let (from, engine) = (place(&from), serde_json::to_string(&target)?);
    writeln!(
        super::stdout(),
        "{rows} rows were copied and counted. Now write engine = {engine} into [store] and start `cofferdam serve`. \
         What was copied is still in {from}, and nothing reads it there any more."
    )?;
    Ok(Exit::Done)
}

fn rehome(config: &Config, from: &str, to: &str) -> anyhow::Result<Exit> {
    let store = Store::open(&config.store.location)?;
    if !store.has_homes() {
        bail!("no node has files of its own; that is so where [workspace] affinity = \"user\" is written");
    }
    let look = DatabaseView::open(&config.store.location)?.context("the store has no tables")?;
    if !look.nodes()?.iter().any(|node| node.name == to) {
        bail!("node {to} is not there; start it first, with the files below its [workspace] root");
    }
    let known = look.known_nodes()?;
    if !known.contains(from) {
        let known: Vec<_> = known.into_iter().collect();
        bail!("no node {from} was ever there; write one of {}", known.join(", "));
    }
    let (people, open_runs) = store.move_homes(from, to)?;
    let mut out = super::stdout();
    writeln!(out, "people of node {from} that belong to node {to} now: {people}")?;
    writeln!(out, "open runs of node {from} that go on at node {to}: {open_runs}")?;
    Ok(Exit::Done)
}

fn location(config: &Config, engine: StoreEngine) -> anyhow::Result<StoreLocation> {
    match (engine, &config.store.location) {
        (StoreEngine::Sqlite, _) => Ok(StoreLocation::Sqlite(config.state_dir.clone())),
        (StoreEngine::Postgres, at @ StoreLocation::Postgres(_)) => Ok(at.clone()),
        (StoreEngine::Postgres, StoreLocation::Sqlite(_)) => {
            bail!("[store] names no PostgreSQL; write engine = \"postgres\" and url_env there first")
        }
    }
}

/// Where a store is, for people.
fn place(location: &StoreLocation) -> String {
    match location {
        StoreLocation::Sqlite(dir) => dir.join(cofferdam_store::FILE_NAME).display().to_string(),
        StoreLocation::Postgres(at) => format!("schema {} of PostgreSQL at {}", at.schema(), at.server()),
    }
}
