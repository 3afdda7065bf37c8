//! The loopback Telegram server against a client that nobody here wrote, so that our bot and our server do not
//! merely agree: aiogram from PyPI, which `cargo xtask test` installs where Python is.
//!
//! Its types are those of the published Bot API: an answer that lacks a field, or has one that nobody knows, ends
//! the script.

use anyhow::{Context, ensure};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use support::telegram::{Fault, Incoming, Media, Target, TelegramServer};
use support::{needs, samples};

const PERSON: i64 = 5_000_000_001;
const GROUP: i64 = -1_001_234_567_890;
const PATIENCE: Duration = Duration::from_secs(60);

/// What the script finds to be right, in order.
const RIGHT: [&str; 20] = [
    "getMe",
    "webhook",
    "commands",
    "getUpdates",
    "kinds of updates",
    "download",
    "waiting",
    "long poll",
    "sendMessage",
    "editMessageText",
    "deleteMessage",
    "sendChatAction",
    "sendPhoto",
    "sendDocument",
    "other files",
    "sendMediaGroup",
    "answerCallbackQuery",
    "refusals",
    "bad requests",
    "unauthorized",
];

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("aiogram/check.py")
}

/// Where `cargo xtask test` installs it.
fn python() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/tools/aiogram/bin/python")
}

/// Everything that people cause, in the order in which the script expects it.
fn prepare(server: &TelegramServer) {
    let private = || Incoming::private(PERSON);
    let hello = server.push(private().text("hello"));
    server.push(private().text("/help@bot now"));
    server.push(Incoming::group(GROUP, PERSON).text("in a group").thread(7));
    let media = |id: &str| Media::with_content(id, "what was sent");
    server.push_all([
        private().document(media("document").name("a.txt").mime("text/plain")).caption("a caption"),
        private().photo(media("photo")),
        private().voice(media("voice")),
        private().audio(media("audio")),
        private().video(media("video")),
        private().video_note(media("video_note")),
        private().sticker(media("sticker")),
        private().animation(media("animation")),
        private().text("an answer").reply_to(&hello.message),
        private().text("hello you").message_id(hello.message_id).edited(),
        Incoming::callback(PERSON, &hello.message, "approve:1"),
    ]);
    let faults = [
        Fault::too_many_requests(7),
        Fault::blocked_by_user(),
        Fault::migrated_to(GROUP),
        Fault::internal_error(),
        Fault::conflict(),
    ];
    for (chat, fault) in (PERSON + 1..).zip(faults) {
        server.open_chat(chat);
        server.fault(Target::method("sendMessage").with("chat_id", chat), 1, fault);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn aiogram_understands_the_server_and_is_understood() -> anyhow::Result<()> {
    let there = python().exists();
    if !needs::available("unrelated::aiogram", "python3 with venv, and PyPI", there) {
        return Ok(());
    }
    let server = TelegramServer::start().await?;
    prepare(&server);
    let folder = tempfile::tempdir()?;
    let photo = folder.path().join("photo.jpg");
    std::fs::write(&photo, samples::jpeg(1000))?;
    let mut command = Command::new(python());
    command
        .arg("-I")
        .arg(script())
        .args([&server.api_url(), server.token(), &PERSON.to_string()])
        .arg(&photo);
    command.env_clear().stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().context("python starts")?;
    let mut right = Vec::new();
    for line in BufReader::new(child.stdout.take().context("piped")?).lines() {
        let line = line?;
        if line == "waiting" {
            // The fourth poll is the one that waits.
            server.wait_for_requests(PATIENCE, "getUpdates", 4).await?;
            server.push(Incoming::private(PERSON).text("late"));
        }
        right.push(line);
    }
    let mut said = String::new();
    child.stderr.take().context("piped")?.read_to_string(&mut said)?;
    let status = child.wait()?;
    ensure!(status.success(), "after {right:?}: {status}\n{said}");
    ensure!(right == RIGHT, "{right:?}");
    ensure!(server.remaining_faults() == 0, "each fault was met");
    Ok(())
}
