//! The attachments of a turn, with a spool directory of their own for each test.

#![allow(clippy::unwrap_used, reason = "a test that fails may panic")]

mod blobs;
mod fetching;
mod intake;
mod list;
mod sniffing;

use super::*;
use cofferdam_core::tool::ErrorCode;
use std::io::{Read, Seek, SeekFrom, Write};

pub(super) fn store() -> (tempfile::TempDir, BlobStore) {
    let dir = tempfile::tempdir().unwrap();
    let store = BlobStore::open(&dir.path().join("blobs")).unwrap();
    (dir, store)
}

pub(super) fn blob(store: &BlobStore, bytes: &[u8]) -> Blob {
    let mut writer = store.writer(ByteSize::mib(64));
    bytes.chunks(10_000).for_each(|chunk| writer.write(chunk).unwrap());
    writer.finish()
}

pub(super) fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}
