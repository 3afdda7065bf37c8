//! Long outputs as files: whole, audited, and never too many.

use super::super::keep::{OUTPUT_AGE_MAX, OUTPUTS_MAX, REMOVED_MAX};
use super::*;

fn output(n: usize, text: &str) -> Output {
    let turn = TurnId::new("test");
    Output {
        call: turn.call(n),
        turn,
        session: None,
        caller: Caller { channel: "test".into(), sender: "1".into() },
        tool: "t".into(),
        text: text.into(),
    }
}

/// What the audit tells of keeping: the paths that were written and removed, by outcome.
fn told(dir: &std::path::Path) -> Vec<(Option<ErrorCode>, usize)> {
    let entries =
        show(Source::Log(&dir.join("audit.jsonl")), Span::All, Filter::default()).expect("readable");
    let outcome = |entry| match entry {
        Ok(Entry::Record { record, .. }) => match record.event {
            Event::Outcome(outcome) if outcome.facts.tool == "keep_output" => {
                Some((outcome.code, outcome.files.len()))
            }
            _ => None,
        },
        _ => None,
    };
    entries.filter_map(outcome).collect()
}

#[tokio::test]
async fn an_output_is_a_file_and_the_same_one_again_after_a_crash() {
    let dir = tempfile::tempdir().expect("a folder");
    let toolbox = toolbox(dir.path(), 1);
    let path = toolbox.keep_output(output(7, "long")).await.expect("kept");
    assert_eq!(path, "/tmp/outputs/test-7.json");
    assert_eq!(toolbox.keep_output(output(7, "long")).await.as_ref(), Ok(&path));
    let file = dir.path().join("workspace/tmp/outputs/test-7.json");
    assert_eq!(std::fs::read_to_string(&file).expect("there"), "long");
    // The quota of this workspace is 1 MiB.
    let refused = toolbox.keep_output(output(8, &"x".repeat(2 << 20))).await.expect_err("too much");
    assert_eq!(refused.code, ErrorCode::QuotaExceeded);
    assert_eq!(told(dir.path()), [(None, 1), (None, 1), (Some(ErrorCode::QuotaExceeded), 0)]);
}

#[tokio::test]
async fn of_many_old_outputs_some_go_at_a_time() {
    let dir = tempfile::tempdir().expect("a folder");
    let toolbox = toolbox(dir.path(), 1);
    let folder = dir.path().join("workspace/tmp/outputs");
    for n in 0..20 {
        toolbox.keep_output(output(n, "x")).await.expect("kept");
    }
    let aged = std::time::SystemTime::now() - OUTPUT_AGE_MAX * 2;
    for n in 0..20 {
        let file = std::fs::File::options().write(true).open(folder.join(format!("test-{n}.json")));
        file.and_then(|file| file.set_modified(aged)).expect("aged");
    }
    let count = || std::fs::read_dir(&folder).expect("there").count();
    for (n, left) in [(100, 20 - REMOVED_MAX + 1), (101, 20 - 2 * REMOVED_MAX + 2), (102, 3), (103, 4)] {
        toolbox.keep_output(output(n, "x")).await.expect("kept");
        assert_eq!(count(), left, "{n}");
    }
}

#[tokio::test]
async fn old_outputs_go() {
    let dir = tempfile::tempdir().expect("a folder");
    let toolbox = toolbox(dir.path(), 1);
    let count = || std::fs::read_dir(dir.path().join("workspace/tmp/outputs")).expect("there").count();
    for n in 0..OUTPUTS_MAX + 3 {
        toolbox.keep_output(output(n, "x")).await.expect("kept");
    }
    assert_eq!(count(), OUTPUTS_MAX);
    let file = |n: usize| dir.path().join(format!("workspace/tmp/outputs/test-{n}.json"));
    assert!(file(OUTPUTS_MAX + 2).exists());
    // What is no kept output is left alone, and stands in nobody's way.
    std::fs::create_dir(file(1000)).expect("made");
    let aged = std::time::SystemTime::now() - OUTPUT_AGE_MAX * 2;
    for n in OUTPUTS_MAX..OUTPUTS_MAX + 3 {
        std::fs::File::options()
            .write(true)
            .open(file(n))
            .and_then(|file| file.set_modified(aged))
            .expect("aged");
    }
    toolbox.keep_output(output(2000, "x")).await.expect("kept");
    assert!((OUTPUTS_MAX..OUTPUTS_MAX + 3).all(|n| !file(n).exists()) && file(1000).is_dir());
    assert!(told(dir.path()).iter().all(|(code, _)| code.is_none()));
}
