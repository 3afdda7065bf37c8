//! The project's commands, `cargo xtask demo` and `cargo xtask test` before all. Each does its own
//! set-up.
//!
//! Needs nothing but rustup's plain toolchain; depends on no crate, so that it starts at once.

mod check;
mod debian;
mod demo;
mod dist;
mod dist_check;
mod fuzz;
mod guests;
mod setup;
mod soak;
mod steps;
mod test;

use std::process::ExitCode;

const HELP: &str = "\
cargo xtask COMMAND

  demo         sets up, builds, and runs one real turn on each channel, on loopback: a photo sent to a
               Telegram and a Discord bot, saved by a sandboxed tool, audited and answered; each step
               is told and checked
  test         what CI runs, all of it: format, the demo, tests, and beside them clippy, docs,
               dependency rules
  check [CRATE]...
               the fast loop: format, clippy and tests of what differs from the last commit, or of these
               crates, with clippy of what is built of them
  tools        installs into target/tools what some tests need and cargo does not bring, as `test` does
  bench [PART]... [quick]
               the benchmarks behind docs/benchmarks.md, in release mode, or those named: reads, many,
               growth, saves, tools, start, turns, nodes, workflows; quick: few rounds of each
  bench mcp [quick]
               calls beside npm's server-filesystem, and foreign guests beside native programs
  fuzz TARGET [SECONDS]
               libFuzzer on one of fuzz/fuzz_targets for 60 s or as long as said, from the committed
               corpus; `test` runs every target's check on the corpus without it
  soak workflows [RUNS [SEED]]
               1000 runs that wait for people, with kills, days that go by and replies that come twice
  soak nodes [TURNS [SEED]]
               10 000 messages on three nodes and two servers of PostgreSQL, or as many as said: kills, nodes
               that sleep or are cut off, jumps of their clocks, failover
  soak [telegram|discord|both] [TURNS [SEED]]
               10 000 turns on each, or as many as said, with random faults: kills, a full disk, jumps of
               the clock, a network and a model that fail; `test` runs a short form with a seed of its own
  dist [ARCH]...
               what people install, into target/dist: static programs for x86_64 and aarch64, or for
               those named, with licences, bills of materials, checksums, an OCI image and an installer
  dist check [ARCH]...
               installs that, refuses it changed, and runs it where there is nothing else; aarch64's
               in an emulated machine
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["demo"] => demo::run(),
        ["test"] => test::run(),
        ["check", rest @ ..] => check::run(rest),
        ["tools"] => test::tools(),
        ["bench", rest @ ..] => test::bench(rest),
        ["fuzz", rest @ ..] => fuzz::run(rest),
        ["dist", "check", rest @ ..] => dist_check::run(rest),
        ["dist", rest @ ..] => dist::run(rest),
        ["soak", rest @ ..] => soak::run(rest),
        [] | ["help" | "--help" | "-h"] => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        _ => {
            eprint!("{HELP}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failed) => {
            eprintln!("\nxtask: {failed}");
            ExitCode::FAILURE
        }
    }
}
