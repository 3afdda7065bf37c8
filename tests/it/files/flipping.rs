//! Somebody exchanges a name with others as fast as the system can, while tools and a guest that
//! opens in a loop work on it: a file becomes a link to the outside, a folder, a FIFO, another
//! file, another name of a file. Nothing outside is read or changed, and whoever reads sees a whole
//! version.
//!
//! `RACE_OPENS` says how often the guest opens in all, a million times if it is not set; the rounds
//! of the tools grow with it.

use super::check::{home, tree, with_folders, works};
use crate::sandbox::chat::Chat;
use rustix::fs::{CWD, FileType, Mode, RenameFlags, mknodat, renameat_with};
use rustix::io::Errno;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use support::home::Home;

/// Opens of one call.
const OPENS_PER_CALL: u64 = 10_000;

/// How exchanges follow each other.
#[derive(Clone, Copy)]
enum Pace {
    /// One after the other, for single calls.
    Steady,
    /// So many in a row and then [`REST`], so that a million opens leave the machine usable.
    Bursts(u64),
}

const BURST: u64 = 16;
const REST: Duration = Duration::from_micros(200);

/// How often the guest opens in all.
fn opens() -> u64 {
    std::env::var("RACE_OPENS").ok().map_or(1_000_000, |text| text.parse().expect("RACE_OPENS is a number"))
}

/// A file that is told by its letter and its length. Small, because each byte that is read costs an
/// unoptimized host more than the rest of its open; the guest reads 1 KiB at a time, so that some
/// take several reads.
fn version(letter: &str) -> String {
    let length = match letter {
        "a" => 300,
        "b" => 1500,
        "c" => 700,
        "d" => 500,
        // More than a page of memory.
        "e" => 5000,
        _ => 77,
    };
    letter.repeat(length)
}

/// Exchanges `name` with each of `others` in turn while `work` runs; how often it did.
fn while_flipping<T>(name: &Path, others: &[PathBuf], pace: Pace, work: impl FnOnce() -> T) -> (T, u64) {
    let (done, flips) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for other in others.iter().cycle().take_while(|_| !done.load(Ordering::Acquire)) {
                match renameat_with(CWD, name, CWD, other, RenameFlags::EXCHANGE) {
                    // A tool took one of the names away, perhaps all.
                    Err(Errno::NOENT) => std::thread::yield_now(),
                    exchanged => exchanged.expect("the filesystem can exchange"),
                }
                let flipped = flips.fetch_add(1, Ordering::AcqRel) + 1;
                match pace {
                    Pace::Bursts(burst) if flipped.is_multiple_of(burst) => std::thread::sleep(REST),
                    Pace::Bursts(_) | Pace::Steady => {}
                }
            }
        });
        // Dropped when `work` panics as well: the scope waits for the other thread.
        let _stop = Stop(&done);
        while flips.load(Ordering::Acquire) == 0 {
            std::thread::yield_now();
        }
        (work(), flips.load(Ordering::Acquire))
    })
}

/// Says that it is done when it is dropped.
pub(super) struct Stop<'a>(pub(super) &'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// A folder beside the workspace that nothing may reach.
fn outside(home: &Home) -> PathBuf {
    let outside = home.dir().join("outside");
    fs::create_dir(&outside).expect("writable");
    fs::write(outside.join("file"), version("s")).expect("writable");
    outside
}

/// A folder of the workspace in which `name` is exchanged with all else.
struct Arena {
    folder: PathBuf,
}

impl Arena {
    /// `name` is a file; beside it lie another, one with a second name in `kept`, a folder, a FIFO,
    /// and links to the outside, to nothing and to a file beside.
    fn new(home: &Home, guest: &str, outside: &Path) -> Self {
        let folder = home.host(guest);
        fs::create_dir(&folder).expect("writable");
        let at = |name: &str| folder.join(name);
        fs::write(at("name"), version("a")).expect("writable");
        fs::write(at("other"), version("b")).expect("writable");
        let kept = home.host("/tmp/kept");
        if !kept.exists() {
            fs::write(&kept, version("c")).expect("writable");
        }
        fs::hard_link(kept, at("hard")).expect("one filesystem");
        fs::write(at("beside"), version("d")).expect("writable");
        symlink("beside", at("inside")).expect("writable");
        symlink(outside.join("file"), at("link")).expect("writable");
        symlink("nothing", at("dangling")).expect("writable");
        fs::create_dir(at("folder")).expect("writable");
        mknodat(CWD, at("fifo"), FileType::Fifo, Mode::from_raw_mode(0o600), 0).expect("FIFOs are possible");
        Self { folder }
    }

