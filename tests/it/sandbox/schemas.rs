//! Schemas that would keep the gateway busy, where nothing of a guest's own runs: one does not
//! load, the other is ended by its steps, and whoever sent the arguments can go on.

use super::SOON;
use super::chat::Chat;
use super::odd::does_not_load;
use std::fmt::Write as _;
use std::time::Instant;
use support::guests;
use support::home::Home;

/// What is said of a schema that needs too many steps.
const TOO_COSTLY: &str = "the tool's schema is too costly for these arguments: checking them takes more than \
                          300000000 steps; give fewer or shorter ones, or let the tool's author write a simpler schema";

/// A gateway with this odd component; its argument `text`, if it has one, is a value.
fn odd(name: &str, arguments: &str) -> Home {
    let policy = format!("safety = \"read-only\"\n{arguments}");
    Home::new().tool(name, "file-read-only", &format!("examples/{name}"), &policy)
}

/// A list of so many numbers, as arguments.
fn numbers(count: usize) -> String {
    let mut text = "{\"list\":[0".to_owned();
    for n in 1..count {
        let _ = write!(text, ",{}", n % 10);
    }
    text + "]}"
}

#[test]
fn a_pattern_that_takes_more_than_one_reading_does_not_load() {
    let home = odd("looks_ahead", "[arguments]\ntext = \"value\"\n");
    let says = "the tool's schema is not usable: #/properties/text/pattern: looks ahead, which takes more than one \
                reading; write what the text is, not what it is not; mend it in the tool's describe";
    does_not_load(&home, "looks_ahead", ": ", says);
    let explained = home.run(&["policy", "explain", "looks_ahead", &format!("text={}", "a".repeat(40_000))]);
    assert_eq!(explained.code, Some(1), "{explained:?}");
    assert!(explained.stdout.contains(says), "{explained:?}");
    let component = guests::path("examples/looks_ahead");
    let component = component.to_str().expect("text");
    let policy = home.policies_dir().join("tools/looks_ahead.toml");
    let inspected = home.run(&["tool", "inspect", component, "--policy", policy.to_str().expect("text")]);
    assert_eq!(inspected.code, Some(3), "{inspected:?}");
    assert!(inspected.stdout.contains("#/properties/text/pattern: looks ahead"), "{inspected:?}");
}

#[test]
fn a_schema_that_fans_out_is_ended_by_its_steps() {
    let home = odd("fans_out", "");
    let few = home.call(&["fans_out", "--args", &numbers(100)]);
    assert_eq!((few.code, few.stdout.as_str()), (Some(0), "{}\n"), "{few:?}");

    let file = home.file("arguments.json", numbers(10_000).as_bytes());
    let many = ["fans_out", "--args", &format!("@{file}")];
    let started = Instant::now();
    let ran = home.call(&many);
    assert_eq!((ran.code, ran.error().as_str()), (Some(1), "invalid_arguments"), "{ran:?}");
    assert_eq!(ran.message(), TOO_COSTLY);
    assert_eq!(home.audit().pop().expect("a record")["code"], "invalid_arguments");
    let explained = home.run(&[&["policy", "explain"][..], &many].concat());
    assert_eq!(explained.code, Some(1), "{explained:?}");
    assert!(explained.stdout.contains(&format!("invalid_arguments: {TOO_COSTLY}")), "{explained:?}");
    assert!(started.elapsed() < SOON, "{:?}", started.elapsed());
}

#[test]
fn whoever_sends_costly_arguments_can_go_on() {
    let home = odd("fans_out", "");
    let mut chat = Chat::start(&home);
    for _ in 0..3 {
        assert_eq!(
            chat.say(&format!("/fans_out {}", numbers(10_000))),
            format!("invalid_arguments: {TOO_COSTLY}")
        );
        let said = chat.say("/file_read path=/shared/none");
        assert!(said.starts_with("not_found: "), "no thread is given up: {said}");
    }
    chat.end();
}

#[test]
fn a_check_ends_with_its_calls_time() {
    let policy = "safety = \"read-only\"\n[limits]\ndeadline = \"1ms\"\n";
    let home = Home::new().tool("fans_out", "file-read-only", "examples/fans_out", policy);
    let file = home.file("arguments.json", numbers(10_000).as_bytes());
    let ran = home.call(&["fans_out", "--args", &format!("@{file}")]);
    assert_eq!((ran.code, ran.error().as_str()), (Some(1), "timed_out"), "{ran:?}");
    assert_eq!(ran.message(), "the arguments were not checked within 1ms; nothing was changed");
}
