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
        let named = ("runs of workflows", "workflows [RUNS");
        return run_long(named, &["soak::workflows::every_run"], ("SOAK_RUNS", RUNS), numbers);
    }
    if let ["nodes", numbers @ ..] = arguments {
        setup::test_tools();
        let named = ("messages on each of two messengers and three nodes", "nodes [TURNS");
        let test = "telegram::cluster::survival::three_nodes_survive_of_another_kind";
        return run_long(named, &[test], ("SOAK_NODES_TURNS", TURNS), numbers);
    }
    let (channel, numbers) = match arguments {
        [channel, numbers @ ..] if CHANNELS.contains(channel) => (Some(*channel), numbers),
        numbers => (None, numbers),
    };
    let what = format!("turns on {}", channel.unwrap_or("each channel"));
    let usage = format!("[{}] [TURNS", CHANNELS.join("|"));
    let test = channel.map_or("soak::every_message".into(), |name| format!("whatever_fails_on_{name}"));
    // One after the other: neither waits for what the other one does.
    run_long((&what, &usage), &["--test-threads=1", &test], ("SOAK_TURNS", TURNS), numbers)
}

/// Lives through so many of what the tests do that are named so.
fn run_long(
    (what, usage): (&str, &str),
    tests: &[&str],
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
    // As it is run for months: what it holds is then what it would hold there.
    step("build the gateway", &mut cargo(&["build", "--release", "--locked", "--workspace"]))?;
    let mut soak =
        cargo(&["test", "--release", "--locked", "--workspace", "--test", "it", "--", "--nocapture"]);
    soak.args(tests);
    soak.env(variable, count.to_string()).env("SOAK_SEED", seed.to_string());
    step(&format!("soak of {count} {what} with seed {seed}"), &mut soak)
}
