//! What a person is shown before a call runs, and that exactly this runs: whatever a call names
//! stands in its approval, or it is refused.

use super::*;
use support::telegram::Fault;

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn no_argument_can_word_its_approval() -> anyhow::Result<()> {
    let world = World::running_in(|home| {
        asking(asking(home, "file_write", "\"*\" = \"always\""), "file_edit", "\"*\" = \"always\"")
    })
    .await?;
    let lie = "harmless\"\nRule: none\ncreates /tmp/x\u{202e}\u{200b}\n\n✅ Approved by 5000000001.";
    let arguments = json!({ "path": "/shared/a", "content": lie, "overwrite": true });
    world.server.push(Incoming::private(ANN).text(&format!("/file_write {arguments}")));
    let approval = asked(&world, 0).await?;
    let lines: Vec<_> = approval.text.lines().collect();
    assert_eq!(lines.len(), 6, "{}", approval.text);
    assert!(lines[5].starts_with("content: ") && lines[5].contains(r#"harmless\"\nRule: none"#), "{lines:?}");
    assert!(!approval.text.contains(['\u{202e}', '\u{200b}']), "{}", approval.text);
    assert!(lines[5].contains(r"\u{202e}\u{200b}"), "what hides is shown: {lines:?}");
    world.server.push(press(ANN, &approval, DENY));
    answered(&world, "approval_denied").await?;

    std::fs::write(world.home.host("/shared/a"), "one\ntwo\nthree\n")?;
    let edit = json!({ "path": "/shared/a", "edits": [{ "old_text": "one\ntwo\n", "new_text": "one\n2\u{202e}\n" }] });
    world.server.push(Incoming::private(ANN).text(&format!("/file_edit {edit}")));
    let approval = world.server.wait_for_message(PATIENCE, |sent| sent.text.starts_with("file_edit")).await?;
    let shown = "edits[0]: 8 bytes become 9:\n  - two\n  + \"2\\u{202e}\"";
    assert!(approval.text.ends_with(shown), "what hides in an edit is shown: {}", approval.text);
    world.server.push(press(ANN, &approval, APPROVE));
    world.server.wait_for_messages(PATIENCE, 4).await?;
    world.end(4)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_call_that_cannot_be_shown_whole_is_refused() -> anyhow::Result<()> {
    let world = World::running_in(always).await?;
    let deep = format!("/shared/{}", format!("{}/", "d".repeat(200)).repeat(18));
    let command = json!({ "path": format!("{deep}a"), "content": "x" });
    let said = world.ask(Incoming::private(ANN).text(&format!("/file_write {command}"))).await?;
    assert!(
        said.starts_with("approval_required: ") && said.contains("more than a person can be shown"),
        "{said}"
    );
    // Of contents a part is enough.
    let command = json!({ "path": "/shared/a", "content": "y".repeat(3000) });
    world.server.push(Incoming::private(ANN).text(&format!("/file_write {command}")));
    let approval = asked(&world, 0).await?;
    assert!(
        approval.text.contains("content: 3000 bytes, sha256 ")
            && approval.text.contains(": \"yyy")
            && approval.text.len() < 1000,
        "{}",
        approval.text
    );
    world.server.push(press(ANN, &approval, APPROVE));
    answered(&world, "{").await?;
    assert_eq!(world.saved("/shared/a").len(), 3000);
    world.end(3)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_file_that_comes_with_a_call_is_shown_by_name_length_and_sha256() -> anyhow::Result<()> {
    let world = World::running_in(|home| asking(home, "attachment_add", "content = \"always\"")).await?;
    world.server.push(Incoming::private(ANN).text("/attachment_add content=hello filename=a.txt"));
    let approval = asked(&world, 0).await?;
    assert!(
        approval.text.contains("\nfilename: \"a.txt\"\n")
            && approval.text.contains("\ncontent: 5 bytes, sha256 2cf24dba5fb0: \"hello\""),
        "{}",
        approval.text
    );
    world.server.push(press(ANN, &approval, APPROVE));
    let sent = world.server.wait_for_message(PATIENCE, |sent| sent.file.is_some()).await?;
    assert_eq!(&sent.file.expect("a file").bytes[..], b"hello");
    world.end(2)
}

/// A rule about an argument that is a path or a list of them.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn each_path_of_a_list_is_asked_about_and_shown_or_the_call_is_refused() -> anyhow::Result<()> {
    let world = World::running_in(|home| asking(home, "attachment_add", "paths = \"always\"")).await?;
    let add = |paths: &[String]| {
        let command = format!("/attachment_add {}", json!({ "paths": paths }));
        Incoming::private(ANN).text(&command)
    };
    // As values they would be cut long before the last one.
    let mut paths: Vec<_> = (0..12).map(|n| format!("/shared/{}/{n}", "h".repeat(180))).collect();
    paths.push("/shared/private/key".to_owned());
    std::fs::create_dir(world.home.host("/shared/private"))?;
    std::fs::write(world.home.host("/shared/private/key"), "secret")?;
    world.server.push(add(&paths));
    let approval = asked(&world, 0).await?;
    for path in &paths[..12] {
        let line = format!("\nreads {path}: nothing is there now\n");
        assert!(approval.text.contains(&line), "{path}: {}", approval.text);
    }
    let last = "\nreads /shared/private/key: there is a file of 6 bytes, last changed 20";
    assert!(approval.text.contains(last), "{}", approval.text);
    world.server.push(press(ANN, &approval, DENY));
    answered(&world, "approval_denied").await?;
    paths.extend((12..20).map(|n| format!("/shared/{}/{n}", "h".repeat(180))));
    let said = world.ask(add(&paths)).await?;
    assert!(
        said.starts_with("approval_required: ") && said.contains("more than a person can be shown"),
        "{said}"
    );
    world.end(3)
}

/// What leaves, or is copied, is what was there when it was approved.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_is_read_is_what_was_approved() -> anyhow::Result<()> {
    let world = World::running_in(|home| {
        ["attachment_add", "file_copy", "file_read"]
            .into_iter()
            .fold(home, |home, tool| asking(home, tool, "\"*\" = \"always\""))
    })
    .await?;
    let file = world.home.host("/shared/a");
    for (n, command) in [
        "/attachment_add path=/shared/a",
        "/file_copy from=/shared/a to=/shared/b",
        "/file_read path=/shared/a",
    ]
    .into_iter()
    .enumerate()
    {
        std::fs::write(&file, "harmless")?;
        world.server.push(Incoming::private(ANN).text(command));
        let approval = asked(&world, 0).await?;
        let line = "\nreads /shared/a: there is a file of 8 bytes, last changed 20";
        assert!(approval.text.contains(line), "{}", approval.text);
        // As long, and under the same name.
        std::fs::write(&file, "a secret")?;
        world.server.push(press(ANN, &approval, APPROVE));
        ended(&world, &approval, "✅ Approved by 5000000001 (\"Ann\").").await?;
        let sent = world.server.wait_for_messages(PATIENCE, 2 * n + 2).await?;
        let said = &sent.last().expect("the answer").text;
        assert!(
            said.starts_with("approval_denied: what this call would do has changed since it was approved"),
            "{command}: {said}"
        );
    }
    assert!(!world.home.host("/shared/b").exists());
    // What another call of the same person writes beside it does not matter.
    world.server.push(Incoming::private(ANN).text("/attachment_add path=/shared/a"));
    let approval = asked(&world, 0).await?;
    std::fs::write(world.home.host("/shared/c"), "beside it")?;
    world.server.push(press(ANN, &approval, APPROVE));
    let sent = world.server.wait_for_message(PATIENCE, |sent| sent.file.is_some()).await?;
    assert_eq!(sent.chat_id, ANN);
    world.end(8)
}

/// A topic that was deleted, and one that Telegram only says is gone.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_cannot_be_asked_in_its_topic_is_asked_in_the_chat() -> anyhow::Result<()> {
    let world = World::running_in(always).await?;
    let topic = Target::method("sendMessage").with("message_thread_id", 44);
    world.server.fault(topic, 2, Fault::api_error(400, "Bad Request: message thread not found"));
    world.server.push(Incoming::group(GROUP, ANN).thread(44).text(WRITE));
    let approval = asked(&world, 0).await?;
    assert_eq!((approval.chat_id, approval.thread_id), (GROUP, None));
    world.server.push(press(ANN, &approval, APPROVE));
    assert_eq!(answered(&world, "{").await?.thread_id, None);
    assert_eq!(world.saved("/shared/a"), b"hello");
    world.end(2)
}

/// The first one's yes does not stand for what the second one would replace.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn of_two_calls_about_a_new_path_each_is_held_against_what_was_shown() -> anyhow::Result<()> {
    let rule = "path = \"first-time-per-path\"";
    let world = World::running_in(|home| asking(home, "file_write", rule)).await?;
    for topic in [2, 3] {
        let command = format!("/file_write path=/shared/a content={topic} overwrite=true");
        world.server.push(Incoming::group(GROUP, ANN).thread(topic).text(&command));
    }
    let (first, second) = (asked(&world, 0).await?, asked(&world, 1).await?);
    for shown in [&first, &second] {
        assert!(shown.text.contains("creates /shared/a: nothing is there now"), "{}", shown.text);
    }
    world.server.push(press(ANN, &first, APPROVE));
    answered(&world, "{").await?;
    let saved = world.saved("/shared/a");
    world.server.push(press(ANN, &second, APPROVE));
    answered(&world, "approval_denied: what this call would do has changed since it was approved").await?;
    assert_eq!((world.saved("/shared/a"), published(&world)), (saved, 1));
    world.end(4)
}

/// It has changed nothing; what goes on after a restart would find its path remembered.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_path_of_a_call_that_is_cancelled_after_its_approval_is_asked_about_again() -> anyhow::Result<()> {
    let lines = "memory = \"16 MiB\"\ndeadline = \"120s\"\n[approval]\npath = \"first-time-per-path\"";
    let world = World::running_in(|home| home.hostile(lines)).await?;
    let spin = || Incoming::private(ANN).text("/hostile behaviour=stage_then_spin path=/shared/late");
    world.server.push(spin());
    let first = asked(&world, 0).await?;
    world.server.push(press(ANN, &first, APPROVE));
    world.logs("guest: spinning").await?;
    ended(&world, &first, "✅ Approved by 5000000001 (\"Ann\").").await?;
    world.server.push(Incoming::private(ANN).text("/cancel"));
    answered(&world, "cancelled: ").await?;
    world.server.push(spin());
    let again = asked(&world, 0).await?;
    world.server.push(press(ANN, &again, DENY));
    answered(&world, "approval_denied: ").await?;
    assert!(!world.host("/shared/late").exists());
    world.end(4)
}
