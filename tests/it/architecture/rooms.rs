//! The arrows between rooms which cargo does not hold: those within a crate, and those to one room
//! of another crate.

use super::{Source, sources};
use std::collections::BTreeSet;

/// The names that `code` imports from `root`: the first one after `crate::`, and each one of
/// `crate::{…}`.
fn imports(code: &str, root: &str) -> BTreeSet<String> {
    let name = |text: &str| text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let mut found = BTreeSet::new();
    for (at, _) in code.match_indices(root) {
        if code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '$') {
            continue;
        }
        let rest = &code[at + root.len()..];
        let Some(group) = rest.strip_prefix('{') else {
            // A filter of the log is no import.
            found.extend(Some(name(rest)).filter(|name| !rest[name.len()..].starts_with('=')));
            continue;
        };
        let (mut depth, mut start) = (0, true);
        for (at, c) in group.char_indices() {
            match c {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                ',' if depth == 0 => start = true,
                c if start && !c.is_whitespace() => {
                    found.insert(name(&group[at..]));
                    start = false;
                }
                _ => {}
            }
        }
    }
    found.remove("");
    found
}

/// What the rooms of the turn loop need: nothing that knows how a person is reached, or a model.
const OF_TURNS: [&str; 3] = ["agent::turn", "agent::tools", "agent::open_requests"];
/// What people see of a turn and how they stop it, each with a file or a folder of its own.
const BESIDE_TURNS: [&str; 16] = [
    "chat::activity",
    "chat::attempt",
    "chat::approvals",
    "chat::download",
    "chat::session_queue",
    "chat::lib",
    "chat::live_status",
    "chat::latest_step",
    "chat::people",
    "chat::placeholder",
    "chat::loop_health",
    "chat::runs",
    "chat::setup",
    "chat::retry_pauses",
    "chat::send_error",
    "chat::words",
];

/// Which rooms of its own crate, and of those below with several, a room may import besides itself.
fn allowed(room: &str) -> Vec<&'static str> {
    match room {
        // A provider is an edge: it answers turns, and nobody imports it but those who compose.
        "agent::llm" => vec!["agent::turn", "agent::server"],
        // The path of a call: a turn asks for tools.
        "agent::turn" => vec!["agent::tools", "agent::open_requests"],
        "agent::tools" => vec!["agent::open_requests"],
        "agent::voice" => vec!["agent::server"],
        "agent::open_requests" | "agent::server" => Vec::new(),
        // The way of a message: its turn, then its reply.
        "chat::handler" => {
            [&["agent::turn", "agent::open_requests", "agent::voice", "chat::outbound"], &BESIDE_TURNS[..]]
                .concat()
        }
        "chat::outbound" => vec!["agent::server", "chat::download", "chat::send_error"],
        "chat::approvals" => [&["agent::server"], &OF_TURNS[..], &BESIDE_TURNS[..]].concat(),
        "chat::download" | "chat::retry_pauses" => vec!["agent::server"],
        // A word that sending, approvals and placeholders have in common.
        "chat::send_error" => Vec::new(),
        // Who is let in is told through the answering of their channel, and a channel is set up on
        // it.
        "chat::people" | "chat::setup" => {
            [&["agent::server", "agent::voice", "chat::handler"], &OF_TURNS[..], &BESIDE_TURNS[..]].concat()
        }
        // A run reaches people as a turn's answer does.
        "chat::runs" => [&["chat::handler", "chat::outbound"], &OF_TURNS[..], &BESIDE_TURNS[..]].concat(),
        "chat::placeholder" => [&["chat::outbound"], &BESIDE_TURNS[..]].concat(),
        beside if BESIDE_TURNS.contains(&beside) => [&OF_TURNS[..], &BESIDE_TURNS[..]].concat(),
        channel if channel.starts_with("telegram::") || channel.starts_with("discord::") => {
            [&["agent::server", "chat::handler", "chat::outbound"], &OF_TURNS[..], &BESIDE_TURNS[..]].concat()
        }
        "cofferdam::main" => vec!["cofferdam::cli"],
        "cofferdam::cli" => [
            &["cofferdam::gateway", "cofferdam::workflows", "cofferdam::saying"],
            &allowed("cofferdam::gateway")[..],
        ]
        .concat(),
        // A run is composed as a turn is.
        "cofferdam::workflows" => {
            vec![
                "agent::turn",
                "agent::tools",
                "agent::open_requests",
                "agent::llm",
                "agent::server",
                "chat::runs",
            ]
        }
        // A message of the operator's own goes the way of a run's.
        "cofferdam::saying" => {
            vec![
                "cofferdam::gateway",
                "cofferdam::lib",
                "cofferdam::workflows",
                "chat::runs",
                "chat::outbound",
            ]
        }
        // Names that are unique are made in one place.
        "cofferdam::gateway" => {
            [&["cofferdam::config", "cofferdam::lib"], &allowed("cofferdam::config")[..]].concat()
        }
        // Each room owns its `Config`; loading them all is one place.
        "cofferdam::config" => {
            let below = [
                &[
                    "agent::llm",
                    "agent::voice",
                    "cofferdam::log",
                    "cofferdam::monitor",
                    "cofferdam::workflows",
                ],
                &allowed("telegram::lib")[..],
                &["discord::lib"],
            ];
            below.concat()
        }
        "cofferdam::log" | "cofferdam::monitor" => Vec::new(),
        "agent::lib" | "chat::lib" | "cofferdam::lib" => Vec::new(),
        other => panic!("{other} is a room that the design does not know; draw its arrows first"),
    }
}

