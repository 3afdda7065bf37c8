//! Components that were fetched, each under the digest that policies pin: the manifest of that
//! digest, the component that the manifest names, and the signatures that count.
//!
//! What is read is verified as what is fetched, so nothing rests on the files being left alone. A
//! file has its name once it is whole and on the disk, the manifest last.

use crate::fetch::{Fetched, SIGNATURES_MAX};
use crate::manifest::{BadManifest, Descriptor, MANIFEST_BYTES_MAX, Manifest};
use crate::signature::Signature;
use cofferdam_agent::tools::read_bounded;
use cofferdam_core::oci::{ContentDigest, ImageReference, SignerKey};
use rustix::fs::{FlockOperation, flock};
use std::fs::{DirBuilder, File};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// All the signatures of one component, as they are kept.
const KEPT_SIGNATURES_BYTES_MAX: u64 = 32 << 20;
/// What a file is called until it is whole.
const PARTIAL: &str = "partial";

/// A folder of components that were fetched.
#[derive(Clone, Debug)]
pub struct Store {
    dir: PathBuf,
    component_bytes_max: u64,
}

/// Why a component is not had from the store, and what to do. The first value is its reference.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Nobody fetched it.
    #[error("{0} was not fetched yet, and nothing is fetched when tools load; run: cofferdam tool fetch {0}")]
    NotFetched(ImageReference),
    /// What is kept is not what was fetched: what was changed.
    #[error("what is kept of {0} was changed: {1} does not have its digest; run: cofferdam tool fetch {0}")]
    Changed(ImageReference, &'static str),
    /// A part of it, a file, is missing or cannot be read.
    #[error("cannot read {file}: {2}; run: cofferdam tool fetch {0}", file = .1.display())]
    Unreadable(ImageReference, PathBuf, io::Error),
    /// It is no component, or too large a one.
    #[error("{0}: {1}")]
    Manifest(ImageReference, BadManifest),
    /// No signature of the signer that the policy names is kept; the first digits of the key's
    /// fingerprint.
    #[error("{0} was fetched without a signature of the key {1}; run: cofferdam tool fetch {0}")]
    NotSigned(ImageReference, String),
}

impl Store {
    /// The components in this folder, each of at most so many bytes. The folder need not be there.
    pub fn new(dir: PathBuf, component_bytes_max: u64) -> Self {
        Self { dir, component_bytes_max }
    }

    /// Where the component of this digest is kept.
    pub fn file(&self, digest: &ContentDigest) -> PathBuf {
        self.path(digest, "wasm")
    }

    /// The component of a reference, verified, and signed by `signer` where one is named.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn component(
        &self,
        reference: &ImageReference,
        signer: Option<&SignerKey>,
    ) -> Result<Vec<u8>, StoreError> {
        let layer = self.layer(reference)?;
        if let Some(signer) = signer {
            self.check_signed(reference, signer)?;
        }
        let file = self.file(reference.digest());
        let bytes = read_bounded(&file, layer.size)
            .map_err(|cause| StoreError::Unreadable(reference.clone(), file, cause))?;
        if ContentDigest::hash(&bytes) != layer.digest {
            return Err(StoreError::Changed(reference.clone(), "the component"));
        }
        Ok(bytes)
    }

    /// The SHA-256 of the component of a reference, as its manifest says; the component itself is
    /// not read.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn component_digest(&self, reference: &ImageReference) -> Result<ContentDigest, StoreError> {
        Ok(self.layer(reference)?.digest)
    }

    /// What the manifest of a reference names.
    fn layer(&self, reference: &ImageReference) -> Result<Descriptor, StoreError> {
        let file = self.path(reference.digest(), "json");
        let manifest = read_bounded(&file, MANIFEST_BYTES_MAX).map_err(|cause| match cause.kind() {
            ErrorKind::NotFound => StoreError::NotFetched(reference.clone()),
            _ => StoreError::Unreadable(reference.clone(), file.clone(), cause),
        })?;
        if ContentDigest::hash(&manifest) != *reference.digest() {
            return Err(StoreError::Changed(reference.clone(), "the manifest"));
        }
        let layer = Manifest::parse(&manifest).and_then(|m| m.component(self.component_bytes_max).cloned());
        layer.map_err(|cause| StoreError::Manifest(reference.clone(), cause))
    }

    fn check_signed(&self, reference: &ImageReference, signer: &SignerKey) -> Result<(), StoreError> {
        let digest = reference.digest();
        if self.signatures(digest).iter().any(|signature| signature.verify(signer, digest).is_ok()) {
            return Ok(());
        }
        Err(StoreError::NotSigned(reference.clone(), signer.fingerprint()[..12].to_owned()))
    }

    /// The signatures that are kept. What cannot be read counts as none.
    fn signatures(&self, digest: &ContentDigest) -> Vec<Signature> {
        let bytes = read_bounded(&self.path(digest, "signatures"), KEPT_SIGNATURES_BYTES_MAX);
        bytes.ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }

    fn path(&self, digest: &ContentDigest, kind: &str) -> PathBuf {
        self.dir.join(format!("sha256-{}.{kind}", digest.hex()))
    }

    /// Makes the folder if there is none, waits until no other process writes to it, and removes
    /// what one that was killed left halfway.
    ///
    /// # Errors
    /// What the system says.
    pub fn begin_write(&self) -> io::Result<Writing<'_>> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.dir)?;
        let mut options = File::options();
        options.create(true).truncate(false).write(true).mode(0o600);
        let lock = options.open(self.dir.join("lock"))?;
        flock(&lock, FlockOperation::LockExclusive)?;
        for entry in std::fs::read_dir(&self.dir)? {
            let path = entry?.path();
            if path.extension().is_some_and(|kind| kind == PARTIAL) {
                std::fs::remove_file(path)?;
            }
        }
        Ok(Writing { store: self, _lock: lock })
    }
}

/// The one process that writes to a store.
pub struct Writing<'s> {
    store: &'s Store,
    _lock: File,
}

impl Writing<'_> {
    /// Keeps a component. Once this returns it is on the disk; what was kept of it is replaced, and
    /// its signatures are added to.
    ///
    /// # Errors
    /// What the system says; what was kept before is whole then.
    pub fn keep(&self, fetched: &Fetched) -> io::Result<()> {
        let digest = fetched.reference.digest();
        let mut signatures = fetched.signatures.clone();
        let others = self.store.signatures(digest).into_iter();
        signatures.extend(others.filter(|other| !fetched.signatures.contains(other)));
        signatures.truncate(SIGNATURES_MAX.max(fetched.signatures.len()));
        let signatures = serde_json::to_vec(&signatures)?;
        self.put(&self.store.path(digest, "signatures"), &signatures)?;
        self.put(&self.store.file(digest), &fetched.component)?;
        // Names come before the one that says that all of it is there.
        self.sync()?;
        self.put(&self.store.path(digest, "json"), &fetched.manifest)?;
        self.sync()
    }

    /// All of a file or none of it.
    fn put(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let partial = path.with_extension(PARTIAL);
        let mut file = File::options().create_new(true).write(true).mode(0o600).open(&partial)?;
        let written = file.write_all(bytes).and_then(|()| file.sync_data());
        let put = written.and_then(|()| std::fs::rename(&partial, path));
        if put.is_err() {
            // On a full disk it would take the room that is missing.
            let _ = std::fs::remove_file(&partial);
        }
        put
    }

    fn sync(&self) -> io::Result<()> {
        File::open(&self.store.dir)?.sync_all()
    }
}

#[cfg(test)]
mod tests;
