//! The hash in the facts is that of the bytes on disk, however they came.

use super::*;
use crate::publish::StagedFile;
use cofferdam_core::audit::sha256_hex;
use std::io::Write;

/// Larger than a slice and no multiple of anything.
fn large() -> Vec<u8> {
    (0..(5 << 20) + 4321).map(|i: u32| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}

fn known(bytes: &[u8]) -> [u8; 32] {
    hex::decode(sha256_hex(bytes)).unwrap().try_into().unwrap()
}

fn file_of(bytes: &[u8]) -> fs::File {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    file
}

/// Stages by `steps` and checks facts and disk against `expected`.
fn check(expected: &[u8], steps: impl Fn(&mut StagedFile)) {
    let room = Room::new(StagingMethod::Unnamed);
    let mut staged = room.workspace.stage(&path("/shared/x"), Disposition::CreateNew, &budget()).unwrap();
    steps(&mut staged);
    assert_eq!(staged.bytes, expected.len() as u64);
    let Effect::Written(facts) = room.publish(vec![staged.seal().unwrap()]).unwrap().remove(0) else {
        panic!()
    };
    assert!(fs::read(room.host("/shared/x")).unwrap() == expected);
    assert_eq!((facts.bytes, facts.sha256), (expected.len() as u64, sha256_hex(expected)));
}

#[test]
fn whole_attachments_are_taken_at_their_word() {
    let (bytes, lie) = (large(), [7; 32]);
    let file = file_of(&bytes);
    for by_file in [true, false] {
        let room = Room::new(StagingMethod::Unnamed);
        let mut staged = room.workspace.stage(&path("/shared/x"), Disposition::Replace, &budget()).unwrap();
        if by_file {
            staged.append_file_known(&file, bytes.len() as u64, &lie).unwrap();
        } else {
            staged.append_bytes_known(&bytes, &lie).unwrap();
        }
        assert_eq!(staged.seal().unwrap().facts().sha256, hex::encode(lie));
    }
}

#[test]
fn whatever_is_mixed_is_hashed_as_it_lies() {
    let bytes = large();
    let (file, sha256, len) = (file_of(&bytes), known(&bytes), bytes.len() as u64);
    let twice = [&bytes[..], &bytes[..]].concat();
    let around = [b"a".as_slice(), &bytes, b"z"].concat();
    check(b"", |_| {});
    check(&bytes, |s| s.append_file_known(&file, len, &sha256).unwrap());
    check(&bytes, |s| s.append_bytes_known(&bytes, &sha256).unwrap());
    check(&bytes, |s| bytes.chunks(4097).for_each(|c| s.write(c).unwrap()));
    check(&twice, |s| {
        s.append_file_known(&file, len, &sha256).unwrap();
        s.append_file_known(&file, len, &sha256).unwrap();
    });
    check(&twice, |s| {
        s.append_bytes_known(&bytes, &sha256).unwrap();
        s.append_file_known(&file, 0, &known(b"")).unwrap();
        s.append_bytes_known(&bytes, &sha256).unwrap();
    });
    check(&around, |s| {
        s.write(b"a").unwrap();
        s.append_file_known(&file, len, &sha256).unwrap();
        s.write(b"z").unwrap();
    });
    check(&bytes[..100], |s| s.append_file_known(&file, 100, &known(&bytes[..100])).unwrap());
}

#[test]
fn a_source_that_ends_early_is_an_error_that_sticks() {
    let room = Room::new(StagingMethod::Unnamed);
    let before = room.tree();
    let mut staged = room.workspace.stage(&path("/shared/x"), Disposition::CreateNew, &budget()).unwrap();
    let error = staged.append_file_known(&file_of(b"short"), 6, &[0; 32]).unwrap_err();
    assert_eq!(error.code(), ErrorCode::WriteFailed);
    assert_eq!(staged.write(b"more").unwrap_err().code(), ErrorCode::WriteFailed);
    let Err(error) = staged.seal() else { panic!("it sealed") };
    assert!(error.to_string().contains("earlier write failed"), "{error}");
    assert_eq!(room.tree(), before);
}

#[test]
fn a_source_that_cannot_be_read_is_no_failed_write() {
    let room = Room::new(StagingMethod::Unnamed);
    let (source, sealed) = (room.outside().join("source"), room.outside().join("sealed"));
    fs::write(&source, "content").unwrap();
    fs::write(&sealed, "").unwrap();
    let before = room.tree();
    let stage = || room.workspace.stage(&path("/shared/x"), Disposition::CreateNew, &budget()).unwrap();
    // The system refuses to read what is open for writing alone.
    let unreadable = fs::File::options().write(true).open(&source).unwrap();
    let error = stage().append_file_known(&unreadable, 7, &known(b"content")).unwrap_err();
    assert_eq!(error.code(), ErrorCode::ReadFailed);
    let said = "/shared/x: reading what this change needs failed (";
    assert!(error.to_string().starts_with(said), "{error}");
    // And to write to what is open for reading alone.
    let mut staged = stage();
    staged.file = fs::File::open(&sealed).unwrap();
    let readable = fs::File::open(&source).unwrap();
    let error = staged.append_file_known(&readable, 7, &known(b"content")).unwrap_err();
    assert_eq!(error.code(), ErrorCode::WriteFailed);
    drop(staged);
    assert_eq!(room.tree(), before);
}

#[test]
fn a_source_on_another_filesystem_is_copied_through_memory() {
    let file = tempfile::tempfile_in("/dev/shm").ok();
    let name = "publish::tests::hashing::a_source_on_another_filesystem_is_copied_through_memory";
    if !needs::available(name, "another filesystem at /dev/shm", file.is_some()) {
        return;
    }
    let mut file = file.unwrap();
    let bytes = large();
    file.write_all(&bytes).unwrap();
    check(&bytes, |s| s.append_file_known(&file, bytes.len() as u64, &known(&bytes)).unwrap());
}
