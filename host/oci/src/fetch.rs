//! One component fetched: its manifest, who signed it, its bytes, in this order. What comes back is
//! verified whole; nothing is kept here.

use crate::client::{Repository, Settings};
use crate::error::FetchError;
use crate::manifest::{Descriptor, Index, MANIFEST_BYTES_MAX, Manifest};
use crate::signature::Signature;
use cofferdam_core::oci::{ContentDigest, ImageReference, SignerKey};
use std::collections::BTreeSet;
use tokio::time::{Instant, timeout_at};

/// Signatures of one component that are looked at, in either format.
pub const SIGNATURES_MAX: usize = 32;
/// What is listed as a signature and asked for, in either format: more than are looked at, so that
/// what is malformed hides no signature behind it.
const LISTED_SIGNATURES_MAX: usize = 256;
/// A longer payload or bundle, or manifest of a bundle, is not read.
const SIGNATURE_BYTES_MAX: u64 = 256 << 10;

const SIMPLE_LAYER: &str = "application/vnd.dev.cosign.simplesigning.v1+json";
const SIMPLE_ANNOTATION: &str = "dev.cosignproject.cosign/signature";
const BUNDLE: &str = "application/vnd.dev.sigstore.bundle";

/// A component, verified: by its digests, and by the signatures that were asked for.
#[derive(Clone, Debug)]
pub struct Fetched {
    /// What it was fetched by.
    pub reference: ImageReference,
    /// The bytes whose digest is that of the reference.
    pub manifest: Vec<u8>,
    /// The component.
    pub component: Vec<u8>,
    /// One of each signer that was asked for.
    pub signatures: Vec<Signature>,
}