    fn name(&self) -> PathBuf {
        self.folder.join("name")
    }

    fn others(&self) -> Vec<PathBuf> {
        let others = ["other", "link", "hard", "folder", "fifo", "inside", "dangling"];
        others.map(|name| self.folder.join(name)).to_vec()
    }
}

/// The guest that opens in a loop; no policy knows its path.
fn reader() -> Home {
    let policy = "safety = \"side-effecting\"\n[arguments]\nbehaviour = \"value\"\npath = \"value\"\nbytes = \"value\"\n\
                  [limits]\ndeadline = \"120s\"";
    with_folders(Home::new().tool("hostile", "file-read-write", "hostile", policy))
}

/// Opens `path` so often, and counts what was found.
fn open(chat: &mut Chat, path: &str, opens: u64, found: &mut BTreeMap<String, u64>) {
    let mut left = opens;
    while left > 0 {
        let now = left.min(OPENS_PER_CALL);
        let said = chat.say(&format!("/hostile behaviour=open_loop path={path} bytes={now}"));
        let seen: Value = serde_json::from_str(&said).unwrap_or_else(|_| panic!("{said}"));
        for (outcome, count) in seen["outcomes"].as_object().expect("an object") {
            *found.entry(outcome.clone()).or_default() += count.as_u64().expect("a number");
        }
        left -= now;
    }
}

/// Whole versions, and what else may be: each at least once, and nothing but those. `other error`
/// is what the guest sees when a name changes faster than the kernel can tell where it lies.
fn all_and_no_other(found: &BTreeMap<String, u64>, opens: u64, letters: &[&str], others: &[&str]) {
    let whole = |letter: &&str| format!("{letter} x {}", version(letter).len());
    let expected: BTreeSet<_> =
        letters.iter().map(whole).chain(others.iter().map(|other| (*other).to_owned())).collect();
    let seen: BTreeSet<_> = found.keys().filter(|outcome| *outcome != "other error").cloned().collect();
    assert_eq!(seen, expected, "{found:?}");
    assert_eq!(found.values().sum::<u64>(), opens, "{found:?}");
}

#[test]
fn a_name_that_becomes_everything_is_never_followed_out() {
    let home = reader();
    let outside = outside(&home);
    let before = tree(&outside);
    let arena = Arena::new(&home, "/shared/arena", &outside);
    let (mut chat, mut found, opens) = (Chat::start(&home), BTreeMap::new(), opens() / 2);
    let (_, flips) = while_flipping(&arena.name(), &arena.others(), Pace::Bursts(BURST), || {
        open(&mut chat, "/shared/arena/name", opens, &mut found);
    });
    assert!(flips > opens / 100, "{flips} flips: no race");
    all_and_no_other(
        &found,
        opens,
        &["a", "b", "c", "d"],
        &["directory", "permission denied", "unsupported", "entity not found"],
    );
    assert_eq!(tree(&outside), before);
    chat.end();
    works(&home);
}

#[test]
fn a_folder_that_becomes_everything_is_never_left() {
    let home = reader();
    let outside = outside(&home);
    let before = tree(&outside);
    let at = |name: &str| home.host(&format!("/shared/{name}"));
    for (folder, letter) in [("way", "a"), ("other", "b")] {
        fs::create_dir(at(folder)).expect("writable");
        fs::write(at(folder).join("file"), version(letter)).expect("writable");
    }
    symlink(&outside, at("link")).expect("writable");
    symlink("../../outside", at("up")).expect("writable");
    symlink("other2", at("inside")).expect("writable");
    fs::create_dir(at("other2")).expect("writable");
    fs::write(at("other2/file"), version("c")).expect("writable");
    fs::write(at("plain"), version("d")).expect("writable");
    let others = ["other", "link", "inside", "up", "plain"].map(at).to_vec();
    let (mut chat, mut found, opens) = (Chat::start(&home), BTreeMap::new(), opens() * 2 / 5);
    let (_, flips) = while_flipping(&at("way"), &others, Pace::Bursts(BURST), || {
        open(&mut chat, "/shared/way/file", opens, &mut found);
    });
    assert!(flips > opens / 100, "{flips} flips: no race");
    all_and_no_other(&found, opens, &["a", "b", "c"], &["permission denied", "not a directory"]);
    assert_eq!(tree(&outside), before);
    chat.end();
    works(&home);
}

