//! The bucket as the warden asks it: each call blocks its thread, and the requests are made on a
//! thread of the bucket's own, so that nobody's runtime has to be there.

use crate::config::S3Config;
use crate::connector::{Connector, HASTE};
use cofferdam_warden::attachments::outgoing::{Bucket, StoredBlob};
use futures_util::TryStreamExt;
use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey};
use object_store::buffered::BufWriter;
use object_store::path::Path;
use object_store::{BackoffConfig, ObjectMeta, ObjectStore, ObjectStoreExt, RetryConfig};
use std::fs::File;
use std::io;
use std::sync::{Arc, OnceLock, mpsc};
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

/// A request that failed is made again so often, and not begun later than this after the first.
const RETRIES_MAX: usize = 2;
const RETRIES_TIME_MAX: Duration = Duration::from_secs(20);
/// All requests of one look, removal or fetch: a server may divide a listing into any number of
/// pages. A blob that is put has as many parts as its bytes make.
const LOOK_TIME_MAX: Duration = Duration::from_secs(120);
/// Larger blobs go in parts of this size, the least that the API takes.
const PART_BYTES: usize = 5 << 20;
/// Parts that are in memory at once.
const PARTS_AT_ONCE: usize = 2;

/// A bucket, or what is below a prefix of it.
pub struct S3Bucket {
    store: Arc<AmazonS3>,
    prefix: String,
    /// Begun by the first request: what is before that is the confinement of the process.
    runtime: OnceLock<io::Result<Runtime>>,
}

impl S3Bucket {
    /// The bucket; nothing is asked yet.
    ///
    /// # Errors
    /// What the library says of the settings.
    pub fn new(config: &S3Config) -> io::Result<Self> {
        let mut builder = AmazonS3Builder::new()
            .with_bucket_name(&config.bucket)
            .with_region(&config.region)
            .with_access_key_id(&config.key_id)
            .with_secret_access_key(config.key.reveal())
            // Not every server removes many at once.
            .with_config(AmazonS3ConfigKey::DisableBulkDelete, "true")
            .with_http_connector(Connector(config.scope()))
            .with_retry(RetryConfig {
                backoff: BackoffConfig::default(),
                max_retries: RETRIES_MAX,
                retry_timeout: RETRIES_TIME_MAX,
            });
        if let Some(address) = &config.endpoint {
            // Elsewhere than on this machine the address is https.
            builder = builder.with_endpoint(address.url.as_str().trim_end_matches('/')).with_allow_http(true);
        }
        if let Some(token) = &config.token {
            builder = builder.with_token(token.reveal());
        }
        let store = Arc::new(builder.build().map_err(to_io_error)?);
        Ok(Self { store, prefix: config.prefix.clone(), runtime: OnceLock::new() })
    }

    fn path(&self, sha256: &str) -> Path {
        Path::from_iter(self.prefix.split('/').filter(|part| !part.is_empty()).chain([sha256]))
    }

    /// Makes requests, and waits for what comes of them.
    fn wait<T, F>(&self, asked: F) -> io::Result<T>
    where
        T: Send + 'static,
        F: Future<Output = object_store::Result<T>> + Send + 'static,
    {
        let begin = || Builder::new_multi_thread().worker_threads(1).enable_all().thread_name("s3").build();
        let runtime = self.runtime.get_or_init(begin).as_ref();
        let runtime = runtime.map_err(|error| io::Error::new(error.kind(), error.to_string()))?;
        let (sender, receiver) = mpsc::sync_channel(1);
        runtime.spawn(async move {
            let _ = sender.send(asked.await);
        });
        receiver
            .recv()
            .map_err(|_| io::Error::other("the request ended without an answer"))?
            .map_err(to_io_error)
    }

    /// The same for what must not take long, however many requests it comes to.
    fn wait_briefly<T, F>(&self, asked: F) -> io::Result<T>
    where
        T: Send + 'static,
        F: Future<Output = object_store::Result<T>> + Send + 'static,
    {
        self.wait(async move {
            let in_time = timeout(LOOK_TIME_MAX / HASTE, asked).await;
            in_time.unwrap_or_else(|late| Err(from_io(late.into())))
        })
    }
}

