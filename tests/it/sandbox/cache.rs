//! The compile cache: code that runs outside the sandbox if somebody else could have written it.

use super::finished;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use support::guests::{self, sha256};
use support::home::Home;
use support::needs;

/// A gateway with a small tool, which compiles quickly.
fn hello() -> Home {
    let policy = "safety = \"read-only\"\n[arguments]\nname = \"value\"";
    Home::new().tool("hello", "file-read-only", "minimal", policy)
}

/// Calls the tool, which works; returns the log.
fn called(home: &Home) -> String {
    let mut command = home.command(&["call", "hello", "name=Ada"]);
    let ran = finished(command.env("COFFERDAM_LOG", "info"));
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "{\"greeting\":\"Hello, Ada!\"}\n"), "{ran:?}");
    ran.stderr
}

/// Every entry of the cache.
fn entries(home: &Home) -> Vec<PathBuf> {
    let cache = fs::read_dir(home.state().join("cache")).expect("warmed");
    let entries: Vec<_> = cache.map(|entry| entry.expect("readable").path()).collect();
    let known = |path: &PathBuf| path.extension().is_some_and(|e| e == "cwasm" || e == "said");
    assert!(entries.iter().all(known), "{entries:?}");
    entries
}

/// The small tool's code.
fn entry(home: &Home) -> PathBuf {
    of_hello(home, "cwasm")
}

fn of_hello(home: &Home, kind: &str) -> PathBuf {
    let component = sha256(&guests::bytes("minimal"));
    let is_ours = |path: &PathBuf| {
        let name = path.file_name().expect("a file").to_string_lossy();
        name.starts_with(&component) && name.ends_with(kind)
    };
    let newest = entries(home)
        .into_iter()
        .filter(is_ours)
        .max_by_key(|path| fs::metadata(path).and_then(|m| m.modified()).ok());
    newest.expect("warmed")
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("there").mode() & 0o777
}

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("ours");
}

#[test]
fn a_sound_entry_is_used() {
    let home = hello();
    let log = called(&home);
    assert!(!log.contains("compiled") && !log.contains("damaged"), "{log}");
    assert!(entries(&home).iter().all(|entry| mode(entry) == 0o600));
}

#[test]
fn a_damaged_entry_is_compiled_again_and_never_run() {
    let home = hello();
    let path = entry(&home);
    let sound = fs::read(&path).expect("ours");
    let (mut first, mut middle, mut last) = (sound.clone(), sound.clone(), sound.clone());
    first[0] ^= 1;
    middle[sound.len() / 2] ^= 0x80;
    *last.last_mut().expect("long") ^= 1;
    for damaged in
        [&first, &middle, &last, &sound[..sound.len() / 2].to_vec(), &sound[..20].to_vec(), &vec![]]
    {
        fs::write(&path, damaged).expect("ours");
        let log = called(&home);
        assert!(log.contains("recompiling a damaged cache entry") && log.contains("compiled"), "{log}");
        assert_eq!(sha256(&fs::read(&path).expect("written")), sha256(&sound), "sound again");
    }
}

/// What `tools` says of the small tool; and the log.
fn described(home: &Home) -> (String, String) {
    let mut command = home.command(&["tools"]);
    let ran = finished(command.env("COFFERDAM_LOG", "info"));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    (ran.stdout, ran.stderr)
}

