//! What every channel does alike is there once: what it needs of the store, and the words that it is asked by, are named
//! by its service and by nobody else.

use super::{Source, sources};

/// A name, and the one place besides `store/` that uses it.
const ONCE: &[(&str, &str)] = &[
    // Approvals: asking, and what is remembered of them.
    ("NewApproval", "host/src/turn/desk/"),
    ("ApprovedPaths", "host/src/turn/desk/"),
    // The flow of a unit: a turn that nobody waits for, and the reply of one that ends.
    ("dismiss", "host/src/answering/unit.rs"),
    ("end_noting", "host/src/answering/unit.rs"),
    // What the last run left.
    ("unsent", "host/src/answering/arrivals.rs"),
    // Which files are the most recent ones.
    ("NewRecent", "host/src/answering/recent.rs"),
    // Fetching files.
    ("fetch_all", "host/src/answering/files.rs"),
    // What is said to a turn that runs.
    ("taken_up", "host/src/answering/mailbox.rs"),
    // When an album is whole.
    ("is_over", "host/src/answering/mailbox.rs"),
    // Codes for strangers.
    ("NewCode", "host/src/turn/guests.rs"),
    // Attempts at a turn.
    ("withdraw_attempt", "host/src/turn/attempt.rs"),
    // Signs of life, and what is shown of a turn.
    ("is_left", "host/src/turn/alive.rs"),
    ("Watcher", "host/src/turn/live.rs"),
];

/// Commands to the gateway itself.
const COMMANDS: [&str; 4] = ["\"/new\"", "\"/retry\"", "\"/cancel\"", "\"/steer\""];

/// The code of a file, the tests that it ends with apart.
fn told(source: &Source) -> String {
    source.code().split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default().to_owned()
}

#[test]
fn what_every_channel_does_alike_is_there_once() {
    let all: Vec<_> = ["host/src", "host/warden/src"]
        .into_iter()
        .flat_map(sources)
        .filter(|source| !source.path.contains("/tests"))
        .collect();
    let mut wrong = Vec::new();
    for (name, place) in ONCE {
        // Where it is made.
        let home = |source: &&Source| {
            let code = told(source);
            ["struct", "fn"].iter().any(|item| code.contains(&format!("{item} {name}")))
        };
        let homes: Vec<_> = all.iter().filter(home).map(|source| source.path.clone()).collect();
        assert!(!homes.is_empty(), "there is no {name}, and this test looks in vain");
        let uses = all.iter().filter(|source| source.names(name) && source.room() != "store");
        let uses: Vec<_> = uses.map(|source| source.path.as_str()).collect();
        assert!(uses.iter().any(|path| path.starts_with(place)), "{place} does not use {name}");
        let handed_on = |path: &str| path.ends_with("/mod.rs") || homes.iter().any(|home| home == path);
        wrong.extend(
            uses.iter()
                .filter(|path| !path.starts_with(place) && !handed_on(path))
                .map(|path| format!("{path} uses {name}, which is for {place}")),
        );
    }
    for source in &all {
        let commands = COMMANDS.iter().filter(|command| told(source).contains(**command));
        wrong.extend(commands.map(|command| format!("{} reads {command}, which core does", source.path)));
        // The desk, and whoever runs `call --approve`.
        let approves = told(source).contains("Approver for ");
        if approves && !["host/src/turn/desk/asking.rs", "host/src/cli/approving.rs"].contains(&&*source.path)
        {
            wrong.push(format!("{} asks people without the desk", source.path));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_every_channel_uses_names_none() {
    for room in ["src/answering", "src/turn", "src/outbound", "warden/src/attachments"] {
        for source in sources(&format!("host/{room}")) {
            assert!(!told(&source).to_lowercase().contains("telegram"), "{} names a channel", source.path);
        }
    }
}