#[test]
fn imports_are_found_however_they_are_written() {
    let found = |code: &str| imports(code, "crate::").into_iter().collect::<Vec<_>>();
    assert_eq!(found("use crate::a::{b, c};\nlet x = crate::d::e();"), ["a", "d"]);
    assert_eq!(found("use crate::{a, b::{c, d}, e::f as g,\n h};"), ["a", "b", "e", "h"]);
    assert_eq!(found("pub(in crate::a) fn x() {} use $crate::no; mycrate::no; use super::no;"), ["a"]);
    assert_eq!(found("pub(crate) fn x() {}"), [""; 0]);
}

/// The crates that have several rooms, by the names that others import them by.
const WITH_ROOMS: [(&str, &str); 5] = [
    ("agent", "cofferdam_agent::"),
    ("chat", "cofferdam_chat::"),
    ("discord", "cofferdam_discord::"),
    ("telegram", "cofferdam_telegram::"),
    ("cofferdam", "crate::"),
];

/// The arrows that cargo does not hold, since they are within a crate or name one room of another.
#[test]
fn rooms_import_only_along_the_arrows() {
    let all: Vec<_> = ["agent/src", "chat/src", "discord/src", "telegram/src", "src"]
        .into_iter()
        .flat_map(|folder| sources(&format!("host/{folder}")))
        .collect();
    let rooms: BTreeSet<String> = all.iter().map(Source::room).collect();
    let mut wrong = Vec::new();
    for source in &all {
        let (room, code) = (source.room(), source.code());
        let krate = room.split("::").next().expect("a crate");
        let allowed = allowed(&room);
        // They play a provider and its tools.
        let plays =
            |other: &str| source.path.starts_with("host/chat/src/handler/tests/") && other == "agent::tools";
        let may = |other: &str| {
            other == room
                || other.starts_with("telegram::") && ["telegram", "cofferdam"].contains(&krate)
                || other.starts_with("discord::") && ["discord", "cofferdam"].contains(&krate)
                || allowed.contains(&other)
                || plays(other)
        };
        for (named, path) in WITH_ROOMS {
            let path = if named == krate { "crate::" } else { path };
            if named != krate && named == "cofferdam" {
                continue;
            }
            for import in imports(&code, path) {
                // What a crate's root hands on is the root's.
                let whole = format!("{named}::{import}");
                let other = if rooms.contains(&whole) { whole } else { format!("{named}::lib") };
                if !may(&other) {
                    wrong.push(format!("{} imports {other} ({import})", source.path));
                }
            }
        }
        // The way around: `super::` up to the crate's root.
        let below = source.path.split_once("/src/").expect("a file of a crate").1;
        let ups = below.matches('/').count() + 1 - usize::from(below.ends_with("/mod.rs"));
        for other in rooms.iter().filter(|other| !may(other)) {
            let Some(name) = other.strip_prefix(krate).and_then(|name| name.strip_prefix("::")) else {
                continue;
            };
            if code.contains(&format!("{}{name}::", "super::".repeat(ups))) {
                wrong.push(format!("{} reaches {other} through super::", source.path));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for room in [
        "cofferdam::cli",
        "cofferdam::gateway",
        "chat::handler",
        "chat::approvals",
        "agent::turn",
        "agent::llm",
    ] {
        assert!(rooms.contains(room), "{room} is gone, and this test sees nothing");
    }
}