#[test]
fn what_a_tool_said_is_not_asked_again() {
    let home = hello();
    // Also under other grants.
    for path in entries(&home).into_iter().filter(|path| path.extension().is_some_and(|e| e == "said")) {
        fs::remove_file(path).expect("ours");
    }
    let (asked, _) = described(&home);
    let path = of_hello(&home, "said");
    let name = path.file_name().expect("a file").to_string_lossy().into_owned();
    let sound = fs::read(&path).expect("ours");
    let mut other = sound[32..].to_vec();
    let at = other.windows(6).position(|bytes| bytes == b"Greets").expect("the summary, as it is");
    other[at..at + 6].copy_from_slice(b"Grrrts");
    let sealed = |name: &str| {
        let sum = hex::decode(sha256(&[name.as_bytes(), &other].concat())).expect("hex");
        [sum, other.clone()].concat()
    };
    fs::write(&path, sealed(&name)).expect("ours");
    let (kept, log) = described(&home);
    assert!(asked.contains("Greets") && kept.contains("Grrrts"), "{kept} {log}");
    // Not as it was written under this name, or others could have: the tool is asked again.
    for spoil in [
        &|| fs::write(&path, sealed("another")).expect("ours"),
        &|| fs::write(&path, &sound[..40]).expect("ours"),
        &|| {
            fs::write(&path, sealed(&name)).expect("ours");
            chmod(&path, 0o602);
        },
    ] as [&dyn Fn(); 3]
    {
        spoil();
        let (said, log) = described(&home);
        assert!(said == asked && log.contains("not reading a kept description"), "{said} {log}");
        assert_eq!((fs::read(&path).expect("written"), mode(&path)), (sound.clone(), 0o600), "sound again");
    }
    // Without its code it counts for nothing.
    fs::remove_file(entry(&home)).expect("ours");
    let (said, log) = described(&home);
    assert!(said == asked && log.contains("compiled"), "{said} {log}");
    assert!(entry(&home).exists());
}

#[test]
fn every_entry_may_be_damaged_at_once() {
    let home = hello();
    for path in entries(&home) {
        let mut bytes = fs::read(&path).expect("ours");
        bytes.iter_mut().for_each(|byte| *byte = !*byte);
        fs::write(path, bytes).expect("ours");
    }
    called(&home);
    assert_eq!(home.call(&["file_read", "path=/shared/none"]).error(), "not_found");
}

#[test]
fn an_entry_that_others_could_have_written_is_not_read() {
    let home = hello();
    let path = entry(&home);
    for open in [0o666, 0o620, 0o602] {
        chmod(&path, open);
        let log = called(&home);
        assert!(log.contains("not reading a cache entry that others could have written"), "{open:o}: {log}");
        assert_eq!(mode(&path), 0o600, "replaced by one of our own");
    }
}

#[test]
fn an_entry_of_another_user_is_not_read() {
    let test = "an_entry_of_another_user_is_not_read";
    if !needs::available(test, "root, to give files away", needs::root()) {
        return;
    }
    let home = hello();
    let path = entry(&home);
    chown(&path, Some(65534), None).expect("root may");
    let log = called(&home);
    assert!(log.contains("not reading a cache entry that others could have written"), "{log}");
    chown(home.state().join("cache"), Some(65534), None).expect("root may");
    refused_to_start(&home, "belongs to user 65534, who could make the gateway run their code");
}

#[test]
fn a_folder_that_others_can_write_stops_the_start() {
    let home = hello();
    let cache = home.state().join("cache");
    for open in [0o777, 0o770, 0o702, 0o1777] {
        chmod(&cache, open);
        refused_to_start(&home, "can be written by others");
    }
    chmod(&cache, 0o755);
    // Readable is not writable.
    called(&home);
}

