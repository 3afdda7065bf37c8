//! What goes wrong in one wave, by the row of a seed.

use super::stand::Stand;
use std::time::Duration;
use support::llm::Turn;
use support::telegram::{Fault, Target};

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

    /// True once in so many times.
    pub(super) fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }
}

/// What may be different in this wave.
#[derive(Debug, Default)]
pub(super) struct Planned {
    /// Answers of the model that fail.
    pub(super) model: usize,
    /// Messages of the bot whose acknowledgement is lost: each may come twice.
    pub(super) lost: usize,
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
}

/// Plans the faults of a wave.
pub(super) fn plan(stand: &Stand, random: &mut Random, no_kills: bool) -> Planned {
    let mut planned = Planned::default();
    for _ in 0..random.below(4) {
        planned.lost += usize::from(telegram(stand, random));
    }
    for _ in 0..random.below(3) {
        stand.llm.script([model(random)]);
        planned.model += 1;
    }
    if !no_kills && random.once_in(2) {
        planned.kill = true;
    } else if stand.disks() && random.once_in(5) {
        planned.disk = Some(if random.once_in(2) { Disk::Workspace } else { Disk::State });
    }
    planned
}

/// One request to Telegram goes wrong; whether it takes effect all the same.
fn telegram(stand: &Stand, random: &mut Random) -> bool {
    let lost = [Fault::close_in_head(), Fault::truncated(9), Fault::internal_error().after_effect()];
    let refused = [
        Fault::internal_error(),
        Fault::bad_gateway(),
        Fault::close(),
        Fault::too_many_requests(1),
        Fault::garbage(),
        Fault::empty_body(),
        Fault::refused_with_200(500, "Internal Server Error"),
    ];
    let one_of =
        |random: &mut Random, faults: &[Fault]| faults[random.below(faults.len() as u64) as usize].clone();
    let fault = one_of(random, &refused);
    match random.below(8) {
        0 => {
            stand.telegram.fault("sendMessage", 1, one_of(random, &lost));
            return true;
        }
        1 | 2 => stand.telegram.fault("sendMessage", 1, fault),
        3 => stand.telegram.fault("getUpdates", 1, fault),
        4 => stand.telegram.fault("getUpdates", 1, one_of(random, &lost)),
        5 => stand.telegram.fault("getFile", 1, fault),
        6 => stand.telegram.fault(Target::download(), 1, Fault::truncated(random.below(40))),
        _ => stand.telegram.fault("sendChatAction", 2, fault),
    }
    false
}

/// One answer of the model goes wrong.
fn model(random: &mut Random) -> Turn {
    match random.below(7) {
        0 => Turn::status(429).header("Retry-After", "1"),
        1 => Turn::status(500),
        2 => Turn::status(529),
        3 => Turn::say("half of an answer").in_pieces(5).breaks_after(3),
        4 => Turn::say("half of an answer").in_pieces(5).ends_after(3),
        5 => Turn::say("half of an answer").in_pieces(5).fails_after(3, "overloaded_error"),
        _ => Turn::plain("text/html", "<html>no stream</html>"),
    }
}

/// The moment of a kill: a few requests of some kind from now, or soon if none come.
pub(super) async fn moment(stand: &Stand, random: &mut Random) {
    let target = ["getUpdates", "getFile", "sendChatAction", "sendMessage"][random.below(4) as usize];
    let count = stand.telegram.request_count(target) + 1 + random.below(12) as usize;
    let soon = Duration::from_millis(100 + random.below(400));
    // Whether so many come is not known.
    let _ = tokio::time::timeout(soon, async {
        while stand.telegram.request_count(target) < count {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
}
