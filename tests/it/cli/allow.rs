//! `cofferdam allow` on the state folder alone: who is served, letting in, and what it refuses.

use super::refused;
use serde_json::json;
use support::home::Home;

/// A gateway that serves somebody, with a stranger whose code waits and one whose code has expired.
fn home() -> Home {
    let home = Home::new().telegram("http://127.0.0.1:1", &[5]);
    let waiting = |sender: &str, code: &str, expires_at: i64| {
        json!({ "channel": "telegram", "sender": sender, "name": "Eve \u{202E}evil", "code": code,
                "issued_at": 1, "expires_at": expires_at })
    };
    let late = 4_102_444_800_000; // 2100
    let file =
        json!({ "paired": [], "waiting": [waiting("7", "7KQ2-M9X0", late), waiting("8", "AAAA-AAAA", 2)] });
    std::fs::write(home.state().join("people.json"), file.to_string()).expect("writable");
    home
}

#[test]
fn who_is_served_and_who_waits_is_listed() {
    let home = home();
    let ran = home.run(&["allow"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (
            Some(0),
            "telegram:5 from the configuration\n\
             waiting: telegram:7 \"Eve  evil\" until 2100-01-01T00:00:00Z; to let them in: cofferdam allow 7KQ2-M9X0\n"
        )
    );
    let ran = home.run(&["allow", "--json"]);
    assert!(ran.stdout.contains("Eve \\u202eevil"), "{ran:?}");
    assert_eq!(
        ran.json(),
        json!({
            "allowed": [{ "channel": "telegram", "id": "5", "origin": "config" }],
            "waiting": [{ "channel": "telegram", "id": "7", "name": "Eve \u{202E}evil", "code": "7KQ2-M9X0",
                          "expires": "2100-01-01T00:00:00Z" }],
        })
    );
    assert_eq!(Home::new().run(&["allow"]).stdout, "nobody is served\n");
}

#[test]
fn a_code_is_accepted_once_and_a_person_taken_out_again() {
    let home = home();
    let ran = home.run(&["allow", "7kq2m9xo", "--json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let allowed = &ran.json()["allowed"];
    assert_eq!((&allowed["id"], &allowed["origin"]), (&json!("7"), &json!("paired")));
    refused(
        &home.run(&["allow", "7KQ2-M9X0"]),
        &["no stranger has the code 7KQ2-M9X0", "it was used, has expired"],
    );
    let record = home.audit().pop().expect("recorded");
    let said = (&record["event"], &record["channel"], &record["sender"], &record["access"]);
    assert_eq!(said, (&json!("access"), &json!("telegram"), &json!("7"), &json!("allowed")));
    let shown = home.run(&["audit", "show"]).stdout;
    assert!(shown.contains("access   telegram:7 allowed by cli:"), "{shown}");
    assert_eq!(home.run(&["audit", "show", "--sender", "7"]).stdout, shown);
    assert!(!home.run(&["audit", "show", "--sender", "8"]).stdout.contains("access"));
    assert_eq!(home.run(&["audit", "verify"]).code, Some(0));
    let ran = home.run(&["allow", "--remove", "7", "--json"]);
    assert_eq!((ran.code, &ran.json()["still_configured"]), (Some(0), &json!(false)));
    assert_eq!(home.run(&["allow"]).stdout, "telegram:5 from the configuration\n");
    refused(&home.run(&["allow", "--remove", "7"]), &["nobody of the id \"7\" was let in by a code"]);
}

#[test]
fn what_cannot_be_done_is_refused_and_changes_nothing() {
    let home = home();
    let before = std::fs::read(home.state().join("people.json")).expect("there");
    for (words, said) in [
        (&["allow", "AAAA-AAAA"][..], "no stranger has the code AAAA-AAAA"),
        (&["allow", "ZZZZ-ZZZZ"], "no stranger has the code ZZZZ-ZZZZ"),
        (&["allow", "7KQ2"], "\"7KQ2\" is not a code; one looks like 7KQ2-M9XD"),
        (&["allow", "../../etc"], "is not a code"),
        (&["allow", "--remove", "5"], "/cofferdam.toml:7); take it out there, then run `cofferdam reload`"),
        (&["allow", "--remove", "@ann"], "nobody of the id \"@ann\""),
        (&["allow", "7KQ2-M9X0", "--remove", "7"], "cannot be used with"),
    ] {
        refused(&home.run(words), &[said]);
    }
    // Nobody waits for the other end of a FIFO.
    let piped = Home::new();
    let pipe = piped.state().join("people.json");
    rustix::fs::mkfifoat(rustix::fs::CWD, pipe, 0o600.into()).expect("ours");
    refused(
        &piped.run(&["allow"]),
        &["people.json is not what any release writes (it is not a regular file)"],
    );
    // Without the audit nobody is let in.
    std::fs::create_dir(home.state().join("audit.jsonl")).expect("writable");
    refused(&home.run(&["allow", "7KQ2-M9X0"]), &["audit"]);
    assert_eq!(std::fs::read(home.state().join("people.json")).expect("there"), before);
    assert!(home.audit().is_empty());
}

#[test]
fn who_is_named_in_the_environment_is_taken_out_there() {
    let variable = "COFFERDAM_CHANNELS_TELEGRAM_ALLOWED_USERS";
    let home = home().environment([(variable, "6".to_owned())]);
    let told =
        format!("6 is named in allowed_users ({variable}); take it out there, then restart the gateway");
    refused(&home.run(&["allow", "--remove", "6"]), &[&told]);
}

#[test]
fn who_is_named_for_two_channels_is_told_both_places() {
    let home = home().config("[channels.discord]\nallowed_users = [5]\n");
    let text = std::fs::read_to_string(home.config_file()).expect("there");
    let named = text.lines().enumerate().filter(|(_, line)| line.starts_with("allowed_users"));
    let lines: Vec<usize> = named.map(|(n, _)| n + 1).collect();
    assert_eq!(lines.len(), 2, "{text}");
    let first = format!("5 is named in allowed_users ({}:{})", home.config_file().display(), lines[0]);
    let second = format!(" and allowed_users ({}:{})", home.config_file().display(), lines[1]);
    let told = format!("{first}{second}; take it out there, then run `cofferdam reload`");
    refused(&home.run(&["allow", "--remove", "5"]), &[&told]);
    // A restart takes up what is in the file as well.
    let variable = "COFFERDAM_CHANNELS_DISCORD_ALLOWED_USERS";
    let home = home.environment([(variable, "5".to_owned())]);
    let told = format!("{first} and allowed_users ({variable}); take it out there, then restart the gateway");
    refused(&home.run(&["allow", "--remove", "5"]), &[&told]);
}

/// Only root can make a folder somebody else's; for others this shows that their own is accepted.
#[test]
fn another_account_than_the_states_changes_nothing() {
    let home = home();
    let others = std::os::unix::fs::chown(home.state(), Some(54_321), None).is_ok();
    let ran = home.run(&["allow", "7KQ2-M9X0"]);
    if others {
        refused(
            &ran,
            &["the state folder belongs to the account 54321; run this as that one: sudo -u '#54321'"],
        );
    }
    assert_eq!(
        home.run(&["allow", "--json"]).json()["waiting"].as_array().map(Vec::len),
        Some(usize::from(others))
    );
}