#[test]
fn a_file_that_is_written_meanwhile_is_read_whole() {
    let home = reader();
    let letters = ["a", "b", "e"];
    fs::write(home.host("/shared/file"), version("a")).expect("writable");
    let (mut chat, mut found, opens) = (Chat::start(&home), BTreeMap::new(), opens() / 10);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut writer = Chat::start(&home);
            for letter in letters.iter().cycle() {
                if done.load(Ordering::Acquire) {
                    return writer.end();
                }
                let arguments =
                    json!({ "path": "/shared/file", "content": version(letter), "overwrite": true });
                let said = writer.say(&format!("/file_write {arguments}"));
                assert!(said.starts_with(r#"{"written":true"#), "{said}");
            }
        });
        let _stop = Stop(&done);
        open(&mut chat, "/shared/file", opens, &mut found);
    });
    all_and_no_other(&found, opens, &letters, &[]);
    chat.end();
    works(&home);
}

/// Rounds of each tool in each way, for a million opens.
const ROUNDS: u64 = 40;

fn rounds() -> u64 {
    (opens() * ROUNDS / 1_000_000).max(1)
}

/// Every way in which a file tool works on `name`; `new` is free.
fn ways(name: &str, new: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("file_read", json!({ "path": name })),
        ("file_search", json!({ "path": name, "pattern": "." , "regex": true })),
        ("file_info", json!({ "path": name })),
        ("file_copy", json!({ "from": name, "to": new })),
        ("file_write", json!({ "path": name, "content": version("w"), "overwrite": true })),
        ("file_write", json!({ "path": name, "content": version("w"), "append": true })),
        (
            "file_edit",
            json!({ "path": name, "edits": [{ "old_text": version("a"), "new_text": version("w") }] }),
        ),
        ("file_copy", json!({ "from": "/tmp/kept", "to": name, "overwrite": true })),
        ("file_move", json!({ "from": name, "to": new })),
        ("file_delete", json!({ "path": name, "recursive": true })),
    ]
}

/// Every regular file below a folder is a whole version, or one with a whole text appended.
fn whole(folder: &Path) {
    let versions: BTreeSet<String> = ["a", "b", "c", "d", "w"].map(version).into();
    for entry in fs::read_dir(folder).expect("there").flatten() {
        let kind = entry.file_type().expect("there");
        if kind.is_dir() {
            whole(&entry.path());
        } else if kind.is_file() {
            let text = fs::read_to_string(entry.path()).expect("text");
            let appended = text.strip_suffix(&version("w")).is_some_and(|old| versions.contains(old));
            assert!(versions.contains(&text) || appended, "{:?} is torn: {:.80}", entry.path(), text);
        }
    }
}

/// The code of an error, or `ok` and, where it is told, what the name stood for.
fn outcome(said: &str) -> String {
    match serde_json::from_str::<Value>(said) {
        Ok(result) => format!("ok {}", result["kind"].as_str().unwrap_or_default()),
        Err(_) => said.split(':').next().unwrap_or_default().to_owned(),
    }
}

/// One call, and what is exchanged while it runs.
struct Scene {
    arguments: Value,
    /// Holds all that the call may touch.
    folder: PathBuf,
    name: PathBuf,
    others: Vec<PathBuf>,
}

