//! Files that go out with answers: with the text where they can, after it where not, each once, and
//! told of where they cannot go.

use super::tracer::{Tracer, available, synced};
use super::world::{ANN, GROUP, PATIENCE, World};
use serde_json::json;
use support::guests::sha256;
use support::home::Home;
use support::samples;
use support::telegram::{Fault, Hold, Incoming, SentMessage, Target};

/// Puts files into the workspace.
fn put(world: &World, files: &[(&str, &[u8])]) -> anyhow::Result<()> {
    for (guest, bytes) in files {
        let path = world.home.host(guest);
        std::fs::create_dir_all(path.parent().expect("below a mount"))?;
        std::fs::write(path, bytes)?;
    }
    Ok(())
}

/// The command that adds these.
fn add(paths: &[&str]) -> String {
    format!("/attachment_add {}", json!({ "paths": paths }))
}

/// A message as one line: `KIND NAME`, `, album` in one, `: TEXT` with one, ` > N` after the Nth
/// message sent.
fn line(sent: &SentMessage, all: &[SentMessage]) -> String {
    let what = match &sent.file {
        Some(file) => format!("{} {}", file.kind, file.name),
        None => "text".to_owned(),
    };
    let album = if sent.file.as_ref().is_some_and(|file| file.group.is_some()) { ", album" } else { "" };
    let text = match sent.text.as_str() {
        "" => String::new(),
        text if text.starts_with(r#"{"ok":true"#) => ": RESULT".to_owned(),
        text => format!(": {text}"),
    };
    let after = all.iter().position(|other| sent.reply_to == Some(other.message_id));
    let after = match (sent.reply_to, after) {
        (None, _) => String::new(),
        (Some(_), None) => " > question".to_owned(),
        (Some(_), Some(n)) => format!(" > {n}"),
    };
    format!("{what}{album}{text}{after}")
}

fn lines(world: &World) -> Vec<String> {
    let all: Vec<_> = world.server.sent_messages().into_iter().filter(|sent| !sent.deleted).collect();
    all.iter().map(|sent| line(sent, &all)).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_short_answer_goes_with_its_file() -> anyhow::Result<()> {
    let world = World::running().await?;
    let (jpeg, page) = (samples::jpeg(300_000), b"<html><script>alert(1)</script></html>".as_slice());
    let svg = br#"<svg xmlns="http://www.w3.org/2000/svg"><script/></svg>"#.as_slice();
    let ogg = [&b"OggS\0\x02"[..], &[0; 22], b"OpusHead\x01\x01", &[0; 60]].concat();
    put(
        &world,
        &[
            ("/shared/cat.jpg", &jpeg),
            ("/shared/report.pdf", &samples::pdf()),
            ("/shared/page.html", page),
            ("/shared/drawing.svg", svg),
            ("/shared/words.ogg", &ogg),
        ],
    )?;
    for (n, (path, expected)) in [
        ("/shared/cat.jpg", "photo cat.jpg: RESULT > question"),
        ("/shared/report.pdf", "document report.pdf: RESULT > question"),
        ("/shared/page.html", "document page.html: RESULT > question"),
        ("/shared/drawing.svg", "document drawing.svg: RESULT > question"),
        ("/shared/words.ogg", "voice words.ogg: RESULT > question"),
    ]
    .into_iter()
    .enumerate()
    {
        world.ask(Incoming::private(ANN).text(&format!("/attachment_add path={path}"))).await?;
        assert_eq!(lines(&world)[n], expected);
    }
    let sent = world.server.sent_messages();
    let file = sent[0].file.as_ref().expect("a file");
    assert!(file.bytes == jpeg && file.mime.as_deref() == Some("image/jpeg"), "{file:?}");
    assert!(world.server.requests("sendMessage").is_empty(), "nothing is said twice");
    assert_eq!(world.server.requests("sendVoice").len(), 1, "what is spoken is played, not downloaded");
    for request in world.server.requests("sendDocument") {
        assert_eq!(request.params["disable_content_type_detection"], "true", "{request:?}");
    }
    world.end(5)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn pictures_are_one_album_in_their_topic() -> anyhow::Result<()> {
    let world = World::running().await?;
    put(&world, &[("/shared/a.jpg", &samples::jpeg(10)), ("/shared/b.jpg", &samples::jpeg(20))])?;
    let question = Incoming::group(GROUP, ANN).thread(7).text(&add(&["/shared/a.jpg", "/shared/b.jpg"]));
    world.server.push(question);
    let sent = world.server.wait_for_messages(PATIENCE, 2).await?;
    let expected = ["photo a.jpg, album: RESULT > question", "photo b.jpg, album > question"];
    assert_eq!(lines(&world), expected);
    assert!(sent.iter().all(|sent| (sent.chat_id, sent.thread_id) == (GROUP, Some(7))));
    world.end(2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn kinds_are_not_mixed_and_the_order_is_kept() -> anyhow::Result<()> {
    let world = World::running().await?;
    let mp3 = [&b"ID3\x03\0\0\0\0\0\0"[..], &[0xff, 0xfb, 0x90, 0x00], &[0; 600]].concat();
    put(
        &world,
        &[
            ("/shared/1.jpg", &samples::jpeg(10)),
            ("/shared/2.txt", b"two"),
            ("/shared/3.txt", b"three"),
            ("/shared/4.mp3", &mp3),
            ("/shared/5.jpg", &samples::jpeg(50)),
            ("/shared/6.gif", b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\xff\xff\xff!\xf9\x04\0\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;"),
        ],
    )?;
    let paths = [
        "/shared/1.jpg",
        "/shared/2.txt",
        "/shared/3.txt",
        "/shared/4.mp3",
        "/shared/5.jpg",
        "/shared/6.gif",
    ];
    world.server.push(Incoming::private(ANN).text(&add(&paths)));
    world.server.wait_for_messages(PATIENCE, 6).await?;
    let expected = [
        "photo 1.jpg: RESULT > question",
        "document 2.txt, album > 0",
        "document 3.txt, album > 0",
        "audio 4.mp3 > 2",
        "photo 5.jpg > 3",
        "animation 6.gif > 4",
    ];
    assert_eq!(lines(&world), expected);
    world.end(6)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn more_than_an_album_holds_follows_it() -> anyhow::Result<()> {
    let world = World::running_in(|home| home.config("[replies]\nmax_count = 12\n")).await?;
    let names: Vec<_> = (0..11).map(|n| format!("/shared/{n}.txt")).collect();
    for name in &names {
        put(&world, &[(name, name.as_bytes())])?;
    }
    let paths: Vec<_> = names.iter().map(String::as_str).collect();
    let question = world.server.push(Incoming::private(ANN).text(&add(&paths)));
    let sent = world.server.wait_for_messages(PATIENCE, 11).await?;
    let lines = lines(&world);
    assert!(lines[..10].iter().all(|line| line.contains(", album")), "{lines:#?}");
    assert_eq!(lines[9], "document 9.txt, album: RESULT > question", "where people see it as that of all");
    assert_eq!(lines[10], "document 10.txt > 9");
    assert_eq!(sent[0].reply_to, Some(question.message_id));
    let bytes: Vec<_> = sent.iter().map(|sent| sent.file.as_ref().expect("a file").bytes.clone()).collect();
    assert!(bytes.iter().zip(&names).all(|(bytes, name)| bytes == name.as_bytes()), "in order");
    world.end(11)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_long_answer_comes_before_its_files() -> anyhow::Result<()> {
    let world = World::running().await?;
    let names: Vec<_> = (0..9).map(|n| format!("/shared/{}{n}.jpg", "long".repeat(28))).collect();
    for name in &names {
        put(&world, &[(name, &samples::jpeg(10))])?;
    }
    let paths: Vec<_> = names.iter().map(String::as_str).collect();
    world.server.push(Incoming::private(ANN).text(&add(&paths)));
    world.server.wait_for_messages(PATIENCE, 10).await?;
    let lines = lines(&world);
    assert_eq!(lines[0], "text: RESULT > question");
    assert!(lines[1..].iter().all(|line| line.ends_with(", album > 0")), "{lines:#?}");
    world.end(10)
}

/// The tool that adds a file and goes on until it is let go.
pub(super) fn slow(home: Home) -> Home {
    let policy = "safety = \"side-effecting\"\n[arguments]\nthen = \"value\"\npath = { path = \"read\" }\n\
                  unjudged = \"value\"\ncomposed = \"value\"\nname = \"value\"\n[limits]\nmemory = \"16 MiB\"\ndeadline = \"100s\"\n";
    home.tool("careless", "attachment-add", "careless", policy)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn files_never_hang_on_a_placeholder() -> anyhow::Result<()> {
    let world = World::running_in(slow).await?;
    put(&world, &[("/shared/a.jpg", &samples::jpeg(10))])?;
    world.server.push(Incoming::private(ANN).text("/careless then=wait path=/shared/a.jpg"));
    let shown = world.server.wait_for_message(PATIENCE, |sent| sent.text.starts_with('⏳')).await?;
    // What becomes of the file now changes nothing in the reply.
    std::fs::remove_file(world.home.host("/shared/a.jpg"))?;
    put(&world, &[("/shared/go", b"")])?;
    world.server.wait_for_messages(PATIENCE, 2).await?;
    assert_eq!(lines(&world), [r#"text: {"added":["a.jpg"]} > question"#, "photo a.jpg > 0"]);
    assert_eq!(world.server.sent_messages()[0].message_id, shown.message_id, "the answer took its place");
    assert!(world.server.sent_messages()[1].file.as_ref().expect("a file").bytes == samples::jpeg(10));
    world.end(2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_telegram_never_takes_is_told_in_the_answer() -> anyhow::Result<()> {
    let limits =
        "[replies]\nmax_bytes = \"64 MiB\"\nmax_call_bytes = \"64 MiB\"\nmax_turn_bytes = \"64 MiB\"\n";
    let world = World::running_in(|home| home.config(limits)).await?;
    put(&world, &[("/shared/a.txt", b"words"), ("/shared/large.bin", b"")])?;
    std::fs::File::create(world.home.host("/shared/large.bin"))?.set_len(50_000_001)?;
    world.server.push(Incoming::private(ANN).text(&add(&["/shared/large.bin", "/shared/a.txt"])));
    let sent = world.server.wait_for_messages(PATIENCE, 1).await?.remove(0);
    assert_eq!(sent.file.as_ref().map(|file| file.name.as_str()), Some("a.txt"));
    let told = "large.bin (~50.0MB) is too large to be sent here; files may have ~50.0MB.";
    assert!(sent.text.starts_with(r#"{"ok":true"#) && sent.text.ends_with(told), "{}", sent.text);
    world.ask(Incoming::private(ANN).text("hello")).await?;
    world.logs("ROUTING_ERROR").await?;
    world.end(2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_is_no_picture_for_telegram_goes_as_a_document() -> anyhow::Result<()> {
    let world = World::running().await?;
    put(&world, &[("/shared/a.jpg", &samples::jpeg(10)), ("/shared/b.jpg", &samples::jpeg(20))])?;
    world.server.fault("sendPhoto", 1, Fault::api_error(400, "Bad Request: PHOTO_INVALID_DIMENSIONS"));
    world.ask(Incoming::private(ANN).text(&add(&["/shared/a.jpg"]))).await?;
    world.server.fault("sendMediaGroup", 1, Fault::api_error(400, "Bad Request: IMAGE_PROCESS_FAILED"));
    world.server.push(Incoming::private(ANN).text(&add(&["/shared/a.jpg", "/shared/b.jpg"])));
    world.server.wait_for_messages(PATIENCE, 3).await?;
    let expected = [
        "document a.jpg: RESULT > question",
        "document a.jpg, album > question",
        "document b.jpg, album: RESULT > question",
    ];
    assert_eq!(lines(&world), expected);
    world.end(3)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_refused_file_is_told_and_costs_no_word_of_the_answer() -> anyhow::Result<()> {
    let world = World::running().await?;
    put(&world, &[("/shared/a.txt", b"words"), ("/shared/b.jpg", &samples::jpeg(10))])?;
    let refused = Fault::api_error(400, "Bad Request: not enough rights to send documents to the chat");
    world.server.fault("sendDocument", 1, refused);
    world.server.push(Incoming::private(ANN).text(&add(&["/shared/a.txt", "/shared/b.jpg"])));
    world.server.wait_for_messages(PATIENCE, 3).await?;
    let lines = lines(&world);
    assert_eq!(lines[0], "photo b.jpg > question");
    assert_eq!(lines[1], "text: RESULT", "it was the caption");
    let told = "text: 1 file could not be sent: a.txt: Telegram refuses: Bad Request: not enough rights";
    assert!(lines[2].starts_with(told), "{lines:#?}");
    world.ask(Incoming::private(ANN).text("hello")).await?;
    world.logs("ROUTING_ERROR").await?;
    assert_eq!(world.log().matches("ROUTING_ERROR").count(), 1);
    world.end(4)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_heals_is_sent_once_and_in_order() -> anyhow::Result<()> {
    let world = World::running().await?;
    let files = [
        ("/shared/a.jpg", samples::jpeg(10)),
        ("/shared/b.jpg", samples::jpeg(20)),
        ("/shared/c.txt", b"c".to_vec()),
    ];
    for (path, bytes) in &files {
        put(&world, &[(path, bytes)])?;
    }
    for fault in [Fault::too_many_requests(1), Fault::internal_error(), Fault::close()] {
        world.server.fault("sendMediaGroup", 1, fault.clone());
        world.server.fault("sendDocument", 1, fault);
    }
    world.server.push(Incoming::private(ANN).text(&add(&[
        "/shared/a.jpg",
        "/shared/b.jpg",
        "/shared/c.txt",
    ])));
    world.server.wait_for_messages(PATIENCE, 3).await?;
    let expected =
        ["photo a.jpg, album: RESULT > question", "photo b.jpg, album > question", "document c.txt > 1"];
    assert_eq!(lines(&world), expected);
    assert_eq!(world.server.requests("sendMediaGroup").len(), 4);
    let sent = world.server.sent_messages();
    let whole =
        sent.iter().zip(&files).all(|(sent, (_, bytes))| sent.file.as_ref().expect("a file").bytes == *bytes);
    assert!(whole, "each attempt sends the whole file");
    world.end(3)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_kill_between_the_messages_repeats_nothing_and_loses_nothing() -> anyhow::Result<()> {
    let mut world = World::running().await?;
    put(&world, &[("/shared/a.jpg", &samples::jpeg(10)), ("/shared/c.txt", b"as it was")])?;
    let first = world.server.gate("sendPhoto", Hold::BeforeAnswer);
    world.server.push(Incoming::private(ANN).text(&add(&["/shared/a.jpg", "/shared/c.txt"])));
    first.reached().await?;
    let second = world.server.gate("sendDocument", Hold::BeforeEffect);
    first.release();
    world.kill_at(second).await?;
    // Delivery never reads a path.
    put(&world, &[("/shared/c.txt", b"something else")])?;
    world.start()?;
    world.server.wait_for_messages(PATIENCE, 2).await?;
    assert_eq!(lines(&world), ["photo a.jpg: RESULT > question", "document c.txt > 0"]);
    assert_eq!(world.server.sent_messages()[1].file.as_ref().expect("a file").bytes, &b"as it was"[..]);
    world.ask(Incoming::private(ANN).text("hello")).await?;
    world.end(3)
}

/// The one window in which files may be repeated, as any message.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_kill_before_the_acknowledgement_may_repeat_and_loses_nothing() -> anyhow::Result<()> {
    let mut world = World::running().await?;
    put(&world, &[("/shared/a.txt", b"words")])?;
    let gate = world.server.gate("sendDocument", Hold::BeforeAnswer);
    world.server.push(Incoming::private(ANN).text(&add(&["/shared/a.txt"])));
    world.kill_at(gate).await?;
    world.start()?;
    world.server.wait_for_messages(PATIENCE, 2).await?;
    let one = "document a.txt: RESULT > question";
    assert_eq!(lines(&world), [one, one]);
    world.ask(Incoming::private(ANN).text("hello")).await?;
    world.end(3)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn who_blocked_the_bot_gets_no_file_and_none_is_kept() -> anyhow::Result<()> {
    let world = World::running().await?;
    put(&world, &[("/shared/a.txt", b"words"), ("/shared/b.jpg", &samples::jpeg(10))])?;
    world.server.fault("sendDocument", 1, Fault::blocked_by_user());
    world.server.push(Incoming::private(ANN).text(&add(&["/shared/a.txt", "/shared/b.jpg"])));
    world.ask(Incoming::private(ANN).text("hello")).await?;
    assert!(world.server.requests("sendPhoto").is_empty());
    assert!(world.server.requests(Target::method("sendMessage")).len() == 1);
    world.end(1)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_file_that_never_gets_through_is_told_of_and_its_chat_goes_on() -> anyhow::Result<()> {
    const PART_FAILURES_MAX: usize = 8;
    let world = World::running().await?;
    put(&world, &[("/shared/a.txt", b"x")])?;
    world.server.fault("sendDocument", usize::MAX, Fault::bad_gateway());
    world.server.push(Incoming::private(ANN).text("/attachment_add path=/shared/a.txt"));
    let next = world.server.push(Incoming::private(ANN).text("/nothing"));
    world.answer(&next).await?;
    let lines = lines(&world);
    let told = "text: 1 file could not be sent: a.txt: Telegram fails with HTTP status 502 > question";
    assert_eq!((lines[0].as_str(), lines[1].as_str(), lines.len()), (told, "text: RESULT", 3));
    assert_eq!(world.server.requests("sendDocument").len(), PART_FAILURES_MAX);
    world.logs("ROUTING_ERROR").await?;
    assert_eq!(world.log().matches("ROUTING_ERROR").count(), 1);
    world.server.clear_faults();
    world.ask(Incoming::private(ANN).text("/attachment_add path=/shared/a.txt")).await?;
    world.end(4)
}

/// A crash leaves no row that names what is cut short or gone.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_file_is_on_disk_before_a_row_names_it() -> anyhow::Result<()> {
    if !available("telegram::attachments_out::a_file_is_on_disk_before_a_row_names_it") {
        return Ok(());
    }
    let world = World::running().await?;
    put(&world, &[("/shared/a.txt", b"a file")])?;
    let log = world.home.dir().join("strace");
    let tracer = Tracer::logs(world.serving().pid(), &log);
    world.server.push(Incoming::private(ANN).text(&add(&["/shared/a.txt"])));
    world.server.wait_for_message(PATIENCE, |sent| sent.file.is_some()).await?;
    tracer.leave();
    let (log, sha256) = (std::fs::read_to_string(log)?, sha256(b"a file"));
    let names_it = |line: &str| line.contains("cofferdam.db-wal>") && line.contains(&sha256);
    let row = log.lines().position(names_it).expect("a row names it");
    assert!(synced(&log) <= row, "{log}");
    // Its words are a message of their own where the machine is slow.
    let messages = world.server.sent_messages().len();
    world.end(messages)
}
