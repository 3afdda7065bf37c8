//! Many turns with random faults on each platform, and on both with one gateway: kills, a model and
//! a platform that fail, events that come twice or out of order, a full disk, a clock that jumps.
//! Every message is answered once, or with an honest error, and again only where nobody can know
//! that it was heard; the workspace holds what the answers say, and nothing else; the audit is
//! sound; nothing grows.
//!
//! `cargo xtask test` runs the short form with a seed of its own;
//! `cargo xtask soak [CHANNEL] [TURNS [SEED]]` as long a one as wanted; `SOAK_LOG=debug` has the
//! gateway's log whole where it fails. The same seed plans the same faults; the moments of kills
//! are those of the machine.
//!
//! Not covered here: a monotonic clock that jumps (a machine that slept), single system calls that
//! fail (`files::any_fault`), power that goes (`files::power`), approvals (`conformance`).

mod answers;
mod both;
pub(crate) mod clock;
mod faults;
mod gateway;
mod growth;
mod people;
mod platforms;
mod rows;
mod stand;
mod told;
mod workflows;

use both::Both;
use faults::{Kills, Random};
use platforms::Soaked;
use stand::Stand;
use support::platform::{Discord, Telegram};

/// Turns of the short form.
const TURNS: usize = 320;
/// Messages of one wave.
const WAVE: usize = 20;
/// Of ten waves so many are with kills. The others come last, in one process, of which one can say
/// whether it grows.
const ROUGH: usize = 6;
/// Fewer have no five waves without kills.
const TURNS_MIN: usize = 13 * WAVE;

fn asked(name: &str, otherwise: usize) -> usize {
    std::env::var(name).ok().map_or(otherwise, |text| text.parse().expect("a number"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_message_is_answered_whatever_fails_on_telegram() -> anyhow::Result<()> {
    soak::<Telegram>().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_message_is_answered_whatever_fails_on_discord() -> anyhow::Result<()> {
    soak::<Discord>().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_message_is_answered_whatever_fails_on_both() -> anyhow::Result<()> {
    soak::<Both>().await
}

async fn soak<P: Soaked>() -> anyhow::Result<()> {
    let turns = asked("SOAK_TURNS", TURNS).max(TURNS_MIN);
    let seed = asked("SOAK_SEED", 20_261_122) as u64;
    println!("soak on {}: {turns} turns, seed {seed}", P::NAME);
    let mut random = Random::new(seed);
    let mut stand = Stand::<P>::start(turns).await?;
    while stand.asked() < turns {
        let kills = if stand.asked() * 10 < turns * ROUGH { Kills::Some } else { Kills::None };
        if let Err(error) = stand.wave(&mut random, WAVE, kills).await {
            panic!("seed {seed}, {} turns: {error:?}\n{}", stand.asked(), stand.tail());
        }
        if stand.asked() % 1000 < WAVE {
            println!("soak on {}: {} turns", P::NAME, stand.asked());
        }
    }
    println!("{}", stand.end().await.unwrap_or_else(|error| panic!("seed {seed}: {error:?}")));
    Ok(())
}