/// The component of a reference, signed by each of `signers`. `progress` is told the bytes of the
/// component so far, and all of them.
///
/// # Errors
/// [`FetchError`].
pub async fn fetch(
    reference: &ImageReference,
    signers: &BTreeSet<SignerKey>,
    settings: &Settings,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Fetched, FetchError> {
    let max = settings.time_max;
    let deadline = Instant::now() + max;
    let repository = Repository::new(reference, settings, deadline)?;
    let fetched = repository.run(signers, progress);
    let late = |_| FetchError::TimedOut(reference.to_string(), max);
    timeout_at(deadline, fetched).await.map_err(late)?
}

/// What stands where signatures of a component do.
#[derive(Default)]
struct FoundSignatures {
    signatures: Vec<Signature>,
    /// Why what is none is none.
    malformed: Vec<FetchError>,
}

impl FoundSignatures {
    /// What came, if it can be read. Anybody who may write to the repository may put something
    /// beside a component: that is no signature, and hides none.
    fn pass_malformed<T>(&mut self, came: Result<T, FetchError>) -> Result<Option<T>, FetchError> {
        match came {
            Err(error) if error.is_of_content() => {
                self.malformed.push(error);
                Ok(None)
            }
            came => came.map(Some),
        }
    }
}

fn is_bundle(kind: &str) -> bool {
    kind.starts_with(BUNDLE)
}

impl Repository<'_> {
    async fn run(
        mut self,
        signers: &BTreeSet<SignerKey>,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Fetched, FetchError> {
        let reference = self.reference.clone();
        let manifest = self.fetch_manifest(reference.digest(), MANIFEST_BYTES_MAX).await?;
        let bytes_max = self.settings.component_bytes_max;
        let parsed = Manifest::parse(&manifest).and_then(|parsed| parsed.component(bytes_max).cloned());
        let layer = parsed.map_err(|cause| FetchError::Manifest(reference.to_string(), cause))?;
        let signatures = self.signatures(signers).await?;
        progress(0, layer.size);
        let mut came = |bytes| progress(bytes, layer.size);
        let component = self.blob(&layer, &mut came).await?;
        Ok(Fetched { reference, manifest, component, signatures })
    }

    /// The manifest of this digest, of at most so many bytes.
    async fn fetch_manifest(
        &mut self,
        digest: &ContentDigest,
        bytes_max: u64,
    ) -> Result<Vec<u8>, FetchError> {
        let what = format!("{}@{digest}", self.name);
        let bytes = self.manifest(&digest.to_string(), bytes_max).await?;
        let bytes = bytes.ok_or_else(|| FetchError::Missing(what.clone()))?;
        let found = ContentDigest::hash(&bytes);
        if found == *digest {
            Ok(bytes)
        } else {
            Err(FetchError::Digest { what, wanted: digest.clone(), found })
        }
    }

    /// One signature of each signer.
    async fn signatures(&mut self, signers: &BTreeSet<SignerKey>) -> Result<Vec<Signature>, FetchError> {
        let digest = self.reference.digest();
        let all_by = |found: &[Signature]| -> Option<Vec<Signature>> {
            let by = |key| found.iter().find(|signature| signature.verify(key, digest).is_ok()).cloned();
            signers.iter().map(by).collect()
        };
        let mut found = FoundSignatures::default();
        if let Some(signatures) = all_by(&found.signatures) {
            return Ok(signatures);
        }
        self.fetch_simple_signatures(&mut found).await?;
        if let Some(signatures) = all_by(&found.signatures) {
            return Ok(signatures);
        }
        self.fetch_bundles(&mut found).await?;
        match all_by(&found.signatures) {
            Some(signatures) => Ok(signatures),
            None => Err(self.signature_error(signers, &found)),
        }
    }

    fn signature_error(&self, signers: &BTreeSet<SignerKey>, found: &FoundSignatures) -> FetchError {
        let digest = self.reference.digest();
        let FoundSignatures { signatures, malformed } = found;
        let is_missing = |key: &&SignerKey| !signatures.iter().any(|found| found.verify(key, digest).is_ok());
        let key = signers.iter().find(is_missing);
        let why = |found: &Signature| key.and_then(|key| found.verify(key, digest).err());
        // The nearest to being right is what helps.
        let nearest = signatures.iter().filter_map(why).max();
        let mut found = match nearest {
            None => "it has no signature".to_owned(),
            Some(why) if signatures.len() == 1 => format!("its one signature {why}"),
            Some(why) => format!("it has {} signatures, and the nearest {why}", signatures.len()),
        };
        if let Some(first) = malformed.first() {
            found = format!("{found}, and {} that cannot be read, the first: {first}", malformed.len());
        }
        let key = key.map(|key| key.fingerprint()[..12].to_owned()).unwrap_or_default();
        FetchError::NotSigned { shown: self.reference.to_string(), key, found }
    }

    /// Those of simple signing, at the tag that cosign gives them.
    async fn fetch_simple_signatures(&mut self, found: &mut FoundSignatures) -> Result<(), FetchError> {
        let tag = format!("sha256-{}.sig", self.reference.digest().hex());
        let bytes = found.pass_malformed(self.manifest(&tag, MANIFEST_BYTES_MAX).await)?.flatten();
        let Some(bytes) = bytes else { return Ok(()) };
        let malformed = |cause| FetchError::Manifest(format!("{}:{tag}", self.name), cause);
        let manifest = Manifest::parse(&bytes).map_err(malformed);
        let Some(manifest) = found.pass_malformed(manifest)? else { return Ok(()) };
        let layers = manifest.layers.iter().filter(|layer| layer.media_type == SIMPLE_LAYER);
        let listed = layers.filter_map(|layer| Some((layer, layer.annotations.get(SIMPLE_ANNOTATION)?)));
        for (layer, signature) in listed.take(LISTED_SIGNATURES_MAX) {
            if found.signatures.len() == SIGNATURES_MAX {
                break;
            }
            let payload = found.pass_malformed(self.small(layer).await)?;
            found.signatures.extend(payload.and_then(|payload| Signature::from_simple(payload, signature)));
        }
        Ok(())
    }

    /// Those in bundles that refer to the component.
    async fn fetch_bundles(&mut self, found: &mut FoundSignatures) -> Result<(), FetchError> {
        let digest = self.reference.digest();
        let index = match found.pass_malformed(self.referrers(digest).await)?.flatten() {
            Some(index) => Some(index),
            // Where the registry does not keep track, anyone who refers to something does.
            None => {
                let tag = format!("sha256-{}", digest.hex());
                found.pass_malformed(self.manifest(&tag, MANIFEST_BYTES_MAX).await)?.flatten()
            }
        };
        let Some(index) = index else { return Ok(()) };
        let malformed = |cause| FetchError::Manifest(format!("what refers to {}", self.reference), cause);
        let Some(index) = found.pass_malformed(Index::parse(&index).map_err(malformed))? else {
            return Ok(());
        };
        let mut left = SIGNATURES_MAX;
        for descriptor in index.find_manifests(is_bundle).take(LISTED_SIGNATURES_MAX) {
            if left == 0 {
                break;
            }
            let bundle = self.fetch_bundle(&descriptor.digest).await;
            let bundle = found.pass_malformed(bundle)?.flatten().unwrap_or_default();
            let signatures = Signature::from_bundle(&bundle, left);
            left -= signatures.len();
            found.signatures.extend(signatures);
        }
        Ok(())
    }

    /// The bundle of the manifest of this digest; none where it has another layer.
    async fn fetch_bundle(&mut self, digest: &ContentDigest) -> Result<Option<Vec<u8>>, FetchError> {
        let bytes = self.fetch_manifest(digest, SIGNATURE_BYTES_MAX).await?;
        let malformed = |cause| FetchError::Manifest(format!("{}@{digest}", self.name), cause);
        let manifest = Manifest::parse(&bytes).map_err(malformed)?;
        match manifest.layers.iter().find(|layer| is_bundle(&layer.media_type)) {
            Some(layer) => self.small(layer).await.map(Some),
            None => Ok(None),
        }
    }

    /// A payload or a bundle.
    async fn small(&mut self, descriptor: &Descriptor) -> Result<Vec<u8>, FetchError> {
        if descriptor.size > SIGNATURE_BYTES_MAX {
            let what = format!("a signature of {}", self.reference);
            return Err(FetchError::TooLong(what, SIGNATURE_BYTES_MAX));
        }
        self.blob(descriptor, &mut |_| {}).await
    }
}
