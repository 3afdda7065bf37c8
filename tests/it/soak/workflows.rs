//! Many runs of workflows that wait for people, with random faults: kills, days that go by, a
//! clock that is set, a platform that fails, replies that come twice, out of order or from two at
//! once, and runs that are cancelled meanwhile. Each run is resumed once, by one of those who may;
//! each message is out once, and again only where nobody can know that it was; what a task does is
//! done once; and nothing is left in the folders for temporary files.
//!
//! `cargo xtask soak workflows [RUNS [SEED]]` is the long form.

mod asked;
mod audited;
mod copies;
mod stand;

use super::asked;
use super::faults::Random;
use stand::Stand;

/// Runs of the short form.
const RUNS: usize = 60;
/// Runs of one wave.
const WAVE: usize = 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_run_is_resumed_once_whatever_fails() -> anyhow::Result<()> {
    let runs = asked("SOAK_RUNS", RUNS);
    let seed = asked("SOAK_SEED", 20_261_123) as u64;
    println!("soak of workflows: {runs} runs, seed {seed}");
    let mut random = Random::new(seed);
    let mut stand = Stand::start(runs).await?;
    while stand.begun() < runs {
        let some = WAVE.min(runs - stand.begun());
        if let Err(error) = stand.wave(&mut random, some).await {
            panic!("seed {seed}, {} runs: {error:?}\n{}", stand.begun(), stand.tail());
        }
        if stand.begun() % 200 < WAVE {
            println!("soak of workflows: {} runs", stand.begun());
        }
    }
    println!("{}", stand.end().unwrap_or_else(|error| panic!("seed {seed}: {error:?}")));
    Ok(())
}
