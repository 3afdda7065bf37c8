//! A disk that does not give what is on it: what reads fails and says so, or its bytes are right.

use super::check::{home, tree, works};
use super::paused::Call;
use super::tracer::{self, AtWorkers};
use crate::sandbox::chat::Chat;
use serde_json::json;
use std::fs;

#[test]
fn every_system_call_of_a_read() {
    if !tracer::available("files::read_faults::every_system_call_of_a_read") {
        return;
    }
    let home = home();
    fs::write(home.host("/shared/file"), "content").expect("writable");
    let call = Call { tool: "file_read", arguments: json!({ "path": "/shared/file" }), attached: Vec::new() };
    let before = tree(&home.workspace());
    let mut failures = 0;
    for point in tracer::run(&home, &call, &[]).seen {
        let ran = tracer::run(&home, &call, &[point.meets("error=EIO")]).ran;
        match ran.error().as_str() {
            "" => assert_eq!(ran.json()["content"], "content", "{point:?}"),
            _ => failures += 1,
        }
        assert_eq!(tree(&home.workspace()), before, "{point:?}");
    }
    assert!(failures > 2, "the file could always be read");
    works(&home);
}

/// One tool reads by position, the other one a stream.
#[test]
fn a_guest_whose_read_fails_is_told_as_a_failed_read() {
    if !tracer::available_for_workers("files::read_faults::a_guest_whose_read_fails_is_told_as_a_failed_read")
    {
        return;
    }
    let home = home();
    let file = home.host("/shared/file");
    let edits = json!([{ "old_text": "content", "new_text": "other" }]);
    let calls = [
        format!("/file_read {}", json!({ "path": "/shared/file" })),
        format!("/file_edit {}", json!({ "path": "/shared/file", "edits": edits })),
    ];
    let mut chat = Chat::start(&home);
    let says = |chat: &mut Chat, call: &str| {
        fs::write(&file, "content").expect("writable");
        chat.say(call)
    };
    // From here on each has a worker that has run it.
    for call in &calls {
        assert!(says(&mut chat, call).starts_with('{'), "{call}");
    }
    for call in &calls {
        let traced = AtWorkers::of(&home, chat.id(), None);
        assert!(says(&mut chat, call).starts_with('{'), "{call}");
        let seen = traced.seen();
        let mut reads = seen.iter().filter(|seen| seen.name == "pread64");
        let read = reads.find(|seen| seen.text.contains("/shared/file>")).expect("it reads the file");
        // The worker makes another system call in its place: strace would have it make one that
        // there is not, and be killed for that.
        let traced = AtWorkers::of(&home, chat.id(), Some(&read.meets("error=EIO:syscall=getpid")));
        let said = says(&mut chat, call);
        traced.seen();
        assert!(said.starts_with("read_failed: ") && said.contains("/shared/file"), "{call}: {said}");
        assert_eq!(home.audit().pop().expect("audited")["code"], "read_failed", "{call}");
        assert_eq!(fs::read_to_string(&file).expect("there"), "content", "{call}");
    }
    chat.end();
    works(&home);
}
