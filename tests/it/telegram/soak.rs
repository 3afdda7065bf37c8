//! Many turns with random faults: kills, a model and a Telegram that fail, updates that come twice or out of order, a
//! full disk, a clock that jumps. Every message is answered once, or with an honest error; the workspace holds what the
//! answers say, and nothing else; the audit is sound; nothing grows.
//!
//! `cargo xtask test` runs the short form with a seed of its own; `cargo xtask soak [TURNS [SEED]]` as long a one as
//! wanted. The same seed plans the same faults; the moments of kills are those of the machine.
//!
//! Not covered here: a monotonic clock that jumps (a machine that slept), single system calls that fail
//! (`files::any_fault`), power that goes (`files::power`), approvals (`telegram::approvals`), other channels.

mod clock;
mod faults;
mod growth;
mod people;
mod stand;

use faults::Random;
use stand::Stand;

/// Turns of the short form.
const TURNS: u64 = 320;
/// Fewer have no last part.
const TURNS_MIN: u64 = 100;
/// Messages of one wave.
const WAVE: usize = 20;

fn asked(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().map_or(otherwise, |text| text.parse().expect("a number"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_message_is_answered_whatever_fails() -> anyhow::Result<()> {
    let turns = asked("SOAK_TURNS", TURNS).max(TURNS_MIN) as usize;
    let seed = asked("SOAK_SEED", 20_261_122);
    println!("soak: {turns} turns, seed {seed}");
    let mut random = Random::new(seed);
    let mut stand = Stand::start(turns).await?;
    while stand.asked() < turns {
        // The last part is without kills: one process, of which one can say whether it grows.
        let last_part = stand.asked() * 10 >= turns * 6;
        let result = stand.wave(&mut random, WAVE, last_part).await;
        if let Err(error) = result {
            panic!("seed {seed}, {} turns: {error:?}\n{}", stand.asked(), stand.tail());
        }
    }
    println!("{}", stand.end().await.unwrap_or_else(|error| panic!("seed {seed}: {error:?}")));
    Ok(())
}
