//! What every channel does alike is there once: what it needs of the store, and the words that it
//! is asked by, are named by its service and by nobody else. So is whom clients trust over TLS.

use super::{CRATES, Source, sources};

/// A name, and the one place besides `host/store` that uses it.
const ONCE: &[(&str, &str)] = &[
    // Approvals: asking, and what is remembered of them.
    ("NewApproval", "host/chat/src/approvals/"),
    ("ApprovedPaths", "host/chat/src/approvals/"),
    // The flow of a unit: a turn that nobody waits for, and the reply of one that ends.
    ("dismiss", "host/chat/src/handler/turn.rs"),
    ("end_noting", "host/chat/src/handler/turn.rs"),
    // What the last run left, or another node.
    ("take_over", "host/chat/src/handler/incoming.rs"),
    // Which files are the most recent ones.
    ("NewRecent", "host/chat/src/handler/recent.rs"),
    // Fetching files.
    ("fetch_all", "host/chat/src/handler/files.rs"),
    // What is said to a turn that runs.
    ("load_taken_up", "host/chat/src/handler/mailbox.rs"),
    // When an album is whole.
    ("is_over", "host/chat/src/handler/mailbox.rs"),
    // Codes for strangers.
    ("NewCode", "host/chat/src/people/paired.rs"),
    // Attempts at a turn.
    ("withdraw_attempt", "host/chat/src/attempt.rs"),
    // Signs of life, and what is shown of a turn.
    ("is_left", "host/chat/src/activity.rs"),
    ("StatusWatcher", "host/chat/src/live_status.rs"),
];

/// Commands to the gateway itself.
const COMMANDS: [&str; 4] = ["\"/new\"", "\"/retry\"", "\"/cancel\"", "\"/steer\""];

/// The code of a file, the tests that it ends with apart.
fn told(source: &Source) -> String {
    source.code().split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default().to_owned()
}

#[test]
fn what_every_channel_does_alike_is_there_once() {
    let all: Vec<_> =
        CRATES.into_iter().flat_map(sources).filter(|source| !source.path.contains("/tests")).collect();
    let mut wrong = Vec::new();
    for (name, place) in ONCE {
        // Where it is made.
        let home = |source: &&Source| {
            let code = told(source);
            ["struct", "fn"].iter().any(|item| code.contains(&format!("{item} {name}")))
        };
        let homes: Vec<_> = all.iter().filter(home).map(|source| source.path.clone()).collect();
        assert!(!homes.is_empty(), "there is no {name}, and this test looks in vain");
        let uses = all.iter().filter(|source| source.names(name) && !source.path.starts_with("host/store/"));
        let uses: Vec<_> = uses.map(|source| source.path.as_str()).collect();
        assert!(uses.iter().any(|path| path.starts_with(place)), "{place} does not use {name}");
        let handed_on = |path: &str| {
            path.ends_with("/mod.rs") || path.ends_with("/lib.rs") || homes.iter().any(|home| home == path)
        };
        wrong.extend(
            uses.iter()
                .filter(|path| !path.starts_with(place) && !handed_on(path))
                .map(|path| format!("{path} uses {name}, which is for {place}")),
        );
    }
    for source in &all {
        let commands = COMMANDS.iter().filter(|command| told(source).contains(**command));
        wrong.extend(commands.map(|command| format!("{} reads {command}, which core does", source.path)));
        // Approvals in chats, `call --approve` at its terminal, and an MCP client that asks its own
        // person.
        let asks =
            ["host/chat/src/approvals/asking.rs", "host/src/cli/approving.rs", "host/mcp/src/approving.rs"];
        if told(source).contains("Approver for ") && !asks.contains(&&*source.path) {
            wrong.push(format!("{} asks people without `chat::approvals`", source.path));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_every_channel_uses_names_none() {
    for room in ["chat/src", "agent/src/turn", "warden/src/attachments"] {
        for source in sources(&format!("host/{room}")) {
            assert!(!told(&source).to_lowercase().contains("telegram"), "{} names a channel", source.path);
        }
    }
}

#[test]
fn every_client_trusts_the_operators_authorities() {
    let makes = |code: &str| code.contains("Client::new(") || code.contains("Client::builder(");
    let mut makers: Vec<_> = CRATES.into_iter().flat_map(sources).filter(|one| makes(&told(one))).collect();
    makers.sort_by(|a, b| a.path.cmp(&b.path));
    let paths: Vec<_> = makers.iter().map(|source| source.path.as_str()).collect();
    assert_eq!(
        paths,
        ["host/agent/src/server/http.rs", "host/egress/src/hop.rs", "host/egress/src/trust.rs"],
        "make clients by agent::server::client"
    );
    for source in makers.iter().filter(|source| !source.path.ends_with("/trust.rs")) {
        assert!(told(source).contains("client_builder(Client::builder())"), "{}", source.path);
    }
}
