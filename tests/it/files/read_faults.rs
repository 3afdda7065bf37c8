//! A disk that does not give what is on it: `file_read` fails and says so, or its bytes are right.

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

/// A guest has no word for it; the gateway has.
#[test]
fn a_disk_that_fails_under_a_guest() {
    if !tracer::available_for_workers("files::read_faults::a_disk_that_fails_under_a_guest") {
        return;
    }
    let home = home();
    fs::write(home.host("/shared/file"), "content").expect("writable");
    let mut chat = Chat::start(&home);
    let (read, look) = ("/file_read path=/shared/file", "/file_info path=/shared/file");
    for command in [read, look] {
        assert!(chat.say(command).starts_with('{'), "{command}");
    }
    for command in [read, look] {
        let tracer = AtWorkers::of(&home, chat.id(), Some("inject=pread64:error=EIO"));
        let said = chat.say(command);
        tracer.end();
        assert!(said.starts_with("read_failed: ") && said.ends_with("/shared/file"), "{said}");
        assert_eq!(home.audit().pop().expect("audited")["code"], "read_failed");
    }
    chat.end();
    works(&home);
}
