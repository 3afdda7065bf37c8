//! `tool fetch` of components that must be signed: by whom the policy or a flag names, in either
//! format, when they are fetched and whenever they load.

use super::fetch::{NAME, at_blob, fetch, home, not_fetched, sha256_of, unsigned};
use rcgen::{KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ED25519};
use serde_json::json;
use support::guests;
use support::home::Home;
use support::registry::{Fault, Registry, digest};

fn signed_by(reference: &str, key: &KeyPair) -> Home {
    home(&format!("{{ oci = {reference:?}, signer = {:?} }}", key.public_key_pem()))
}

fn key() -> KeyPair {
    KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).expect("a key")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_its_signer_did_not_sign_is_refused_and_nothing_is_kept() -> anyhow::Result<()> {
    let registry = Registry::start().await?;
    let (ours, others) = (key(), key());
    let reference = registry.push(NAME, &guests::bytes("minimal"));
    let (this, other) = (sha256_of(&reference).to_owned(), digest(b"another"));
    let home = signed_by(&reference, &ours);
    not_fetched(&home, &fetch(&home, &[]), "it has no signature");
    registry.sign(NAME, &this, &this, &others);
    not_fetched(&home, &fetch(&home, &[]), "its one signature was not made with this key");
    registry.sign(NAME, &this, &other, &ours);
    let nearest = "it has 2 signatures, and the nearest was made with this key, of another component";
    not_fetched(&home, &fetch(&home, &[]), nearest);
    registry.sign_by_bundle(NAME, &this, &others);
    not_fetched(&home, &fetch(&home, &[]), "it has 3 signatures");
    // One who need not have signed it does not help, and neither does one who is named besides.
    registry.sign(NAME, &this, &this, &ours);
    let besides = home.file("others.pub", key().public_key_pem().as_bytes());
    not_fetched(&home, &fetch(&home, &[&reference, "--signer", &besides]), "is not signed by the key");
    assert!(
        !registry.requests().iter().any(|r| r.contains(&at_blob(&guests::bytes("minimal")))),
        "never asked for"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_its_signer_signed_loads_in_either_format_and_with_either_kind_of_key() -> anyhow::Result<()> {
    let bytes = guests::bytes("minimal");
    for (ours, by_bundle, keeps_referrers) in [
        (key(), false, true),
        (key(), true, true),
        (key(), true, false),
        (KeyPair::generate_for(&PKCS_ED25519)?, false, true),
        (KeyPair::generate_for(&PKCS_ED25519)?, true, true),
    ] {
        let registry = Registry::start().await?;
        if !keeps_referrers {
            registry.without_referrers();
        }
        let reference = registry.push(NAME, &bytes);
        let this = sha256_of(&reference);
        match by_bundle {
            true => registry.sign_by_bundle(NAME, this, &ours),
            false => registry.sign(NAME, this, this, &ours),
        }
        let home = signed_by(&reference, &ours);
        let ran = fetch(&home, &[]);
        assert!(ran.code == Some(0) && ran.stdout.contains("signed by the key"), "{ran:?}");
        drop(registry);
        assert_eq!(home.run(&["policy", "check"]).code, Some(0));
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_signatures_and_longer_ones_than_anybody_makes_are_not_looked_at() -> anyhow::Result<()> {
    let registry = Registry::start().await?;
    let (ours, others) = (key(), key());
    let reference = registry.push(NAME, &guests::bytes("minimal"));
    let this = sha256_of(&reference).to_owned();
    let home = signed_by(&reference, &ours);
    for _ in 0..32 {
        registry.sign(NAME, &this, &this, &others);
    }
    registry.sign(NAME, &this, &this, &ours);
    not_fetched(
        &home,
        &fetch(&home, &[]),
        "it has 32 signatures, and the nearest was not made with this key",
    );
    let registry = Registry::start().await?;
    let reference = registry.push(NAME, &guests::bytes("minimal"));
    registry.sign(NAME, &this, &"x".repeat(257 << 10), &ours);
    let home = signed_by(&reference, &ours);
    not_fetched(&home, &fetch(&home, &[]), "has more than 262144 bytes");
    Ok(())
}

/// Anybody who may write to the repository may put something beside the component.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_malformed_beside_a_component_is_no_signature_and_hides_none() -> anyhow::Result<()> {
    const BUNDLE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";
    let (registry, ours) = (Registry::start().await?, key());
    let reference = registry.push(NAME, &guests::bytes("minimal"));
    let this = sha256_of(&reference).to_owned();
    let home = signed_by(&reference, &ours);
    let tag = format!("{}.sig", this.replace(':', "-"));
    registry.fault(&format!("{NAME}/manifests/{tag}"), Fault::Bytes(b"{}".to_vec()));
    let config = json!({ "mediaType": "text/plain", "digest": registry.blob(NAME, b"{}"), "size": 2 });
    let bundle_of = |size: usize| {
        let layer = json!({ "mediaType": BUNDLE, "digest": registry.blob(NAME, b"bundle"), "size": size });
        registry.manifest(NAME, None, "", &json!({ "schemaVersion": 2, "config": config, "layers": [layer] }))
    };
    for digest in [
        digest(b"absent"),
        registry.manifest(NAME, None, "", &json!({ "schemaVersion": 1 })),
        bundle_of(5),
        bundle_of(7),
        bundle_of(257 << 10),
        format!("sha512:{}", "0".repeat(128)),
    ] {
        registry.refer(
            NAME,
            &this,
            json!({ "mediaType": "", "digest": digest, "size": 1, "artifactType": BUNDLE }),
        );
    }
    registry.refer(NAME, &this, json!("no manifest"));
    let named = format!(
        "it has no signature, and 6 that cannot be read, the first: {}/{NAME}:{tag}: ",
        registry.host()
    );
    not_fetched(&home, &fetch(&home, &[]), &named);
    registry.sign_by_bundle(NAME, &this, &key());
    not_fetched(&home, &fetch(&home, &[]), "its one signature was not made with this key, and 6 that cannot");
    registry.sign_by_bundle(NAME, &this, &ours);
    let ran = fetch(&home, &[]);
    assert!(ran.code == Some(0) && ran.stdout.contains("signed by the key"), "{ran:?}");
    Ok(())
}

/// What cannot be read does not count among the signatures that are looked at. It is asked for, up
/// to a number that is larger.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_malformed_hides_no_signature_that_is_listed_after_it() -> anyhow::Result<()> {
    let ours = key();
    let refer_to_nothing = |registry: &Registry, this: &str| {
        let bundle = "application/vnd.dev.sigstore.bundle.v0.3+json";
        let absent = digest(b"absent");
        let entry = json!({ "mediaType": "", "digest": absent, "size": 1, "artifactType": bundle });
        registry.refer(NAME, this, entry);
    };
    for by_bundle in [false, true] {
        let registry = Registry::start().await?;
        let reference = registry.push(NAME, &guests::bytes("minimal"));
        let this = sha256_of(&reference);
        for _ in 0..33 {
            match by_bundle {
                true => refer_to_nothing(&registry, this),
                false => registry.sign(NAME, this, &"x".repeat(257 << 10), &ours),
            }
        }
        match by_bundle {
            true => registry.sign_by_bundle(NAME, this, &ours),
            false => registry.sign(NAME, this, this, &ours),
        }
        let ran = fetch(&signed_by(&reference, &ours), &[]);
        assert!(ran.code == Some(0) && ran.stdout.contains("signed by the key"), "{by_bundle}: {ran:?}");
    }
    let registry = Registry::start().await?;
    let reference = registry.push(NAME, &guests::bytes("minimal"));
    let this = sha256_of(&reference);
    for _ in 0..256 {
        refer_to_nothing(&registry, this);
    }
    registry.sign_by_bundle(NAME, this, &ours);
    let home = signed_by(&reference, &ours);
    not_fetched(&home, &fetch(&home, &[]), "it has no signature, and 256 that cannot be read");
    Ok(())
}

/// The signature is part of what loads: a policy that begins to name a signer is not served by what
/// was fetched before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_signer_that_a_policy_names_later_must_have_signed_what_is_kept() -> anyhow::Result<()> {
    let registry = Registry::start().await?;
    let (ours, bytes) = (key(), guests::bytes("minimal"));
    let reference = registry.push(NAME, &bytes);
    let this = sha256_of(&reference);
    registry.sign(NAME, this, this, &ours);
    let home = unsigned(&reference);
    let ran = fetch(&home, &[]);
    assert!(ran.code == Some(0) && ran.stdout.contains("no signer was asked for"), "{ran:?}");
    let policy = home.policies_dir().join("tools/hello.toml");
    let signer = format!("signer = {:?} }}", ours.public_key_pem());
    let text = std::fs::read_to_string(&policy)?.replace(" }", &format!(", {signer}"));
    std::fs::write(&policy, text)?;
    let checked = home.run(&["policy", "check"]);
    assert!(
        checked.code == Some(3) && checked.stdout.contains("without a signature of the key"),
        "{checked:?}"
    );
    assert_eq!(fetch(&home, &[&reference]).code, Some(0), "the policy's signer is asked for");
    assert_eq!(home.run(&["policy", "check"]).code, Some(0));
    let signatures =
        home.state().join("components").join(this.replace(':', "-")).with_extension("signatures");
    std::fs::remove_file(signatures)?;
    assert_eq!(home.run(&["policy", "check"]).code, Some(3), "it is looked for at every load");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_fetched_by_name_comes_with_the_line_for_a_policy() -> anyhow::Result<()> {
    let registry = Registry::start().await?;
    let (ours, bytes) = (key(), guests::bytes("minimal"));
    let reference = registry.push(NAME, &bytes);
    let this = sha256_of(&reference);
    registry.sign(NAME, this, this, &ours);
    let bare = Home::new();
    let file = bare.file("cosign.pub", ours.public_key_pem().as_bytes());
    let ran = fetch(&bare, &[&reference, "--signer", &file]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let line =
        ran.stdout.lines().find_map(|line| line.split_once("component = ")).expect("a line to paste").1;
    let home = home(line);
    assert_eq!(fetch(&home, &[]).code, Some(0));
    assert_eq!(home.call(&["hello", "name=Ada"]).code, Some(0));
    Ok(())
}
