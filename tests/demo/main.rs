//! One real turn on each channel, told step by step: a photo sent to a bot on a loopback Telegram,
//! and to one on a loopback Discord, both served by the one real `cofferdam serve`. Every sentence
//! it prints has been checked; exit 0 only if all of them hold.

mod turn;

use anyhow::{Result, ensure};
use rustix::process::Signal;
use std::time::Duration;
use support::home::Home;
use support::platform::{Discord, Platform, Telegram};
use support::serving::Serving;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<()> {
    let (telegram, discord) = (Telegram::start().await?, Discord::start().await?);
    let sections = [section(&telegram), section(&discord)].concat();
    let home = Home::new().config(&sections);
    say("A Telegram Bot API server of our own listens on loopback", &telegram.0.api_url());
    say("So does a Discord: REST, gateway and files", &discord.0.api_url());

    let environment = [(Discord::TOKEN, discord.token())];
    let serving = Serving::launch(&home, telegram.token(), &[], &environment)?;
    let serving = serving.says(Telegram::READY)?.says(Discord::READY)?;
    for ready in [Telegram::READY, Discord::READY] {
        let log = serving.log();
        say("The real gateway runs", log.lines().find(|line| line.contains(ready)).unwrap_or_default());
    }

    turn::tell(&telegram, &home, &serving).await?;
    turn::tell(&discord, &home, &serving).await?;

    println!();
    let verified = home.run(&["audit", "verify"]);
    ensure!(verified.code == Some(0), "{verified:?}");
    say("audit verify", verified.stdout.lines().next().unwrap_or_default());
    let (status, log) = serving.stop(Signal::TERM, Duration::from_secs(10))?;
    ensure!(status.success(), "serve ended with {status}:\n{log}");
    for secret in [telegram.secret(), discord.secret()] {
        ensure!(!log.contains(secret), "a token is in the log");
    }
    say("SIGTERM", "the gateway finished and exited with 0; no token is in its log");
    println!("\nAll of that is true.");
    Ok(())
}

/// A channel's section, which serves one person.
fn section<P: Platform>(platform: &P) -> String {
    platform.section(&[P::person(0)])
}

/// Tells one thing that was checked.
fn say(what: &str, detail: &str) {
    println!("{what:>14}: {detail}");
}
