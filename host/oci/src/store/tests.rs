//! What is kept is what was fetched, or it is not had.

use super::{PARTIAL, Store, StoreError};
use crate::fetch::Fetched;
use crate::signature::Signature;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cofferdam_core::oci::{ContentDigest, ImageReference, SignerKey};
use ring::signature::{Ed25519KeyPair, KeyPair};
use std::path::Path;
use tempfile::TempDir;

const COMPONENT: &[u8] = b"the bytes of a component";

fn store(bytes_max: u64) -> (TempDir, Store) {
    let dir = tempfile::tempdir().expect("a folder");
    let store = Store::new(dir.path().join("components"), bytes_max);
    (dir, store)
}

fn fetched(component: &[u8]) -> Fetched {
    let (size, digest) = (component.len(), ContentDigest::hash(component));
    let manifest = format!(
        r#"{{"schemaVersion":2,"config":{{"mediaType":"application/vnd.wasm.config.v0+json","digest":"{digest}","size":0}},
        "layers":[{{"mediaType":"application/wasm","digest":"{digest}","size":{size}}}]}}"#
    );
    let reference = format!("ghcr.io/acme/tool@{}", ContentDigest::hash(manifest.as_bytes()));
    Fetched {
        reference: reference.parse().expect("a reference"),
        manifest: manifest.into_bytes(),
        component: component.to_vec(),
        signatures: Vec::new(),
    }
}

/// A signer, and its signature of a component.
fn signed(seed: u8, reference: &ImageReference) -> (SignerKey, Signature) {
    let pair = Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).expect("a seed");
    let head = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
    let der = [&head[..], pair.public_key().as_ref()].concat();
    let payload = format!(
        r#"{{"critical":{{"image":{{"docker-manifest-digest":"{}"}},"type":"cosign container image signature"}}}}"#,
        reference.digest()
    );
    let signature = STANDARD.encode(pair.sign(payload.as_bytes()));
    let signature = Signature::from_simple(payload.into_bytes(), &signature).expect("base64");
    (STANDARD.encode(der).parse().expect("a key"), signature)
}

fn names(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir.join("components")).expect("there").flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.file_name().into_string().expect("text")).collect();
    names.sort();
    names
}

#[test]
fn what_was_not_fetched_is_told_with_the_command_that_fetches_it() {
    let (dir, store) = store(100);
    let reference = fetched(COMPONENT).reference;
    let why = store.component(&reference, None).expect_err("nothing is kept").to_string();
    assert!(why.contains(&format!("run: cofferdam tool fetch {reference}")), "{why}");
    assert!(!dir.path().join("components").exists(), "looking makes nothing");
}

#[test]
fn what_was_changed_is_not_had() {
    let (_dir, store) = store(100);
    let fetched = fetched(COMPONENT);
    let (reference, digest) = (&fetched.reference, fetched.reference.digest());
    let keep = || store.begin_write().and_then(|writing| writing.keep(&fetched)).expect("kept");
    keep();
    assert_eq!(store.component(reference, None).expect("whole"), COMPONENT);
    assert_eq!(store.component_digest(reference).expect("whole"), ContentDigest::hash(COMPONENT));
    let (component, manifest) = (store.file(digest), store.path(digest, "json"));
    for (file, bytes, said) in [
        (&component, b"The bytes of a component".to_vec(), "the component does not have its digest"),
        (&component, b"the bytes of a componen".to_vec(), "the component does not have its digest"),
        (&component, b"the bytes of a component!".to_vec(), "larger than 24 bytes"),
        (&manifest, fetched.manifest[1..].to_vec(), "the manifest does not have its digest"),
        (&manifest, Vec::new(), "the manifest does not have its digest"),
    ] {
        std::fs::write(file, bytes).expect("writable");
        let why = store.component(reference, None).expect_err(said).to_string();
        assert!(why.contains(said) && why.contains("run: cofferdam tool fetch"), "{said:?} in {why}");
        keep();
        assert_eq!(store.component(reference, None).expect("whole again"), COMPONENT);
    }
    std::fs::remove_file(&component).expect("there");
    let why = store.component(reference, None).expect_err("gone");
    assert!(matches!(why, StoreError::Unreadable { .. }), "{why}");
}

