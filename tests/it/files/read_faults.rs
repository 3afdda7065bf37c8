//! A disk that does not give what is on it: `file_read` fails and says so, or its bytes are right.

use super::check::{home, tree, works};
use super::paused::Call;
use super::tracer;
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
