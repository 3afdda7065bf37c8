//! `attachment_download`: all files of the most recent message that has any, this one or an earlier
//! one, after a restart as well; nobody else's, no later one's, and nothing kept of them but their
//! ids.

use super::world::{ANN, BEN, GROUP, PATIENCE, World};
use serde_json::{Value, json};
use support::containing;
use support::guests::sha256;
use support::samples;
use support::telegram::{Fault, Hold, Incoming, Media};

pub(super) const DOWNLOAD: &str = "/attachment_download {}";

pub(super) fn document(who: i64, id: &str, bytes: impl Into<Vec<u8>>) -> Incoming {
    Incoming::private(who).document(Media::with_content(id, bytes.into()).name(&format!("{id}.txt")))
}

fn download() -> Incoming {
    Incoming::private(ANN).text(DOWNLOAD)
}

/// Where these bytes lie after a download, with this extension.
pub(super) fn place(bytes: &[u8], extension: &str) -> String {
    format!("/shared/Downloads/{}.{extension}", &sha256(bytes)[..10])
}

/// The paths of a result.
fn paths(answer: &str) -> Vec<String> {
    let result: Value = serde_json::from_str(answer).unwrap_or_else(|e| panic!("{e}: {answer}"));
    assert_eq!(
        (&result["ok"], &result["downloadDir"]),
        (&json!(true), &json!("/shared/Downloads")),
        "{answer}"
    );
    let files = result["files"].as_array().expect("files");
    files.iter().map(|file| file["path"].as_str().expect("a path").to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_message_with_files_and_then_the_command() -> anyhow::Result<()> {
    let mut world = World::running().await?;
    let photo = samples::jpeg(300_000);
    world.ask(Incoming::private(ANN).photo(Media::with_content("p", photo.clone()))).await?;
    world.ask(Incoming::private(ANN).text("and now something else")).await?;
    // The ids are in the database by now, and nothing else of the message.
    world.stop()?;
    world.start()?;
    let answer = world.ask(download()).await?;
    let path = place(&photo, "jpg");
    assert_eq!(paths(&answer), [path.as_str()]);
    let result: Value = serde_json::from_str(&answer)?;
    let file = &result["files"][0];
    let facts = (&file["sha10"], &file["bytes"], &file["mimeType"]);
    assert_eq!(facts, (&json!(sha256(&photo)[..10]), &json!(photo.len()), &json!("image/jpeg")));
    let source = file["sourceUrl"].as_str().expect("a reference");
    assert!(source.starts_with("telegram:file/AgAD") && !source.contains("://"), "{source}");
    assert!(world.saved(&path) == photo);
    // Once more: nothing is written, the same is answered, and the audit has one file.
    assert_eq!(world.ask(download()).await?, answer);
    let intents = world.home.audit().iter().filter(|record| record["event"] == "intent").count();
    assert_eq!(intents, 1);
    // What it returns is what the file tools take.
    let read = world.ask(Incoming::private(ANN).text(&format!("/file_read path={path} length=4"))).await?;
    assert!(read.contains(r#""encoding":"base64""#), "{read}");
    world.end(5)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn this_message_comes_before_earlier_ones() -> anyhow::Result<()> {
    let world = World::running().await?;
    world.ask(document(ANN, "old", "old")).await?;
    let answer = world.ask(document(ANN, "new", "new").caption(DOWNLOAD)).await?;
    assert_eq!(paths(&answer), [place(b"new", "txt")]);
    // And then it is the most recent one.
    assert_eq!(paths(&world.ask(download()).await?), [place(b"new", "txt")]);
    assert!(!world.home.host(&place(b"old", "txt")).exists());
    world.end(3)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_reply_means_the_message_that_it_replies_to() -> anyhow::Result<()> {
    let world = World::running().await?;
    let old = world.server.push(document(ANN, "old", "old"));
    world.answer(&old).await?;
    world.ask(document(ANN, "new", "new")).await?;
    let answer = world.ask(download().reply_to(&old.message)).await?;
    assert_eq!(paths(&answer), [place(b"old", "txt")]);
    assert_eq!(paths(&world.ask(download()).await?), [place(b"new", "txt")], "the reply sent nothing itself");
    world.end(4)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_was_sent_later_is_not_taken() -> anyhow::Result<()> {
    let world = World::running().await?;
    world.ask(document(ANN, "first", "first")).await?;
    // All three are there before the command runs.
    let gate = world.server.gate("getFile", Hold::BeforeEffect);
    let pushed = world.server.push_all([
        document(ANN, "second", "second"),
        download(),
        document(ANN, "third", "third"),
    ]);
    gate.reached().await?;
    world.server.wait_until_confirmed(PATIENCE, pushed[2].update_id).await?;
    gate.release();
    assert_eq!(paths(&world.answer(&pushed[1]).await?.text), [place(b"second", "txt")]);
    world.answer(&pushed[2]).await?;
    assert_eq!(paths(&world.ask(download()).await?), [place(b"third", "txt")]);
    world.end(5)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_album_is_one_message_with_its_late_part() -> anyhow::Result<()> {
    let world = World::running().await?;
    let part =
        |n: i64, holds: &str| document(ANN, &format!("part-{n}"), holds).media_group("g").message_id(n);
    // Two of them hold the same.
    world.server.push_all([part(12, "two"), part(11, "one"), part(14, "one")]);
    world.texts(1).await?;
    let late = world.server.push(part(13, "three"));
    world.answer(&late).await?;
    let answer = world.ask(download()).await?;
    assert_eq!(paths(&answer), [place(b"one", "txt"), place(b"two", "txt"), place(b"three", "txt")]);
    for holds in ["one", "two", "three"] {
        assert_eq!(world.saved(&place(holds.as_bytes(), "txt")), holds.as_bytes());
    }
    world.end(3)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn everybody_has_their_own_in_every_chat() -> anyhow::Result<()> {
    let world = World::running().await?;
    world.ask(document(BEN, "bens", "bens")).await?;
    let nothing = world.ask(download()).await?;
    assert!(nothing.starts_with("no_attachments: "), "{nothing}");
    let in_group = |who: i64| Incoming::group(GROUP, who);
    let media = Media::with_content("anns", "anns").name("a.txt");
    world.ask(in_group(ANN).document(media).caption("/help")).await?;
    let nothing = world.ask(in_group(BEN).text(DOWNLOAD)).await?;
    assert!(nothing.starts_with("no_attachments: "), "{nothing}");
    let nothing = world.ask(in_group(ANN).thread(9).text(DOWNLOAD)).await?;
    assert!(nothing.starts_with("no_attachments: "), "another topic: {nothing}");
    let nothing = world.ask(download()).await?;
    assert!(nothing.starts_with("no_attachments: "), "another chat: {nothing}");
    assert_eq!(paths(&world.ask(in_group(ANN).text(DOWNLOAD)).await?), [place(b"anns", "txt")]);
    world.end(7)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_was_said_to_others_in_a_group_is_not_kept() -> anyhow::Result<()> {
    let world = World::running().await?;
    let media = Media::with_content("private-joke", "private").name("a.txt");
    world.server.push(Incoming::group(GROUP, ANN).document(media).caption("look at this"));
    let nothing = world.ask(Incoming::group(GROUP, ANN).text(DOWNLOAD)).await?;
    assert!(nothing.starts_with("no_attachments: "), "{nothing}");
    assert_eq!(containing(&world.home.state(), b"private-joke"), Vec::<std::path::PathBuf>::new());
    world.end(1)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn nothing_but_references_is_kept() -> anyhow::Result<()> {
    let mut world = World::running().await?;
    let (bytes, caption) = ("the bytes of the file", "the words of the message");
    world.ask(document(ANN, "kept-id", bytes).caption(caption)).await?;
    world.stop()?;
    let held = |what: &str| !containing(&world.home.state(), what.as_bytes()).is_empty();
    assert!(held("kept-id") && !held(bytes) && !held(caption));
    world.end(1)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn all_or_nothing_where_telegram_has_lost_one() -> anyhow::Result<()> {
    let world = World::running().await?;
    let part =
        |n: i64| document(ANN, &format!("part-{n}"), format!("part {n}")).media_group("g").message_id(n);
    world.server.push_all([part(1), part(2)]);
    world.texts(1).await?;
    let expired = Fault::api_error(400, "Bad Request: wrong file_id or the file is temporarily unavailable");
    world.server.fault(support::telegram::Target::method("getFile").with("file_id", "part-2"), 1, expired);
    let refused = world.ask(download()).await?;
    assert!(
        refused.starts_with("attachment_unavailable: Attachment 1 (part-2.txt) is not available"),
        "{refused}"
    );
    assert!(refused.contains("wrong file_id"), "and why: {refused}");
    assert!(!world.home.host("/shared/Downloads").exists(), "nothing was written");
    assert_eq!(paths(&world.ask(download()).await?).len(), 2, "later it is there again");
    world.end(3)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_kill_before_the_turn_of_the_files_ends_loses_nothing() -> anyhow::Result<()> {
    let mut world = World::stopped(|home| home).await?;
    let gate = world.server.gate("sendChatAction", Hold::BeforeEffect);
    let sent = world.server.push(document(ANN, "a", "a"));
    world.start()?;
    world.kill_at(gate).await?;
    world.start()?;
    world.answer(&sent).await?;
    assert_eq!(paths(&world.ask(download()).await?), [place(b"a", "txt")]);
    world.end(2)
}