impl Drop for S3Bucket {
    fn drop(&mut self) {
        // This may be a thread of another runtime, which must not wait.
        if let Some(Ok(runtime)) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Bucket for S3Bucket {
    fn put(&self, sha256: &str, file: File) -> io::Result<()> {
        let (store, path) = (self.store.clone(), self.path(sha256));
        self.wait(async move {
            let mut file = tokio::fs::File::from_std(file);
            let mut to =
                BufWriter::with_capacity(store, path, PART_BYTES).with_max_concurrency(PARTS_AT_ONCE);
            if let Err(error) = tokio::io::copy(&mut file, &mut to).await {
                // Parts that nobody completes are paid for.
                let _ = to.abort().await;
                return Err(from_io(error));
            }
            to.shutdown().await.map_err(from_io)
        })
    }

    fn get(&self, sha256: &str, bytes_max: u64, to: File) -> io::Result<()> {
        let (store, path) = (self.store.clone(), self.path(sha256));
        self.wait_briefly(async move {
            let found = store.get(&path).await?;
            let (mut to, mut left) = (tokio::fs::File::from_std(to), bytes_max);
            let mut pieces = found.into_stream();
            while let Some(piece) = pieces.try_next().await? {
                left = left.checked_sub(piece.len() as u64).ok_or_else(|| {
                    from_io(io::Error::new(io::ErrorKind::InvalidData, "it is larger than a file may be"))
                })?;
                to.write_all(&piece).await.map_err(from_io)?;
            }
            to.flush().await.map_err(from_io)
        })
    }

    fn has(&self, sha256: &str) -> io::Result<bool> {
        let (store, path) = (self.store.clone(), self.path(sha256));
        self.wait_briefly(async move {
            match store.head(&path).await {
                Err(object_store::Error::NotFound { .. }) => Ok(false),
                found => found.map(|_| true),
            }
        })
    }

    fn list(&self, most: usize) -> io::Result<Vec<StoredBlob>> {
        let store = self.store.clone();
        let prefix = Path::from_iter(self.prefix.split('/').filter(|part| !part.is_empty()));
        self.wait_briefly(async move {
            let (mut found, mut others) = (Vec::new(), 0);
            let mut listed = store.list(Some(&prefix));
            while let Some(object) = listed.try_next().await? {
                match stored(&object, &prefix) {
                    Some(blob) => found.push(blob),
                    None => others += 1,
                }
                if found.len() == most {
                    break;
                }
                // An error: nobody may take the blobs before the others for all that there are.
                if others == most {
                    let said =
                        format!("{most} other objects lie among the blobs; give them a prefix of their own");
                    return Err(from_io(io::Error::other(said)));
                }
            }
            Ok(found)
        })
    }

    fn remove(&self, sha256: &str) -> io::Result<()> {
        let (store, path) = (self.store.clone(), self.path(sha256));
        self.wait_briefly(async move {
            match store.delete(&path).await {
                Err(object_store::Error::NotFound { .. }) => Ok(()),
                removed => removed,
            }
        })
    }
}

/// What a listed object is, if it is a blob.
fn stored(object: &ObjectMeta, prefix: &Path) -> Option<StoredBlob> {
    let mut below = object.location.prefix_match(prefix)?;
    let name = below.next()?;
    let is_hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    let is_blob = below.next().is_none() && name.as_ref().len() == 64 && name.as_ref().bytes().all(is_hex);
    let (sha256, written) = (name.as_ref().to_owned(), object.last_modified.into());
    is_blob.then_some(StoredBlob { sha256, bytes: object.size, written })
}

/// The library's own error, where its writer has made one of the disk's of it.
fn from_io(error: io::Error) -> object_store::Error {
    let generic = |error: io::Error| object_store::Error::Generic { store: "S3", source: error.into() };
    error.downcast().unwrap_or_else(generic)
}

/// What people are told of a failure; the rest is its cause, for who runs the gateway.
#[derive(Debug, thiserror::Error)]
#[error("{said}")]
struct Failure {
    said: &'static str,
    source: object_store::Error,
}

fn to_io_error(source: object_store::Error) -> io::Error {
    let (kind, said) = match &source {
        object_store::Error::NotFound { .. } => (io::ErrorKind::NotFound, "the bucket does not have it"),
        object_store::Error::Unauthenticated { .. } | object_store::Error::PermissionDenied { .. } => {
            (io::ErrorKind::PermissionDenied, "the bucket refuses it")
        }
        object_store::Error::Generic { source, .. }
            if source
                .downcast_ref::<io::Error>()
                .is_some_and(|error| error.kind() == io::ErrorKind::InvalidData) =>
        {
            (io::ErrorKind::InvalidData, "the bucket has something else")
        }
        _ => (io::ErrorKind::Other, "the bucket cannot be used now"),
    };
    io::Error::new(kind, Failure { said, source })
}
