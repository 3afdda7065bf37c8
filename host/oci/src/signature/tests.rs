//! Signatures that OpenSSL made, which knows nothing of this program.

use super::{Signature, Unverified};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cofferdam_core::oci::{ContentDigest, SignerKey};

const EC: &str = "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEpCYaa5NwW6RycStpeB/1NdSq2Y9xhf3Iv234Y1mTQATjQNzQu0t8ujOhQCUsBwsINdgKuF/JNGfweOt0Uqdj/A==";
const EC_SIMPLE: &str =
    "MEUCIQD+d4xZ6pKrNKfEB1YtkBcjyD09Wi7Uhms9w1s8z/al9QIgGvXBL+z2DVSd+eKKTKH4jJdw5+u7Z+Gk9vBJJZAp1tg=";
const EC_DSSE: &str =
    "MEQCIGC9YXNNBDzEZv7QGG0wJZntIyImlPCyhHs9CKQglz/6AiBxqS2ygLsvH6g1WiNU1WK8Z/qIZ7f7+xSHajr9DJAFIw==";
const ED: &str = "MCowBQYDK2VwAyEA/tGy7H8V0yQZeFijAIa7I1YdMfoSSVNj6ObHFa61GX0=";
const ED_SIMPLE: &str =
    "rhZhWj7J1jsrHDr3tSrDSNpdz/rD5kPFdQYXntVhM0khwm5X6nsX0Cv3VX74rO11tUD642Me7N7xfELvEMFDCA==";
const ED_DSSE: &str =
    "c/r9R0r5pfNlcXAXLfyHzDKMcmNwnl+LhXM97LSwamMkUmB4YPO+TJ2LPaaCeSQ/S59ZRTt/0AJbgwOQ6sLRBg==";

/// What was signed: a component whose manifest has no bytes.
const SIMPLE: &str = r#"{"critical":{"identity":{"docker-reference":"ghcr.io/acme/tool"},"image":{"docker-manifest-digest":"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},"type":"cosign container image signature"},"optional":null}"#;
const STATEMENT: &str = r#"{"_type":"https://in-toto.io/Statement/v1","subject":[{"digest":{"sha256":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}}],"predicateType":"https://sigstore.dev/cosign/sign/v1","predicate":{}}"#;

fn key(text: &str) -> SignerKey {
    text.parse().expect("a key")
}

fn simple(payload: &str, signature: &str) -> Signature {
    Signature::from_simple(payload.as_bytes().to_vec(), signature).expect("base64")
}

fn bundle(payload: &str, kind: &str, signature: &str) -> Vec<Signature> {
    let payload = STANDARD.encode(payload);
    let text = format!(
        r#"{{"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json","verificationMaterial":{{"publicKey":{{"hint":"x"}}}},
        "dsseEnvelope":{{"payload":"{payload}","payloadType":"{kind}","signatures":[{{"sig":"{signature}"}}]}}}}"#
    );
    Signature::from_bundle(text.as_bytes(), 8)
}

fn dsse(signature: &str) -> Signature {
    bundle(STATEMENT, super::STATEMENT, signature).pop().expect("a signature")
}

#[test]
fn signatures_of_others_and_of_other_components_do_not_count() {
    let (this, other) = (ContentDigest::hash(b""), ContentDigest::hash(b"other"));
    let changed = SIMPLE.replace("null", "{}");
    for (signature, key, digest, said) in [
        (simple(SIMPLE, EC_SIMPLE), key(ED), &this, Unverified::OtherKey),
        (simple(SIMPLE, ED_SIMPLE), key(EC), &this, Unverified::OtherKey),
        (simple(SIMPLE, EC_SIMPLE), key(EC), &other, Unverified::OtherComponent),
        (simple(SIMPLE, ED_SIMPLE), key(ED), &other, Unverified::OtherComponent),
        (simple(&changed, EC_SIMPLE), key(EC), &this, Unverified::OtherKey),
        (simple(SIMPLE, EC_DSSE), key(EC), &this, Unverified::OtherKey),
        (simple(SIMPLE, ""), key(EC), &this, Unverified::OtherKey),
        (simple(SIMPLE, &STANDARD.encode([0; 64])), key(ED), &this, Unverified::OtherKey),
        (dsse(EC_DSSE), key(EC), &other, Unverified::OtherComponent),
        (dsse(ED_DSSE), key(EC), &this, Unverified::OtherKey),
        (dsse(EC_SIMPLE), key(EC), &this, Unverified::OtherKey),
    ] {
        assert_eq!(signature.verify(&key, digest), Err(said), "{signature:?}");
    }
}

