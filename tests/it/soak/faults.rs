//! What goes wrong in one wave, by the row of a seed.

use super::platforms::Soaked;
use std::time::Duration;
use support::llm::{LlmServer, Turn};

/// Knuth's linear congruential generator: the same row for the same seed.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        let mut random = Self(seed);
        random.below(2);
        random
    }

    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    /// Another row, by this one.
    pub(super) fn row(&mut self) -> Self {
        Self::new(self.below(1 << 31))
    }

    /// One of these.
    pub(super) fn one_of<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize].clone()
    }

    /// True once in so many times.
    pub(super) fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }
}

/// Whether the gateway may be killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kills {
    Some,
    None,
}

/// What is different in this wave, beside what the platform does.
#[derive(Debug, Default)]
pub(super) struct Planned {
    /// What the platform does, in words.
    pub(super) platform: Vec<String>,
    /// Answers of the model that fail, by their kind.
    pub(super) model: Vec<&'static str>,
    /// The gateway is killed.
    pub(super) kill: bool,
    /// A disk that is full for a while.
    pub(super) disk: Option<Disk>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Disk {
    Workspace,
    State,
}

impl Disk {
    /// A file that no tool reaches, and that takes all room.
    pub(super) fn filler(self) -> &'static str {
        match self {
            Self::Workspace => "workspace/vault/filler",
            Self::State => "state/filler",
        }
    }

    /// How a call may fail on it.
    pub(super) fn may_cause(code: &str) -> bool {
        let codes =
            ["no_space", "read_failed", "write_failed", "attachment_unavailable", "durability_unknown"];
        codes.contains(&code)
    }
}

/// Plans the faults of a wave, and has the platform and the model go wrong.
pub(super) fn plan<P: Soaked>(
    (platform, llm): (&P, &LlmServer),
    random: &mut Random,
    kills: Kills,
) -> Planned {
    let mut planned = Planned::default();
    for _ in 0..random.below(4) {
        planned.platform.push(platform.fail(random));
    }
    for _ in 0..random.below(3) {
        let (kind, turn) = of_model(random);
        llm.script([turn]);
        planned.model.push(kind);
    }
    if kills == Kills::Some && random.once_in(2) {
        planned.kill = true;
    } else if random.once_in(5) {
        planned.disk = Some(if random.once_in(2) { Disk::Workspace } else { Disk::State });
    }
    planned
}

/// One answer of the model goes wrong.
fn of_model(random: &mut Random) -> (&'static str, Turn) {
    let half = || Turn::say("half of an answer").in_pieces(5);
    match random.below(7) {
        0 => ("429", Turn::status(429).header("Retry-After", "1")),
        1 => ("500", Turn::status(500)),
        2 => ("529", Turn::status(529)),
        3 => ("breaks off", half().breaks_after(3)),
        4 => ("ends early", half().ends_after(3)),
        5 => ("fails midway", half().fails_after(3, "overloaded_error")),
        _ => ("no stream", Turn::plain("text/html", "<html>no stream</html>")),
    }
}

/// The moment of a kill: a few requests of some kind from now, or soon if none come.
pub(super) async fn moment<P: Soaked>(platform: &P, random: &mut Random) {
    let target = P::REQUESTS[random.below(P::REQUESTS.len() as u64) as usize];
    let (since, count) = (platform.next_request(), 1 + random.below(12) as usize);
    let soon = Duration::from_millis(100 + random.below(400));
    // Whether so many come is not known.
    let _ = tokio::time::timeout(soon, async {
        while platform.request_count(target, since) < count {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
}
