//! What a running gateway holds in quiet moments, and whether that grows.

use super::people::PEOPLE;
use anyhow::{Context, Result, ensure};
use std::collections::BTreeSet;
use std::fmt;
use support::prometheus::Page;
use support::workers;

/// One kind of thing that a process can hold too much of.
struct Kind {
    name: &'static str,
    /// The last fifth of a life may be above the second by this share,
    share: f64,
    /// and by so many.
    more: u64,
}

const KINDS: [Kind; 6] = [
    Kind { name: "memory, KiB", share: 0.05, more: 2 << 10 },
    Kind { name: "largest worker, KiB", share: 0.05, more: 2 << 10 },
    Kind { name: "workers", share: 0.0, more: 2 },
    // Files that are open for a moment; a waiting worker's socket and mounts.
    Kind { name: "descriptors", share: 0.0, more: 24 },
    Kind { name: "threads", share: 0.0, more: 4 },
    Kind { name: "tasks", share: 0.0, more: 0 },
];
/// One worker a session, the one ahead, and one that is being replaced.
const WORKERS_MAX: usize = PEOPLE + 2;

/// How many of each kind there are at one moment, connections to others apart: how many of these
/// wait to be used again is their pool's affair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Held([u64; KINDS.len()]);

impl Held {
    /// Of a process that is quiet, by what `/metrics` at this port says and by what the kernel
    /// does.
    ///
    /// # Errors
    /// When it is not quiet, or has more than it ever may.
    pub(super) fn now(process: u32, page: &Page, port: u16) -> Result<Self> {
        let told = |name: &str| page.get(name, &[]).with_context(|| format!("{name} is not told"));
        for name in ["cofferdam_messages_held", "cofferdam_calls_waiting"] {
            ensure!(told(name)? == 0.0, "{name} is {}", told(name)?);
        }
        let descriptors = workers::descriptors(process);
        let sockets = descriptors.values().filter_map(|open| open.target.strip_prefix("socket:["));
        let sockets = sockets.map(|socket| socket.trim_end_matches(']')).collect();
        let connections = connections(process, port, &sockets)?;
        let tasks = (told("cofferdam_tasks")? as u64).saturating_sub(connections);
        let workers = workers::of(process);
        ensure!(workers.len() <= WORKERS_MAX, "{} workers", workers.len());
        let largest = workers.iter().filter_map(|worker| workers::memory(*worker)).max();
        Ok(Self([
            workers::memory(process).context("it runs")?,
            largest.unwrap_or(0),
            workers.len() as u64,
            (descriptors.len() as u64).saturating_sub(connections),
            workers::number(process, "Threads").context("it runs")?,
            tasks,
        ]))
    }

    /// Tasks, connections apart.
    pub(super) fn tasks(&self) -> u64 {
        self.0[KINDS.len() - 1]
    }

    /// Whether there are no more tasks than that.
    pub(super) fn has_tasks_of(&self, most: u64) -> Result<()> {
        let tasks = self.tasks();
        ensure!(tasks <= most, "{tasks} tasks, where {most} are the most");
        Ok(())
    }
}

/// How many of these sockets are connections over TCP, those to this port of the process's own
/// apart.
fn connections(process: u32, port: u16, sockets: &BTreeSet<&str>) -> Result<u64> {
    /// As the kernel numbers what a connection can be: both sides are there, or only this one.
    const STATES: [&str; 2] = ["01", "08"];
    let table = std::fs::read_to_string(format!("/proc/{process}/net/tcp"))?;
    let own = format!(":{port:04X}");
    let connection = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [_, here, _, state, _, _, _, _, _, socket, ..] = fields[..] else { return None };
        let counts = STATES.contains(&state) && !here.ends_with(&own) && sockets.contains(socket);
        counts.then(|| socket.to_owned())
    };
    // By socket: where others connect meanwhile, the kernel may tell of one twice.
    Ok(table.lines().filter_map(connection).collect::<BTreeSet<_>>().len() as u64)
}

/// The most of each kind in each fifth of a life, for whoever reads the end of a run.
///
/// # Errors
/// When the last has more than the second, beyond what comes and goes. The first is the warm-up.
pub(super) fn judge(life: &[Held]) -> Result<Fifths> {
    let most = |n: usize| {
        let part = &life[life.len() * n / 5..life.len() * (n + 1) / 5];
        let most = |kind: usize| part.iter().map(|held| held.0[kind]).max().unwrap_or(0);
        Held(std::array::from_fn(most))
    };
    let fifths = Fifths(std::array::from_fn(most));
    for (kind, Kind { name, share, more }) in KINDS.iter().enumerate() {
        let [_, second, _, _, last] = fifths.0.map(|held| held.0[kind]);
        let most = second as f64 * (1.0 + share) + *more as f64;
        ensure!(last as f64 <= most, "{name}: it grows\n{fifths}");
    }
    Ok(fifths)
}

/// The most of each kind, by fifths.
pub(super) struct Fifths([Held; 5]);

impl fmt::Display for Fifths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (kind, Kind { name, .. }) in KINDS.iter().enumerate() {
            writeln!(f, "  {name}: {:?}", self.0.map(|held| held.0[kind]))?;
        }
        Ok(())
    }
}

mod tests {
    use super::*;

    #[test]
    fn what_grows_by_the_turn_is_found() {
        let life = |grows: &dyn Fn(usize) -> u64, kind: usize| -> Vec<Held> {
            let held = |n: usize| {
                let mut held = [40_000; KINDS.len()];
                held[kind] = grows(n);
                Held(held)
            };
            (0..200).map(held).collect()
        };
        // A warm-up, and what comes and goes.
        assert!(judge(&life(&|n| 30_000 + 10_000 * u64::from(n > 20) + n as u64 % 3, 0)).is_ok());
        // Two KiB a turn, of which a wave has twenty.
        assert!(judge(&life(&|n| 40_000 + 40 * n as u64, 0)).is_err());
        for (kind, Kind { name, .. }) in KINDS.iter().enumerate() {
            assert!(judge(&life(&|n| 40_000 + 100 * n as u64, kind)).is_err(), "{name}");
        }
        assert!(judge(&life(&|n| 10 + u64::from(n == 180), 5)).is_err(), "one task is one too many");
    }
}
