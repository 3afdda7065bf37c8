//! Kills at arbitrary moments while three people write, with a network that fails now and then:
//! every message is answered, every file is saved once and whole, and the audit stays sound.

use super::world::{ANN, BEN, CAT, PATIENCE, World, save};
use std::collections::BTreeSet;
use support::telegram::{Fault, Incoming, Media, Target};

pub(super) const PEOPLE: [i64; 3] = [ANN, BEN, CAT];
const MESSAGES: usize = 36;
const KILLS: usize = 12;

/// Knuth's linear congruential generator: the same row for the same seed.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

pub(super) fn message(n: usize) -> Incoming {
    let message = Incoming::private(PEOPLE[n % 3]);
    match n % 4 {
        0 => message.text("hello"),
        1 => message.document(Media::with_content(&format!("d{n}"), content(n))),
        _ => {
            let document = Media::with_content(&format!("d{n}"), content(n));
            message.document(document).caption(&save(0, &format!("/shared/{n}")))
        }
    }
}

/// Some are held in memory, some are spooled to disk.
pub(super) fn content(n: usize) -> Vec<u8> {
    format!("file {n} ").repeat(if n.is_multiple_of(5) { 40_000 } else { 3 }).into_bytes()
}

pub(super) fn fault(world: &World, random: &mut Random) {
    match random.below(6) {
        0 => world.server.fault("sendMessage", 1, Fault::internal_error()),
        1 => world.server.fault("getUpdates", 1, Fault::close()),
        2 => world.server.fault(Target::download(), 1, Fault::truncated(2)),
        3 => world.server.fault("getFile", 1, Fault::close_in_head()),
        _ => {}
    }
}

async fn survives(seed: u64) -> anyhow::Result<()> {
    let mut random = Random(seed);
    let mut world = World::running().await?;
    let mut pushed = Vec::new();
    for _ in 0..KILLS {
        let next = pushed.len()..pushed.len() + MESSAGES / KILLS;
        pushed.extend(world.server.push_all(next.map(message)));
        fault(&world, &mut random);
        // The moment of the kill: some requests from now, whatever they ask for, or as many as
        // there are.
        let target = ["getUpdates", "getFile", "sendChatAction", "sendMessage"][random.below(4) as usize];
        let count = world.server.requests(target).len() + random.below(3) as usize;
        let _ = world.server.wait_for_requests(std::time::Duration::from_millis(700), target, count).await;
        world.kill();
        world.start()?;
    }
    for question in &pushed {
        world.answer(question).await?;
    }
    // Behind everything in each chat.
    for who in PEOPLE {
        let last = world.server.push(Incoming::private(who).text("the last"));
        world.answer(&last).await?;
    }
    for (n, question) in pushed.iter().enumerate().filter(|(n, _)| n % 4 > 1) {
        assert!(world.saved(&format!("/shared/{n}")) == content(n), "{n}");
        let answer = world.answer(question).await?.text;
        assert!(answer.contains(r#""saved":true"#), "{n}: {answer}");
    }
    let sent = world.server.sent_messages();
    let answered: BTreeSet<_> = sent.iter().map(|sent| (sent.chat_id, sent.reply_to)).collect();
    assert_eq!(answered.len(), MESSAGES + PEOPLE.len());
    // A kill may come between a message and its acknowledgement, in each chat.
    let repeated = sent.len() - answered.len();
    assert!(repeated <= KILLS * PEOPLE.len(), "{repeated} repeated");
    world.server.wait_until_idle(PATIENCE, "sendMessage").await?;
    world.end(sent.len())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn of_one_kind() -> anyhow::Result<()> {
    survives(1).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn of_another_kind() -> anyhow::Result<()> {
    survives(2).await
}
