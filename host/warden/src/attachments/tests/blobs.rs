//! Bytes are kept as they came, once, where they belong.

use super::*;
use cofferdam_core::audit::sha256_hex;
use std::fs;
use std::os::unix::fs::MetadataExt;

#[test]
fn small_blobs_are_in_memory_and_large_ones_in_a_file_without_a_name() {
    let (dir, store) = store();
    for len in [0, 1, 256 << 10, (256 << 10) + 1, 3 << 20] {
        let bytes = pattern(len);
        let blob = blob(&store, &bytes);
        assert_eq!(blob.len(), len as u64);
        assert_eq!(hex::encode(blob.sha256()), sha256_hex(&bytes));
        match blob.bytes() {
            BlobBytes::Memory(held) => assert!(len <= 256 << 10 && held == &bytes),
            BlobBytes::File(file) => {
                assert!(len > 256 << 10);
                assert_eq!(file.metadata().unwrap().nlink(), 0);
            }
        }
        let mut read = Vec::new();
        blob.reader().read_to_end(&mut read).unwrap();
        assert!(read == bytes);
        assert_eq!(format!("{blob:?}"), format!("Blob({len} bytes)"));
    }
    let spool = dir.path().join("blobs");
    assert_eq!(fs::read_dir(&spool).unwrap().count(), 0);
    assert_eq!(fs::metadata(&spool).unwrap().mode() & 0o777, 0o700);
}

#[test]
fn readers_seek_and_do_not_disturb_each_other() {
    let (_dir, store) = store();
    for len in [100, 1 << 20] {
        let (bytes, mut buffer) = (pattern(len), [0; 10]);
        let blob = blob(&store, &bytes);
        let (mut one, mut two) = (blob.reader(), blob.reader());
        one.seek(SeekFrom::End(-10)).unwrap();
        two.seek(SeekFrom::Start(3)).unwrap();
        two.seek(SeekFrom::Current(2)).unwrap();
        one.read_exact(&mut buffer).unwrap();
        assert_eq!(buffer, bytes[len - 10..]);
        two.read_exact(&mut buffer).unwrap();
        assert_eq!(buffer, bytes[5..15]);
        assert_eq!(one.read(&mut buffer).unwrap(), 0);
        assert_eq!(blob.read_at(&mut buffer, u64::MAX >> 1).unwrap(), 0);
        assert!(one.seek(SeekFrom::Current(i64::MIN)).is_err());
    }
}

#[test]
fn the_cap_holds_before_a_byte_over_it_is_kept() {
    let (_dir, store) = store();
    let mut writer = store.writer(ByteSize(10));
    writer.write(&[1; 10]).unwrap();
    assert!(matches!(writer.write(&[1]), Err(BlobError::OverLimit(ByteSize(10)))));
    assert_eq!(writer.bytes_written(), 10);
    assert_eq!(blob(&store, b"next").len(), 4);
}

#[test]
fn equal_bytes_are_held_once_while_anybody_holds_them() {
    let (_dir, store) = store();
    for len in [100, 1 << 20] {
        let bytes = pattern(len);
        let (one, two) = (blob(&store, &bytes), blob(&store, &bytes));
        assert!(std::sync::Arc::ptr_eq(&one.body, &two.body));
        let gone = std::sync::Arc::downgrade(&one.body);
        drop((one, two));
        assert!(gone.upgrade().is_none());
        assert_eq!(blob(&store, &bytes).len(), len as u64);
    }
}

#[test]
fn a_start_sweeps_spooled_files_and_nothing_else() {
    let (dir, _store) = store();
    let spool = dir.path().join("blobs");
    fs::File::create(spool.join(".tmpAbCdEf")).unwrap().write_all(b"left").unwrap();
    fs::create_dir(spool.join(".tmpdir")).unwrap();
    fs::write(spool.join("somebody-elses"), "").unwrap();
    BlobStore::open(&spool).unwrap();
    assert!(!spool.join(".tmpAbCdEf").exists());
    assert!(spool.join(".tmpdir").exists() && spool.join("somebody-elses").exists());
}
