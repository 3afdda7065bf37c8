//! Which bucket, and how it is reached.

use cofferdam_agent::server::{Address, ServerScope};
use cofferdam_core::secret::Secret;
use std::collections::BTreeMap;

/// A bucket and what opens it.
#[derive(Clone, Debug)]
pub struct S3Config {
    pub(crate) bucket: String,
    /// Blobs are below it; empty where they are at the top.
    pub(crate) prefix: String,
    pub(crate) region: String,
    /// A server other than Amazon's.
    pub(crate) endpoint: Option<Address>,
    pub(crate) key_id: String,
    pub(crate) key: Secret,
    /// Of keys that end by themselves.
    pub(crate) token: Option<Secret>,
}

/// Why a bucket is not named.
#[derive(Debug, thiserror::Error)]
pub enum S3ConfigError {
    /// The address, which may have a key in it.
    #[error(
        "this is no bucket; write s3://BUCKET or s3://BUCKET/PREFIX, of the letters a-z, A-Z, 0-9, - _ . and /"
    )]
    Url,
    /// A variable that must be there.
    #[error(
        "the environment variable {0} is not set; a bucket needs AWS_REGION (any word where the server has none), AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
    )]
    Missing(&'static str),
    /// The server's address.
    #[error("AWS_ENDPOINT_URL: {0}; write https://HOST, or http:// on this machine")]
    Endpoint(String),
}

impl S3Config {
    /// A bucket by its address, `s3://BUCKET/PREFIX`, and the variables `AWS_REGION`,
    /// `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, and where they are set `AWS_SESSION_TOKEN` and
    /// `AWS_ENDPOINT_URL`.
    ///
    /// # Errors
    /// [`S3ConfigError`]; it repeats no key.
    pub fn new(url: &str, environment: &BTreeMap<String, String>) -> Result<Self, S3ConfigError> {
        let (bucket, prefix) = match url.strip_prefix("s3://").ok_or(S3ConfigError::Url)?.split_once('/') {
            Some((bucket, prefix)) => (bucket, prefix.trim_end_matches('/')),
            None => (url.trim_start_matches("s3://"), ""),
        };
        let is_plain = |name: &str| {
            let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
            !name.is_empty() && name.bytes().all(plain) && name.bytes().any(|b| b != b'.')
        };
        if !is_plain(bucket) || !(prefix.is_empty() || prefix.split('/').all(is_plain)) {
            return Err(S3ConfigError::Url);
        }
        let variable =
            |name: &str| environment.get(name).map(|text| text.trim()).filter(|text| !text.is_empty());
        let needed = |name| variable(name).ok_or(S3ConfigError::Missing(name));
        Ok(Self {
            bucket: bucket.to_owned(),
            prefix: prefix.to_owned(),
            region: needed("AWS_REGION")?.to_owned(),
            key_id: needed("AWS_ACCESS_KEY_ID")?.to_owned(),
            key: Secret::new(needed("AWS_SECRET_ACCESS_KEY")?),
            token: variable("AWS_SESSION_TOKEN").map(Secret::new),
            endpoint: variable("AWS_ENDPOINT_URL")
                .map(Address::parse)
                .transpose()
                .map_err(S3ConfigError::Endpoint)?,
        })
    }

    /// The TCP port that it is reached by.
    pub fn port(&self) -> Option<u16> {
        self.endpoint.as_ref().and_then(Address::port)
    }

    /// Where the server is.
    pub(crate) fn scope(&self) -> ServerScope {
        self.endpoint.as_ref().map_or(ServerScope::Remote, |address| address.reach)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(url: &str, set: &[(&str, &str)]) -> Result<S3Config, String> {
        let base =
            [("AWS_REGION", "eu-1"), ("AWS_ACCESS_KEY_ID", "id"), ("AWS_SECRET_ACCESS_KEY", "hunter2")];
        let both = base.iter().chain(set).map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        S3Config::new(url, &both.collect()).map_err(|error| error.to_string())
    }

    #[test]
    fn what_names_no_bucket_is_refused() {
        for url in [
            "",
            "s3:",
            "s3://",
            "s3:///a",
            "S3://a",
            "https://a",
            "file:///a",
            "s3://a//b",
            "s3://a/..",
            "s3://a/b/../c",
            "s3://a?x",
            "s3://id:hunter2@a",
            "s3://a?key=hunter2",
            "s3://ä",
            "s3://a/b c",
            "s3://.",
        ] {
            let refused = read(url, &[]).expect_err(url);
            assert!(refused.contains("s3://BUCKET/PREFIX") && !refused.contains("hunter2"), "{refused}");
        }
        for (name, said) in [
            ("AWS_REGION", "AWS_REGION is not set"),
            ("AWS_ACCESS_KEY_ID", "AWS_ACCESS_KEY_ID is not set"),
            ("AWS_SECRET_ACCESS_KEY", "AWS_SECRET_ACCESS_KEY is not set"),
        ] {
            assert!(read("s3://a", &[(name, " ")]).is_err_and(|error| error.contains(said)), "{name}");
        }
        for endpoint in ["http://a.example", "ftp://a", "https://u:hunter2@a", "a"] {
            let refused = read("s3://a", &[("AWS_ENDPOINT_URL", endpoint)]).expect_err(endpoint);
            assert!(refused.starts_with("AWS_ENDPOINT_URL: ") && !refused.contains("hunter2"), "{refused}");
        }
    }

    #[test]
    fn what_names_one_is_taken_apart() {
        for (url, bucket, prefix) in
            [("s3://a", "a", ""), ("s3://a/", "a", ""), ("s3://a.b-c/d/e/", "a.b-c", "d/e")]
        {
            let config = read(url, &[("AWS_ENDPOINT_URL", "http://127.0.0.1:9")]).expect(url);
            assert_eq!((config.bucket.as_str(), config.prefix.as_str()), (bucket, prefix));
            assert!(!format!("{config:?}").contains("hunter2"), "a key is printed");
        }
    }
}
