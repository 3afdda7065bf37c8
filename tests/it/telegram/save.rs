//! The heart: what a person sends with a command as its caption is saved, byte by byte, where it
//! was asked for, and audited under that person's number.

use super::world::{ANN, BEN, World, save};
use serde_json::{Value, json};
use support::guests::sha256;
use support::samples;
use support::telegram::{Incoming, Media};

fn document(id: &str, bytes: impl Into<Vec<u8>>) -> Incoming {
    Incoming::private(ANN).document(Media::with_content(id, bytes.into()).name("a.txt"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_photo_and_a_document_byte_by_byte() -> anyhow::Result<()> {
    let world = World::running().await?;
    let (photo, document) = (samples::jpeg(300_000), samples::pdf());
    let sent = Incoming::private(ANN).photo(Media::with_content("p", photo.clone()));
    let answer = world.ask(sent.caption(&save(0, "/shared/photos/cat.jpg"))).await?;
    let expected = json!({ "saved": true, "path": "/shared/photos/cat.jpg", "mime_type": "image/jpeg",
        "bytes_written": photo.len(), "source_index": 0 });
    assert_eq!(serde_json::from_str::<Value>(&answer)?, expected);
    assert!(world.saved("/shared/photos/cat.jpg") == photo, "of its three sizes the largest, whole");
    assert_eq!(world.server.requests("getFile").len(), 1, "the smaller sizes are not fetched");
    let media = Media::with_content("d", document.clone()).name("contract.pdf").mime("image/png");
    let answer = world.ask(Incoming::private(ANN).document(media).caption(&save(0, "/tmp/contract"))).await?;
    assert!(answer.contains(r#""mime_type":"application/pdf""#), "detected, not declared: {answer}");
    assert!(world.saved("/tmp/contract") == document, "at the very path, without an extension");
    world.end(2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_empty_file_and_one_that_is_spooled_to_disk() -> anyhow::Result<()> {
    let world = World::running().await?;
    let answer = world.ask(document("e", "").caption(&save(0, "/shared/empty"))).await?;
    assert!(answer.contains(r#""bytes_written":0"#), "{answer}");
    assert_eq!(world.saved("/shared/empty"), b"");
    let large = samples::jpeg(6 << 20);
    world.ask(document("l", large.clone()).caption(&save(0, "/shared/large"))).await?;
    assert!(world.saved("/shared/large") == large);
    world.end(2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn nothing_is_replaced_unless_asked() -> anyhow::Result<()> {
    let world = World::running().await?;
    let to = save(0, "/shared/a.txt");
    world.ask(document("one", "first").caption(&to)).await?;
    let refused = world.ask(document("two", "second").caption(&to)).await?;
    assert!(refused.starts_with("already_exists: ") && refused.contains("/shared/a.txt"), "{refused}");
    assert_eq!(world.saved("/shared/a.txt"), b"first");
    let refused = world.ask(document("three", "third").caption(&format!("{to} overwrite=false"))).await?;
    assert!(refused.starts_with("already_exists: "), "{refused}");
    let saved = world.ask(document("four", "fourth").caption(&format!("{to} overwrite=true"))).await?;
    assert!(saved.contains(r#""saved":true"#), "{saved}");
    assert_eq!(world.saved("/shared/a.txt"), b"fourth");
    world.end(4)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_audit_names_the_person_the_tool_the_path_and_the_hash() -> anyhow::Result<()> {
    let world = World::running().await?;
    let bytes = samples::jpeg(1000);
    let photo = |who: i64, path: &str| {
        Incoming::private(who).photo(Media::with_content("p", bytes.clone())).caption(&save(0, path))
    };
    world.ask(photo(ANN, "/shared/a.jpg")).await?;
    world.ask(photo(BEN, "/shared/a.jpg")).await?;
    world.ask(photo(BEN, "/vault/a.jpg")).await?;
    world.ask(Incoming::private(ANN).text("/nope path=/shared/a")).await?;
    let facts = ["event", "channel", "sender", "tool", "code"];
    let shown = |record: &Value| facts.map(|fact| record[fact].as_str().unwrap_or("-").to_owned()).join(" ");
    let records = world.home.audit();
    let ann = "telegram 5000000001 attachment_save";
    let ben = "telegram 5000000002 attachment_save";
    let expected = [
        format!("intent {ann} -"),
        format!("outcome {ann} -"),
        // Its guest learns that the file is there when it stages, so nothing was intended.
        format!("outcome {ben} already_exists"),
        format!("outcome {ben} path_denied"),
        "outcome telegram 5000000001 nope unknown_tool".to_owned(),
    ];
    assert_eq!(records.iter().map(shown).collect::<Vec<_>>(), expected, "{records:#?}");
    let file = json!([{ "path": "/shared/a.jpg", "bytes": bytes.len(), "sha256": sha256(&bytes) }]);
    assert_eq!((&records[0]["files"], &records[1]["files"]), (&file, &file));
    assert_eq!(records[3]["arguments"]["path"], "/vault/a.jpg");
    world.end(4)
}
