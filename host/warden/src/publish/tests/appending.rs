//! Bytes of workspace files that the host appends: from where, how many, and their hash.

use super::refusals::plant;
use super::*;
use crate::publish::temp::PREFIX;
use crate::stop::StopReason;
use cofferdam_core::audit::sha256_hex;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicU32, Ordering};

fn staged(room: &Room) -> crate::publish::StagedFile {
    room.workspace.stage(&path("/shared/new"), Disposition::CreateNew, &budget()).unwrap()
}

#[test]
fn only_regular_files_within_the_mount_are_read() {
    let room = Room::new(StagingMethod::Unnamed);
    plant(&room);
    fs::write(room.outside().join("secret"), "secret").unwrap();
    fs::write(room.host("/vault/other"), "other mount").unwrap();
    symlink("../vault/other", room.host("/shared/link-to-vault")).unwrap();
    fs::write(room.host("/shared").join(format!("{PREFIX}staged")), "another call's").unwrap();
    symlink(format!("{PREFIX}staged"), room.host("/shared/link-to-staged")).unwrap();
    for (at, code) in [
        ("/shared", ErrorCode::IsADirectory),
        ("/shared/dir", ErrorCode::IsADirectory),
        ("/shared/link-to-dir", ErrorCode::IsADirectory),
        ("/shared/none", ErrorCode::NotFound),
        ("/shared/none/x", ErrorCode::NotFound),
        ("/shared/file/x", ErrorCode::NotFound),
        ("/shared/link-to-nothing", ErrorCode::NotFound),
        ("/shared/link-to-staged", ErrorCode::NotFound),
        ("/shared/fifo", ErrorCode::NotARegularFile),
        ("/shared/socket", ErrorCode::NotARegularFile),
        ("/shared/device", ErrorCode::NotARegularFile),
        ("/shared/link-outside/secret", ErrorCode::PathDenied),
        ("/shared/link-absolute/secret", ErrorCode::PathDenied),
        ("/shared/link-to-vault", ErrorCode::PathDenied),
        ("/shared/loop", ErrorCode::PathDenied),
        ("/shared/proc/x", ErrorCode::PathDenied),
        ("/etc/passwd", ErrorCode::PathDenied),
    ] {
        room.unchanged_by(code, || {
            staged(&room)
                .append_file(&path(at), LinkRule::Follow, ExpectedEntry::Anything)
                .map(|_| Vec::new())
                .map_err(ToolError::from)
        });
    }
    // What the links lead to is plain there.
    for at in ["/shared/file", "/shared/link-to-file"] {
        let facts = staged(&room).append_file(&path(at), LinkRule::Follow, ExpectedEntry::Anything).unwrap();
        assert_eq!((facts.bytes, facts.sha256), (3, sha256_hex(b"old")));
    }
}

#[test]
fn where_links_are_refused_none_leads_to_a_file() {
    let room = Room::new(StagingMethod::Unnamed);
    fs::create_dir(room.host("/vault/dir")).unwrap();
    fs::write(room.host("/vault/dir/file"), "key").unwrap();
    fs::hard_link(room.host("/vault/dir/file"), room.host("/vault/other-name")).unwrap();
    symlink("dir/file", room.host("/vault/link")).unwrap();
    symlink("dir", room.host("/vault/link-to-dir")).unwrap();
    symlink("../shared", room.host("/vault/link-outside")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        room.host("/vault/fifo"),
        rustix::fs::FileType::Fifo,
        Mode::RUSR | Mode::WUSR,
        0,
    )
    .unwrap();
    for (at, code) in [
        ("/vault", ErrorCode::IsADirectory),
        ("/vault/dir", ErrorCode::IsADirectory),
        ("/vault/none", ErrorCode::NotFound),
        ("/vault/none/x", ErrorCode::NotFound),
        ("/vault/dir/file/x", ErrorCode::NotFound),
        ("/vault/fifo", ErrorCode::NotARegularFile),
        ("/vault/link", ErrorCode::NotARegularFile),
        ("/vault/link-to-dir", ErrorCode::NotARegularFile),
        ("/vault/link-to-dir/file", ErrorCode::PathDenied),
        ("/vault/link-outside/file", ErrorCode::PathDenied),
    ] {
        let failed =
            staged(&room).append_file(&path(at), LinkRule::Refuse, ExpectedEntry::Anything).unwrap_err();
        assert_eq!(failed.code(), code, "{at}: {failed}");
    }
    for at in ["/vault/dir/file", "/vault/other-name"] {
        let facts = staged(&room).append_file(&path(at), LinkRule::Refuse, ExpectedEntry::Anything).unwrap();
        assert_eq!((facts.bytes, facts.sha256), (3, sha256_hex(b"key")));
    }
}

#[test]
fn the_hashes_are_those_of_what_was_staged() {
    let bytes: Vec<u8> =
        (0..(3 << 20) + 77).map(|i: u32| (i.wrapping_mul(2_654_435_761) >> 11) as u8).collect();
    for technique in BOTH {
        let room = Room::new(technique);
        fs::write(room.host("/vault/source"), &bytes).unwrap();
        fs::write(room.host("/vault/empty"), "").unwrap();
        let mut file = staged(&room);
        let source = path("/vault/source");
        for (from, expected) in [(&source, &bytes[..]), (&path("/vault/empty"), b""), (&source, &bytes)] {
            let facts = file.append_file(from, LinkRule::Follow, ExpectedEntry::Anything).unwrap();
            assert_eq!((facts.bytes, facts.sha256), (expected.len() as u64, sha256_hex(expected)));
            file.write(b"-").unwrap();
        }
        let whole = [&bytes[..], b"--", &bytes, b"-"].concat();
        let facts = file.seal().unwrap().facts();
        assert_eq!((facts.bytes, facts.sha256), (whole.len() as u64, sha256_hex(&whole)));
    }
}

#[test]
fn a_source_counts_against_both_quotas_before_a_byte_is_copied() {
    let room = Room::with(StagingMethod::Unnamed, 0o022, ByteSize::kib(6));
    room.save("/vault/source", Disposition::CreateNew, &[1; 4 << 10]).unwrap();
    let share = Arc::new(CallBudget::new(ByteSize::kib(3), || None));
    for (budget, said) in [(&share, "this call may write 3 KiB"), (&budget(), "the workspace may hold 6 KiB")]
    {
        let mut file = room.workspace.stage(&path("/shared/x"), Disposition::CreateNew, budget).unwrap();
        let error =
            file.append_file(&path("/vault/source"), LinkRule::Follow, ExpectedEntry::Anything).unwrap_err();
        assert_eq!(error.code(), ErrorCode::QuotaExceeded);
        assert!(error.to_string().contains(said), "{error}");
        assert_eq!(file.bytes, 0);
    }
}

#[test]
fn a_stop_ends_a_long_copy() {
    let room = Room::new(StagingMethod::Unnamed);
    fs::File::create(room.host("/vault/source")).unwrap().set_len(8 << 20).unwrap();
    let asked = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&asked);
    let stop = move || (counter.fetch_add(1, Ordering::Relaxed) >= 6).then_some(StopReason::Cancelled);
    let share = Arc::new(CallBudget::new(ByteSize::mib(50), stop));
    let mut file = room.workspace.stage(&path("/shared/x"), Disposition::CreateNew, &share).unwrap();
    let error =
        file.append_file(&path("/vault/source"), LinkRule::Follow, ExpectedEntry::Anything).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Cancelled);
    assert!(asked.load(Ordering::Relaxed) <= 8, "it went on for long");
}