/// Calls a tool in one scene after the other, each in the folder that it is given: what is there in
/// the end is whole, and whatever was answered fits.
fn play(home: &Home, chat: &mut Chat, tool: &str, scene: impl Fn(&str) -> Scene) {
    let mut codes = BTreeMap::<String, u64>::new();
    for round in 0..rounds() {
        let Scene { arguments, folder, name, others } = scene(&format!("/shared/{round}"));
        // At the first pace no look at the name is true for long, at the second some are. A rest of
        // a busy machine is longer than a call: each round rests at another name.
        let pace = if round % 2 == 0 { Pace::Steady } else { Pace::Bursts(round.div_ceil(2)) };
        let (said, _) = while_flipping(&name, &others, pace, || chat.say(&format!("/{tool} {arguments}")));
        assert!(!said.contains(&version("s")[..20]), "{tool} {arguments}: {said}");
        *codes.entry(outcome(&said)).or_default() += 1;
        whole(&folder);
        assert_eq!(fs::read_to_string(home.host("/tmp/kept")).expect("there"), version("c"));
        fs::remove_dir_all(folder).expect("ours");
    }
    let possible = [
        "path_denied",
        "not_found",
        "not_a_regular_file",
        "is_a_directory",
        "write_failed",
        "invalid_arguments",
        "already_exists",
    ];
    let fits = |code: &String| code.starts_with("ok") || possible.contains(&code.as_str());
    assert!(codes.keys().all(fits), "{tool}: {codes:?}");
    // It came upon several things, or noticed an exchange between its look and its act.
    let raced = codes.len() > 1 || codes.contains_key("write_failed") || rounds() < ROUNDS;
    assert!(raced, "{tool}: {codes:?}: no race");
}

#[test]
fn tools_on_a_name_that_becomes_everything_touch_nothing_else() {
    let home = home();
    let outside = outside(&home);
    let before = tree(&outside);
    let mut chat = Chat::start(&home);
    for (n, (tool, _)) in ways("", "").into_iter().enumerate() {
        play(&home, &mut chat, tool, |guest| {
            let arena = Arena::new(&home, guest, &outside);
            let arguments = ways(&format!("{guest}/name"), &format!("{guest}/new")).swap_remove(n).1;
            Scene { arguments, name: arena.name(), others: arena.others(), folder: arena.folder }
        });
        assert_eq!(tree(&outside), before, "{tool}");
    }
    chat.end();
    works(&home);
}

/// Every way in which a file tool works on names below `way`; `still` is a file that nobody
/// exchanges, and `new` is free.
fn ways_below(way: &str, still: &str, new: &str) -> Vec<(&'static str, Value)> {
    let (name, free) = (format!("{way}/name"), format!("{way}/new"));
    let mut all = ways(&name, new);
    all.extend([
        ("file_list", json!({ "path": way })),
        ("file_search", json!({ "path": way, "pattern": "." , "regex": true })),
        ("file_write", json!({ "path": format!("{way}/deep/er/new"), "content": version("w") })),
        ("file_copy", json!({ "from": still, "to": free })),
        ("file_copy", json!({ "from": name, "to": free })),
        ("file_move", json!({ "from": still, "to": free })),
        ("file_move", json!({ "from": name, "to": free })),
        ("file_delete", json!({ "path": way, "recursive": true })),
    ]);
    all
}

/// A folder `way` of which each that takes its place has a file `name`: two folders, links to one
/// beside and to the outside; and a file. `still` is a file beside.
fn crossing(home: &Home, guest: &str, outside: &Path) -> (PathBuf, Vec<PathBuf>) {
    let folder = home.host(guest);
    let at = |name: &str| folder.join(name);
    for (name, letter) in [("way", "a"), ("other", "b"), ("beside", "d")] {
        fs::create_dir_all(at(name)).expect("writable");
        fs::write(at(name).join("name"), version(letter)).expect("writable");
    }
    fs::write(at("still"), version("c")).expect("writable");
    fs::write(at("plain"), version("d")).expect("writable");
    symlink("beside", at("inside")).expect("writable");
    symlink(outside, at("link")).expect("writable");
    symlink("../../../outside", at("up")).expect("writable");
    let others = ["other", "link", "inside", "up", "plain"].map(at).to_vec();
    (folder, others)
}

#[test]
fn tools_below_a_folder_that_becomes_everything_stay_in_the_mount() {
    let home = home();
    let outside = outside(&home);
    fs::write(outside.join("name"), version("s")).expect("writable");
    fs::write(home.host("/tmp/kept"), version("c")).expect("writable");
    let before = tree(&outside);
    let mut chat = Chat::start(&home);
    for (n, (tool, _)) in ways_below("", "", "").into_iter().enumerate() {
        play(&home, &mut chat, tool, |guest| {
            let (folder, others) = crossing(&home, guest, &outside);
            let at = |name: &str| format!("{guest}/{name}");
            let arguments = ways_below(&at("way"), &at("still"), &at("new")).swap_remove(n).1;
            Scene { arguments, name: folder.join("way"), others, folder }
        });
        assert_eq!(tree(&outside), before, "{tool}");
    }
    chat.end();
    works(&home);
}
