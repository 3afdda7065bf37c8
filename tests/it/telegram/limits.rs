//! Limits on what comes: nothing over one is fetched or kept, and the one answer names the limit.

use super::world::{ANN, World, save};
use serde_json::Value;
use support::home::Home;
use support::samples;
use support::telegram::{Fault, Incoming, Media, StoredFile, Target};

fn document(media: Media) -> Incoming {
    Incoming::private(ANN).document(media.name("a.bin")).caption(&save(0, "/shared/a"))
}

/// Both lines of the answer about a file that is not there.
fn unavailable(said: &str, reason: &str) {
    let (notice, result) = said.split_once('\n').unwrap_or_else(|| panic!("one line: {said}"));
    assert!(notice.starts_with(&format!("[0] a.bin: {reason}")), "{said}");
    assert!(
        result.starts_with("attachment_unavailable: attachment 0 is unavailable: ")
            || result.starts_with("attachment_unavailable: "),
        "{said}"
    );
    assert!(!result.contains('\n'), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_file_over_the_limit_is_not_fetched() -> anyhow::Result<()> {
    let world =
        World::running_in(|home: Home| home.config("[attachments]\nmax_bytes = \"1000 B\"\n")).await?;
    let said = world.ask(document(Media::with_content("d", vec![b'x'; 1001]))).await?;
    unavailable(&said, "too large: ~1KB, and the limit is 1000 B");
    assert!(world.server.requests("getFile").is_empty(), "declared by the message");
    let hidden = Media::with_content("e", vec![b'x'; 1001]).without_size();
    unavailable(&world.ask(document(hidden)).await?, "too large: the limit is 1000 B");
    assert!(world.server.requests(Target::download()).is_empty(), "declared by getFile");
    let hidden = || StoredFile::new(vec![b'x'; 1001]).without_size();
    let said = world.ask(document(Media::with_file("f", hidden()).without_size())).await?;
    unavailable(&said, "too large: the limit is 1000 B");
    // Nobody declares anything: it is counted as it comes.
    world.server.fault(Target::download_of("g"), 1, Fault::without_length());
    let said = world.ask(document(Media::with_file("g", hidden()).without_size())).await?;
    unavailable(&said, "too large: ~1KB and more, and the limit is 1000 B");
    let exactly = world.ask(document(Media::with_content("h", vec![b'x'; 1000]))).await?;
    assert!(exactly.contains(r#""bytes_written":1000"#), "{exactly}");
    world.end(5)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_size_that_lies_costs_no_memory() -> anyhow::Result<()> {
    let world = World::running().await?;
    world.ask(document(Media::with_content("warm", "up"))).await?;
    let before = peak_kib(world.serving().pid());
    let huge = || StoredFile::repeated(b'x', 300 << 20).declared_size(10);
    let said = world.ask(document(Media::with_file("d", huge()).size(10))).await?;
    unavailable(&said, "too large: the limit is 20 MiB");
    for id in ["e", "f"] {
        world.server.fault(Target::download_of(id), 1, Fault::without_length());
        let said = world.ask(document(Media::with_file(id, huge()).size(10))).await?;
        unavailable(&said, "too large: ~21.0MB and more, and the limit is 20 MiB");
    }
    let grown = peak_kib(world.serving().pid()).saturating_sub(before);
    assert!(grown < 12 << 10, "{grown} KiB more for files that were refused");
    world.end(4)
}

/// The most memory that a process has had, in KiB.
pub(crate) fn peak_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("Linux tells it");
    line.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).expect("a number")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_telegram_does_not_hand_out() -> anyhow::Result<()> {
    let world = World::running().await?;
    let small = |id: &str, file: StoredFile| document(Media::with_file(id, file));
    for (message, reason) in [
        (small("a", StoredFile::new("x").declared_size(21 << 20)), "the file is too large for a bot"),
        (small("b", StoredFile::new("x").without_path()), "Telegram names no file to download"),
        (document(Media::new("unknown")), "Telegram does not hand it out: "),
        (
            document(Media::with_content("c", "x").size(5_000_000_000)),
            "too large: ~5.0GB, and the limit is 20 MiB",
        ),
        (document(Media::with_content("d", "x").size(u64::MAX)), "too large: "),
        (small("e", StoredFile::new("x").at("../../secret")), "Telegram does not hand it out: "),
        (document(Media::with_content("f", "x").field("file_id", Value::Null)), "Telegram names no file"),
        (document(Media::with_content("g", "x").field("file_id", 5)), "Telegram names no file"),
    ] {
        unavailable(&world.ask(message).await?, reason);
    }
    let strange = StoredFile::new("found").at("documents/a b?c#d%2f\u{fc}.txt");
    let said = world.ask(small("h", strange)).await?;
    assert!(said.contains(r#""saved":true"#), "{said}");
    let request = world.server.requests(Target::download()).remove(0);
    assert!(
        request.path.ends_with("/documents/a%20b%3Fc%23d%252f%C3%BC.txt"),
        "slashes stay: {}",
        request.path
    );
    assert!(world.server.requests("getFile").iter().all(|request| request.method == "getFile"));
    world.end(9)
}

fn parts(count: usize) -> impl Iterator<Item = Incoming> {
    (0..count).map(|n| {
        let media = Media::with_content(&format!("d{n}"), format!("part {n:05}")).name(&format!("{n}.txt"));
        Incoming::private(ANN).document(media).media_group("g").message_id(100 + n as i64)
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn twelve_files_are_two_too_many() -> anyhow::Result<()> {
    let world = World::running().await?;
    let mut album: Vec<_> = parts(12).collect();
    album[7] = album[7].clone().caption(&save(9, "/shared/last"));
    world.server.push_all(album);
    let said = world.texts(1).await?.remove(0);
    let lines: Vec<_> = said.lines().collect();
    assert_eq!(lines[0], "[10] 10.txt: too many: it is number 11, and a message may bring 10.", "{said}");
    assert!(
        lines[1].starts_with("[11] 11.txt: too many: ") && lines[2].contains(r#""saved":true"#),
        "{said}"
    );
    assert_eq!(world.saved("/shared/last"), b"part 00009");
    assert_eq!(world.server.requests("getFile").len(), 10);
    assert!(world.server.max_concurrent(Target::download()) <= 3, "a few at once");
    world.end(1)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_turn_has_a_limit_over_all_its_files() -> anyhow::Result<()> {
    let world =
        World::running_in(|home: Home| home.config("[attachments]\nmax_turn_bytes = \"25 B\"\n")).await?;
    let mut album: Vec<_> = parts(4).collect();
    album[0] = album[0].clone().caption(&save(1, "/shared/second"));
    world.server.push_all(album);
    let said = world.texts(1).await?.remove(0);
    let lines: Vec<_> = said.lines().collect();
    assert!(lines[0].starts_with("[2] 2.txt: too large together: "), "{said}");
    assert!(lines[1].starts_with("[3] 3.txt: too large together: ") && lines[1].contains("25 B"), "{said}");
    assert!(lines[2].contains(r#""saved":true"#) && lines.len() == 3, "{said}");
    assert_eq!(world.server.requests(Target::download()).len(), 2);
    // The next turn begins anew.
    let jpeg = samples::jpeg(0);
    assert!(jpeg.len() > 25);
    let said = world.ask(document(Media::with_content("n", "0123456789012345678901234"))).await?;
    assert!(said.contains(r#""bytes_written":25"#), "{said}");
    world.end(2)
}