#[test]
fn what_the_signer_signed_counts() {
    let this = ContentDigest::hash(b"");
    for (signature, key) in [
        (simple(SIMPLE, EC_SIMPLE), key(EC)),
        (simple(SIMPLE, ED_SIMPLE), key(ED)),
        (dsse(EC_DSSE), key(EC)),
        (dsse(ED_DSSE), key(ED)),
    ] {
        assert_eq!(signature.verify(&key, &this), Ok(()), "{signature:?}");
        let kept = serde_json::to_string(&signature).expect("JSON");
        assert_eq!(serde_json::from_str::<Signature>(&kept).expect("as it was"), signature);
    }
}

/// What somebody says of a component besides that it is signed (a list of its parts, how it was
/// built) is no permission to run it.
#[test]
fn another_statement_of_the_same_signer_does_not_count() {
    let this = ContentDigest::hash(b"");
    for payload in [
        STATEMENT.replace("cosign/sign/v1", "cosign/other/v1"),
        STATEMENT.replace("Statement/v1", "Statement/v2"),
        STATEMENT.replace("\"predicateType\"", "\"x\""),
        STATEMENT.replace("\"subject\"", "\"predicateType\":\"a\",\"subject\""),
        STATEMENT.replace("\"sha256\"", "\"sha256\":\"a\",\"sha256\""),
        STATEMENT.replace("\"predicate\":{}", "\"predicate\":{\"a\":1,\"a\":1}"),
        // Each subject has a digest of this kind, at its place.
        STATEMENT.replace("}}]", "}},{}]"),
        STATEMENT.replace("}}]", "}},{\"digest\":{\"sha512\":\"a\"}}]"),
        STATEMENT.replace("{\"sha256\":", "[").replace("}}]", "]}]"),
        String::new(),
    ] {
        assert_eq!(
            super::check_statement(payload.as_bytes(), &this),
            Err(Unverified::OtherStatement),
            "{payload}"
        );
    }
    for payload in [
        SIMPLE.replace("cosign container", "other"),
        SIMPLE.replace("\"image\"", "\"x\""),
        SIMPLE.replace("\"type\"", "\"type\":\"a\",\"type\""),
        SIMPLE.replace("\"optional\"", "\"critical\":{},\"optional\""),
        SIMPLE.replace("{\"docker-manifest-digest\":", "[").replace("},\"type\"", "],\"type\""),
        "[]".into(),
    ] {
        assert_eq!(
            super::check_simple(payload.as_bytes(), &this),
            Err(Unverified::OtherStatement),
            "{payload}"
        );
    }
}

#[test]
fn a_bundle_without_such_an_envelope_has_no_signatures() {
    assert!(bundle(STATEMENT, "text/plain", EC_DSSE).is_empty());
    assert!(bundle(STATEMENT, super::STATEMENT, "!").is_empty());
    // Two readers would disagree on which one it is of.
    let twice = format!(r#"{EC_DSSE}","sig":"{ED_DSSE}"#);
    assert!(bundle(STATEMENT, super::STATEMENT, &twice).is_empty());
    assert!(Signature::from_bundle(b"{}", 8).is_empty());
    assert!(Signature::from_bundle(br#"{"messageSignature":{}}"#, 8).is_empty());
    assert!(Signature::from_simple(Vec::new(), "!").is_none());
}

/// Each has the payload of all, so a small bundle could take any amount of memory.
#[test]
fn of_a_bundle_with_many_signatures_as_many_are_taken_as_are_looked_at() {
    let signatures = vec![r#"{"sig":""}"#; 1000].join(",");
    let text = format!(
        r#"{{"dsseEnvelope":{{"payload":"","payloadType":"{}","signatures":[{signatures}]}}}}"#,
        super::STATEMENT
    );
    for most in [0, 1, 32] {
        assert_eq!(Signature::from_bundle(text.as_bytes(), most).len(), most);
    }
}