fn refused_to_start(home: &Home, why: &str) {
    for arguments in [["call", "file_read"].as_slice(), &["tools"], &["chat"], &["policy", "check"]] {
        let ran = home.run(arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{arguments:?}: {ran:?}");
        assert!(ran.stderr.contains("the compile cache is unusable: "), "{arguments:?}: {ran:?}");
        assert!(ran.stderr.contains(why), "{arguments:?}: {ran:?}");
    }
}

#[test]
fn where_nothing_can_be_kept_tools_still_run() {
    let home = hello();
    let path = entry(&home);
    fs::remove_file(&path).expect("ours");
    // In the way even of root.
    fs::create_dir(&path).expect("ours");
    for _ in 0..2 {
        let log = called(&home);
        assert!(log.contains("compiled") && log.contains("cannot keep compiled code"), "{log}");
    }
    let kept = fs::read_dir(home.state().join("cache")).expect("there").count();
    assert_eq!(kept, entries(&home).len(), "nothing half-written stays");
}

/// Replaces the small tool's entry by `make` and holds that it is compiled again, with these words
/// in the log.
fn replaced(says: &str, make: impl FnOnce(&Home, &Path)) {
    let home = hello();
    let path = entry(&home);
    let sound = sha256(&fs::read(&path).expect("ours"));
    make(&home, &path);
    let log = called(&home);
    assert!(log.contains(says) && log.contains("compiled"), "{says:?}: {log}");
    let kept = fs::symlink_metadata(&path).expect("there");
    assert!(kept.is_file() && kept.mode() & 0o777 == 0o600, "one of our own: {kept:?}");
    assert_eq!(sha256(&fs::read(&path).expect("written")), sound, "sound again");
    let log = called(&home);
    assert!(!log.contains("compiled"), "and used from then on: {log}");
}

const DAMAGED: &str = "recompiling a damaged cache entry";
const FOREIGN: &str = "not reading a cache entry that others could have written";

#[test]
fn the_code_of_another_component_is_not_run_under_this_ones_name() {
    replaced(DAMAGED, |home, path| {
        let is_other = |other: &PathBuf| other.as_path() != path;
        let other = entries(home).into_iter().find(is_other).expect("the builtin ones are warm");
        fs::copy(other, path).expect("ours");
    });
}

#[test]
fn the_code_of_another_engine_is_not_run() {
    let name = |path: &Path| path.file_name().expect("a file").to_string_lossy().into_owned();
    // As another engine would have kept it: the same component, its own name, sealed for that.
    let sealed = |name: &str, entry: &[u8]| {
        let mut sealed = hex::decode(sha256(&[name.as_bytes(), &entry[32..]].concat())).expect("hex");
        sealed.extend(&entry[32..]);
        sealed
    };
    let others = |path: &Path| {
        let name = name(path);
        let (component, _) = name.split_once('-').expect("component and engine");
        format!("{component}-{:016x}.cwasm", 7)
    };
    replaced(DAMAGED, |_, path| {
        let sound = fs::read(path).expect("ours");
        assert_eq!(sealed(&name(path), &sound), sound, "this test seals as the gateway does");
        fs::write(path, sealed(&others(path), &sound)).expect("ours");
    });
    // Under its own name it is nobody's business, and there is none for this engine.
    replaced("compiled", |_, path| {
        let other = path.with_file_name(others(path));
        fs::write(&other, sealed(&others(path), &fs::read(path).expect("ours"))).expect("ours");
        fs::remove_file(path).expect("ours");
    });
}

#[test]
fn what_is_no_file_of_its_own_is_not_read() {
    replaced(FOREIGN, |home, path| {
        let elsewhere = home.dir().join("elsewhere.cwasm");
        fs::rename(path, &elsewhere).expect("ours");
        std::os::unix::fs::symlink(elsewhere, path).expect("ours");
    });
    replaced(FOREIGN, |_, path| {
        fs::remove_file(path).expect("ours");
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mkfifoat(rustix::fs::CWD, path, mode).expect("ours");
    });
}

/// Their machine code is in the program.
#[test]
fn builtins_are_compiled_nowhere() {
    let home = Home::new();
    fs::remove_dir_all(home.state()).expect("ours");
    fs::create_dir_all(home.host("/shared")).expect("writable");
    for words in [["file_list", "path=/shared"], ["file_info", "path=/shared"]] {
        let mut command = home.command(&["call", words[0], words[1]]);
        let ran = finished(command.env("COFFERDAM_LOG", "info"));
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(!ran.stderr.contains("compil"), "{ran:?}");
    }
    let kept = fs::read_dir(home.state().join("cache")).map_or(0, Iterator::count);
    assert_eq!(kept, 0, "nothing is kept in the cache");
}
