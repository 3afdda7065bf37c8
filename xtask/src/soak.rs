//! `cargo xtask soak [TURNS [SEED]]`: the long form of the soak that `cargo xtask test` runs a short form of.

use crate::setup;
use crate::steps::{cargo, step};
use std::time::{SystemTime, UNIX_EPOCH};

/// Turns when nobody says.
const TURNS: u64 = 10_000;

/// Lives through so many turns with random faults; prints the seed, with which they can be planned again.
pub(crate) fn run(arguments: &[&str]) -> Result<(), String> {
    let number = |text: &&str| text.parse::<u64>().map_err(|_| format!("{text:?} is no number"));
    let clock = SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |since| since.as_secs());
    let (turns, seed) = match arguments {
        [] => (TURNS, clock),
        [turns] => (number(turns)?, clock),
        [turns, seed] => (number(turns)?, number(seed)?),
        _ => return Err("write: cargo xtask soak [TURNS [SEED]]".into()),
    };
    setup::guest_target()?;
    // As it is run for months: what it holds is then what it would hold there.
    step("build the gateway", &mut cargo(&["build", "--release", "--locked", "--workspace"]))?;
    let mut soak =
        cargo(&["test", "--release", "--locked", "--workspace", "--test", "it", "--", "--nocapture"]);
    soak.arg("telegram::soak::");
    soak.env("SOAK_TURNS", turns.to_string()).env("SOAK_SEED", seed.to_string());
    step(&format!("soak of {turns} turns with seed {seed}"), &mut soak)
}
