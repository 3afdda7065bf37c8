//! Ed25519 keys in files: PKCS#8 and SPKI as PEM, as `openssl genpkey -algorithm ed25519` writes
//! them.
//!
//! It reads the one form that those have and refuses every other, and a private key that others may
//! read.

use crate::files::open_regular;
use crate::shell::quote_path;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cofferdam_core::secret::Secret;
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// What precedes the 32 bytes of a private key in PKCS#8 (RFC 8410), and of a public one in SPKI.
const PKCS8: [u8; 16] = [48, 46, 2, 1, 0, 48, 5, 6, 3, 43, 101, 112, 4, 34, 4, 32];
const SPKI: [u8; 12] = [48, 42, 48, 5, 6, 3, 43, 101, 112, 3, 33, 0];
/// Longer files are no keys.
const KEY_FILE_BYTES_MAX: u64 = 4096;

/// Why a key is unusable. No message holds a part of one.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The file did not open or read.
    #[error(
        "cannot read the key {path}: {cause}; `cofferdam audit keygen --out {quoted}` makes one",
        quoted = quote_path(.path)
    )]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// Others may read the private key.
    #[error(
        "the key {path} can be read by others (mode {mode:03o}); run `chmod 600 {quoted}`",
        quoted = quote_path(.path)
    )]
    Exposed {
        /// Which file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// The file is no private key.
    #[error("{0} is not an ed25519 private key in PKCS#8 PEM; `cofferdam audit keygen` writes that")]
    NotSecret(PathBuf),
    /// The text is no public key.
    #[error("{0:?} is not an ed25519 public key; give a PEM file, or the key's 32 bytes as base64 or hex")]
    NotPublic(String),
    /// The files of a new key were not written.
    #[error("cannot write {path}: {cause}; a key is never written over a file")]
    NotWritten {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// The system gave no random bytes.
    #[error("the system gives no random bytes for a key: {0}")]
    NoRandom(String),
}

/// A private key. It shows only its public half.
pub struct SecretKey(SigningKey);

/// A public key; shown as base64.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey(VerifyingKey);

impl SecretKey {
    /// A new key from the system's random bytes.
    ///
    /// # Errors
    /// [`KeyError::NoRandom`].
    pub fn generate() -> Result<Self, KeyError> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(|e| KeyError::NoRandom(e.to_string()))?;
        Ok(Self(SigningKey::from_bytes(&bytes)))
    }

    /// The key in a file that its owner alone can read.
    ///
    /// # Errors
    /// [`KeyError`], among others when anybody else has a permission on the file.
    pub fn load(path: &Path) -> Result<Self, KeyError> {
        let unreadable = |cause| KeyError::Unreadable { path: path.to_owned(), cause };
        let (file, text) = read_key_file(path).map_err(unreadable)?;
        let mode = file.metadata().map_err(unreadable)?.mode() & 0o777;
        if mode & 0o077 != 0 {
            return Err(KeyError::Exposed { path: path.to_owned(), mode });
        }
        let bytes =
            unwrap_pem(&text, "PRIVATE KEY").and_then(|der| der.strip_prefix(&PKCS8)?.try_into().ok());
        let bytes: [u8; 32] = bytes.ok_or_else(|| KeyError::NotSecret(path.to_owned()))?;
        // What anybody says from here on says nothing of it.
        drop(Secret::new(STANDARD.encode([&PKCS8[..], &bytes].concat())));
        Ok(Self(SigningKey::from_bytes(&bytes)))
    }

    /// Writes the key to `path`, for its owner alone, and its public half to `path` with `.pub`.
    /// Neither may exist.
    ///
    /// # Errors
    /// [`KeyError::NotWritten`]; then neither is left.
    pub fn write(&self, path: &Path) -> Result<PathBuf, KeyError> {
        let mut public = path.to_owned().into_os_string();
        public.push(".pub");
        let public = PathBuf::from(public);
        create(&public, 0o644, &wrap_pem("PUBLIC KEY", &SPKI, &self.public().0.to_bytes()))?;
        create(path, 0o600, &wrap_pem("PRIVATE KEY", &PKCS8, &self.0.to_bytes())).inspect_err(|_| {
            // Ours, and of no use without the other.
            let _ = fs::remove_file(&public);
        })?;
        Ok(public)
    }

    /// The public half.
    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key())
    }

    pub(super) fn sign(&self, bytes: &[u8]) -> [u8; 64] {
        self.0.sign(bytes).to_bytes()
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretKey(of {})", self.public())
    }
}

impl PublicKey {
    /// The key that a text names: 32 bytes as base64 or hex, else a PEM file.
    ///
    /// # Errors
    /// [`KeyError`].
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        let bytes = hex::decode(text).ok().or_else(|| STANDARD.decode(text).ok());
        if let Some(bytes) = bytes.filter(|bytes| bytes.len() == 32) {
            return Self::from_bytes(&bytes).ok_or_else(|| public_key_error(text));
        }
        let unreadable = |cause| KeyError::Unreadable { path: text.into(), cause };
        let (_, pem) = read_key_file(Path::new(text)).map_err(unreadable)?;
        let key = unwrap_pem(&pem, "PUBLIC KEY").and_then(|der| Self::from_bytes(der.strip_prefix(&SPKI)?));
        key.ok_or_else(|| public_key_error(text))
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        VerifyingKey::from_bytes(bytes.try_into().ok()?).ok().filter(|key| !key.is_weak()).map(Self)
    }

    /// Whether `signature` is this key's over `bytes`; strictly, so that no second one is.
    pub(super) fn is_signed(&self, bytes: &[u8], signature: &[u8]) -> bool {
        Signature::from_slice(signature)
            .is_ok_and(|signature| self.0.verify_strict(bytes, &signature).is_ok())
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&STANDARD.encode(self.0.as_bytes()))
    }
}

fn public_key_error(text: &str) -> KeyError {
    KeyError::NotPublic(cofferdam_core::text::one_line(text, 200))
}

fn read_key_file(path: &Path) -> io::Result<(File, String)> {
    let file = open_regular(path)?;
    let mut text = String::new();
    (&file).take(KEY_FILE_BYTES_MAX).read_to_string(&mut text)?;
    Ok((file, text))
}

fn create(path: &Path, mode: u32, text: &str) -> Result<(), KeyError> {
    let failed = |cause| KeyError::NotWritten { path: path.to_owned(), cause };
    let mut file = File::options().write(true).create_new(true).mode(mode).open(path).map_err(failed)?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(|cause| {
        let _ = fs::remove_file(path);
        failed(cause)
    })
}

fn wrap_pem(label: &str, prefix: &[u8], key: &[u8; 32]) -> String {
    let body = STANDARD.encode([prefix, key].concat());
    format!("-----BEGIN {label}-----\n{body}\n-----END {label}-----\n")
}

fn unwrap_pem(text: &str, label: &str) -> Option<Vec<u8>> {
    let body = text.trim().strip_prefix(&format!("-----BEGIN {label}-----"))?;
    let body = body.strip_suffix(&format!("-----END {label}-----"))?;
    let body: String = body.chars().filter(|c| !c.is_ascii_whitespace()).collect();
    STANDARD.decode(body).ok()
}
