//! Deadlines: guests that never end, in their own code or in a host function, in a worker or in the
//! gateway's own process, where nobody can kill them.

use super::chat::Chat;
use super::{SOON, answered, begun, contents, refused};
use rustix::process::{Pid, Signal, kill_process};
use std::process::Child;
use std::time::{Duration, Instant};
use support::home::{Home, Ran};

const DEADLINE: Duration = Duration::from_millis(400);

/// The attacker under that deadline.
fn impatient(memory: &str) -> Home {
    Home::new().hostile(&format!("memory = \"{memory}\"\ndeadline = \"400ms\""))
}

/// A behaviour that is ended by its deadline and changes nothing.
fn ends(memory: &str, arguments: &[&str]) {
    ends_in(&impatient(memory), arguments);
}

fn ends_in(home: &Home, arguments: &[&str]) {
    let before = contents(home);
    let started = Instant::now();
    refused(home, arguments, "timed_out", "did not finish within 400ms; nothing was changed");
    assert!(started.elapsed() >= DEADLINE, "{arguments:?} ended early");
    let named = |(name, _): &(String, _)| !["shared", "tmp", "vault"].contains(&name.as_str());
    assert!(before.is_empty() && !contents(home).iter().any(named), "{:?}", contents(home));
}

#[test]
fn a_guest_that_spins_is_ended() {
    ends("16 MiB", &["behaviour=spin"]);
}

#[test]
fn a_guest_that_spins_in_bulk_operations_is_ended() {
    ends("64 MiB", &["behaviour=spin_bulk"]);
}

#[test]
fn a_guest_that_waits_in_the_host_is_ended() {
    ends("16 MiB", &["behaviour=sleep"]);
    ends("16 MiB", &["behaviour=poll_never"]);
}

#[test]
fn a_guest_that_spins_while_it_writes_is_ended() {
    ends("16 MiB", &["behaviour=spin_mid_write", "path=/shared/late"]);
    ends("16 MiB", &["behaviour=stage_then_spin", "path=/shared/late"]);
}

#[test]
fn what_was_sealed_in_time_is_not_published_late() {
    let home = impatient("16 MiB");
    let mut chat = Chat::start(&home);
    for behaviour in ["stage_then_spin", "spin_mid_write"] {
        let said = chat.say(&format!("/hostile behaviour={behaviour} path=/shared/late"));
        assert!(said.starts_with("timed_out: "), "{said}");
    }
    assert_eq!(chat.say("/hostile behaviour=ok"), r#"{"ok":true}"#);
    assert!(!home.host("/shared/late").exists() && home.leftovers().is_empty());
    chat.end();
    assert!(!home.host("/shared/late").exists() && home.leftovers().is_empty());
}

#[test]
fn a_guest_that_spins_is_ended_when_it_is_cancelled() {
    let home = Home::new().hostile("memory = \"16 MiB\"\ndeadline = \"120s\"");
    let (child, mut log) = begun(home.command(&["call", "hostile", "behaviour=spin"]));
    assert!(log.any(|line| line.contains("guest: spinning")), "it runs");
    kill_process(Pid::from_child(&child), Signal::INT).expect("ours");
    let rest: Vec<String> = log.collect();
    let ran = Ran::from(child.wait_with_output().expect("ours"));
    assert_eq!((ran.code, ran.error().as_str()), (Some(1), "cancelled"), "{ran:?} {rest:?}");
}

/// A process of its own that spins until it is dropped.
struct Spinner(Child);

impl Drop for Spinner {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn two_processes_that_spin_do_not_stop_a_third() {
    let home = Home::new().hostile("memory = \"16 MiB\"\ndeadline = \"120s\"");
    let spin = || Spinner(home.command(&["call", "hostile", "behaviour=spin"]).spawn().expect("it starts"));
    let mut spinners = [spin(), spin()];
    let started = Instant::now();
    assert_eq!(answered(&home, &["behaviour=ok"])["ok"], true);
    assert!(started.elapsed() < SOON);
    for spinner in &mut spinners {
        assert!(spinner.0.try_wait().expect("ours").is_none(), "it ended by itself");
    }
}