#[test]
fn a_component_larger_than_any_that_is_taken_is_not_read() {
    let (_dir, store) = store(COMPONENT.len() as u64 - 1);
    let fetched = fetched(COMPONENT);
    store.begin_write().and_then(|writing| writing.keep(&fetched)).expect("kept");
    let why = store.component(&fetched.reference, None).expect_err("too large").to_string();
    assert!(why.contains("has 24 bytes, and at most 23 are taken"), "{why}");
}

#[test]
fn a_signer_whom_the_policy_names_must_have_signed_what_is_kept() {
    let (_dir, store) = store(100);
    let mut fetched = fetched(COMPONENT);
    let reference = fetched.reference.clone();
    let ((ours, by_us), (others, by_others)) = (signed(1, &reference), signed(2, &reference));
    let other_component = "ghcr.io/a@sha256:".to_owned() + &"0".repeat(64);
    let (_, of_another) = signed(1, &other_component.parse().expect("a reference"));
    let keep =
        |fetched: &Fetched| store.begin_write().and_then(|writing| writing.keep(fetched)).expect("kept");
    for signatures in [vec![], vec![by_others.clone()], vec![of_another]] {
        fetched.signatures = signatures;
        keep(&fetched);
        let why = store.component(&reference, Some(&ours)).expect_err("not signed").to_string();
        assert!(
            why.contains("without a signature of the key") && why.contains(&ours.fingerprint()[..12]),
            "{why}"
        );
        assert_eq!(store.component(&reference, None).expect("whole"), COMPONENT);
    }
    fetched.signatures = vec![by_us];
    keep(&fetched);
    for key in [&ours, &others] {
        assert_eq!(store.component(&reference, Some(key)).expect("signed, and kept before"), COMPONENT);
    }
    for bytes in ["", "[]", "{}", "[{\"format\":\"simple-signing\",\"payload\":\"\",\"signature\":\"\"}]"] {
        std::fs::write(store.path(reference.digest(), "signatures"), bytes).expect("writable");
        store.component(&reference, Some(&ours)).expect_err("no signature is left");
    }
}

/// As if the process had been killed between any two writes.
#[test]
fn what_was_left_halfway_is_none_and_is_removed() {
    let (dir, store) = store(100);
    let fetched = fetched(COMPONENT);
    let digest = fetched.reference.digest();
    drop(store.begin_write().expect("writable"));
    std::fs::write(store.path(digest, "partial"), b"the byt").expect("writable");
    std::fs::write(store.file(digest), COMPONENT).expect("writable");
    let why = store.component(&fetched.reference, None).expect_err("the manifest comes last");
    assert!(matches!(why, StoreError::NotFetched(_)), "{why}");
    store.begin_write().and_then(|writing| writing.keep(&fetched)).expect("kept");
    assert_eq!(store.component(&fetched.reference, None).expect("whole"), COMPONENT);
    let kept = |kind: &str| format!("sha256-{}.{kind}", digest.hex());
    assert_eq!(names(dir.path()), ["lock".to_owned(), kept("json"), kept("signatures"), kept("wasm")]);
}

#[test]
fn what_cannot_be_kept_leaves_no_file_halfway() {
    let (dir, store) = store(100);
    let fetched = fetched(COMPONENT);
    let writing = store.begin_write().expect("writable");
    // No file takes the place of a folder.
    std::fs::create_dir(store.file(fetched.reference.digest())).expect("writable");
    writing.keep(&fetched).expect_err("a folder is in its place");
    assert!(names(dir.path()).iter().all(|name| !name.ends_with(PARTIAL)), "{:?}", names(dir.path()));
}
