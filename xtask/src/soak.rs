//! `cargo xtask soak [CHANNEL] [TURNS [SEED]]`, `cargo xtask soak workflows [RUNS [SEED]]` and
//! `cargo xtask soak nodes [TURNS [SEED]]`: the long form of the soaks that `cargo xtask test` runs
//! a short form of.

use crate::setup;
use crate::steps::{cargo, step};
use std::time::{SystemTime, UNIX_EPOCH};

/// Turns when nobody says.
const TURNS: u64 = 10_000;
/// Runs of workflows when nobody says.
const RUNS: u64 = 1000;
/// Those that there is a soak of.
const CHANNELS: [&str; 3] = ["telegram", "discord", "both"];

/// Lives through so many turns with random faults, on this channel, on both with one gateway, or on
/// one after the other;
/// prints the seed, with which they can be planned again.
pub(crate) fn run(arguments: &[&str]) -> Result<(), String> {
    if let ["workflows", numbers @ ..] = arguments {
        return run_long(
            ("runs of workflows", "workflows [RUNS"),
            "soak::workflows::every_run",
            ("SOAK_RUNS", RUNS),
            numbers,
        );
    }
    if let ["nodes", numbers @ ..] = arguments {
        setup::test_tools();
        let test = "telegram::cluster::survival::three_nodes_survive_of_another_kind";
        return run_long(
            ("messages on three nodes", "nodes [TURNS"),
            test,
            ("SOAK_NODES_TURNS", TURNS),
            numbers,
        );
    }
    let number = |text: &&str| text.parse::<u64>().map_err(|_| format!("{text:?} is no number"));
    let clock = SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |since| since.as_secs());
    let (channel, numbers) = match arguments {
        [channel, numbers @ ..] if CHANNELS.contains(channel) => (Some(*channel), numbers),
        numbers => (None, numbers),
    };
    let (turns, seed) = match numbers {
        [] => (TURNS, clock),
        [turns] => (number(turns)?, clock),
        [turns, seed] => (number(turns)?, number(seed)?),
        _ => return Err(format!("write: cargo xtask soak [{}] [TURNS [SEED]]", CHANNELS.join("|"))),
    };
    setup::guest_target()?;
    // As it is run for months: what it holds is then what it would hold there.
    step("build the gateway", &mut cargo(&["build", "--release", "--locked", "--workspace"]))?;
    let mut soak =
        cargo(&["test", "--release", "--locked", "--workspace", "--test", "it", "--", "--nocapture"]);
    // One after the other: neither waits for what the other one does.
    soak.arg("--test-threads=1");
    soak.arg(channel.map_or("soak::every_message".into(), |name| format!("whatever_fails_on_{name}")));
    soak.env("SOAK_TURNS", turns.to_string()).env("SOAK_SEED", seed.to_string());
    let on = channel.unwrap_or("each channel");
    step(&format!("soak of {turns} turns on {on} with seed {seed}"), &mut soak)
}

/// Lives through so many of what one test does.
fn run_long(
    (what, usage): (&str, &str),
    test: &str,
    (variable, otherwise): (&str, u64),
    numbers: &[&str],
) -> Result<(), String> {
    let number = |text: &&str| text.parse::<u64>().map_err(|_| format!("{text:?} is no number"));
    let clock = SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |since| since.as_secs());
    let (count, seed) = match numbers {
        [] => (otherwise, clock),
        [count] => (number(count)?, clock),
        [count, seed] => (number(count)?, number(seed)?),
        _ => return Err(format!("write: cargo xtask soak {usage} [SEED]]")),
    };
    setup::guest_target()?;
    step("build the gateway", &mut cargo(&["build", "--release", "--locked", "--workspace"]))?;
    let mut soak =
        cargo(&["test", "--release", "--locked", "--workspace", "--test", "it", "--", "--nocapture"]);
    soak.arg(test);
    soak.env(variable, count.to_string()).env("SOAK_SEED", seed.to_string());
    step(&format!("soak of {count} {what} with seed {seed}"), &mut soak)
}
