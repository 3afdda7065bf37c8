//! The loopback servers against clients that nobody here wrote, so that our bot and our servers do
//! not merely agree: aiogram and discord.py from PyPI, which `cargo xtask test` installs where
//! Python is, and twilight.
//!
//! aiogram's types are those of the published Bot API: an answer that lacks a field, or has one
//! that nobody knows, ends the script.

mod discord_py;
mod twilight;

use anyhow::{Context, ensure};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use support::telegram::{Fault, Incoming, Media, Target, TelegramServer};
use support::{needs, samples};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::Command;

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

/// A script of `tests/FOLDER` and the Python that has what it needs, unless nobody installed it.
struct Script {
    python: PathBuf,
    file: PathBuf,
}

impl Script {
    fn new(folder: &str) -> Option<Self> {
        let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
        let python = tests.join("../target/tools").join(folder).join("bin/python");
        let there = python.exists();
        let test = format!("unrelated::{folder}");
        needs::available(&test, "python3 with venv, and PyPI", there)
            .then(|| Self { python, file: tests.join(folder).join("check.py") })
    }

    /// Runs it to its end, and returns its lines; each is told as it comes.
    async fn run(
        &self,
        arguments: &[&str],
        mut tell: impl AsyncFnMut(&str) -> anyhow::Result<()>,
    ) -> anyhow::Result<Vec<String>> {
        let mut command = Command::new(&self.python);
        command.arg("-I").arg(&self.file).args(arguments).env_clear();
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().context("python starts")?;
        let mut errors = child.stderr.take().context("piped")?;
        let errors = tokio::spawn(async move {
            let mut said = String::new();
            errors.read_to_string(&mut said).await.map(|_| said)
        });
        let mut lines = BufReader::new(child.stdout.take().context("piped")?).lines();
        let mut right = Vec::new();
        while let Some(line) = lines.next_line().await? {
            if let Err(error) = tell(&line).await {
                child.start_kill()?;
                return Err(error.context(format!("at {line:?}, after {right:?}\n{}", errors.await??)));
            }
            right.push(line);
        }
        let (status, said) = (child.wait().await?, errors.await??);
        ensure!(status.success(), "after {right:?}: {status}\n{said}");
        Ok(right)
    }
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
    let Some(script) = Script::new("aiogram") else { return Ok(()) };
    let server = TelegramServer::start().await?;
    prepare(&server);
    let folder = tempfile::tempdir()?;
    let photo = folder.path().join("photo.jpg");
    std::fs::write(&photo, samples::jpeg(1000))?;
    let (url, person) = (server.api_url(), PERSON.to_string());
    let photo = photo.to_str().context("text")?;
    let tell = async |line: &str| {
        if line == "waiting" {
            // The fourth poll is the one that waits.
            server.wait_for_requests(PATIENCE, "getUpdates", 4).await?;
            server.push(Incoming::private(PERSON).text("late"));
        }
        Ok(())
    };
    let right = script.run(&[&url, server.token(), &person, photo], tell).await?;
    ensure!(right == RIGHT, "{right:?}");
    ensure!(server.remaining_faults() == 0, "each fault was met");
    Ok(())
}
