//! Addresses of attachments: which are taken on paper, which are the same, and how a log has them.

use crate::problem::quote;
use std::fmt;

/// An address on the web. It is passed on as it was written.
#[derive(Clone, PartialEq, Eq)]
pub struct Url {
    written: String,
    parsed: url::Url,
}

/// Why a text is no address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// It does not parse, or names no host.
    #[error("{0} is no address; write e.g. https://example.com/photo.png")]
    Malformed(String),
    /// Neither http nor https.
    #[error("the scheme {0} is not taken; write an address with https://")]
    Scheme(String),
    /// A control character or blank in it.
    #[error("the address has a blank or control character; write it percent-encoded")]
    Blank,
    /// Longer than anybody's.
    #[error("the address is longer than {max} bytes", max = Url::BYTES_MAX)]
    TooLong,
}

impl Url {
    /// A longer address is refused.
    pub const BYTES_MAX: usize = 8 << 10;

    /// The address that a text is.
    ///
    /// # Errors
    /// [`UrlError`]; it repeats neither user nor query.
    pub fn parse(text: &str) -> Result<Self, UrlError> {
        if text.len() > Self::BYTES_MAX {
            return Err(UrlError::TooLong);
        }
        // The parser would drop some of these, and others would go into a log.
        if text.chars().any(|c| c.is_whitespace() || cofferdam_core::text::is_deceptive(c)) {
            return Err(UrlError::Blank);
        }
        let malformed = || {
            let plain = text.split(['?', '#']).next().unwrap_or_default();
            // What stands before an `@` may be a password.
            UrlError::Malformed(plain.rsplit_once('@').map_or_else(|| quote(plain), |_| "this".to_owned()))
        };
        let parsed = url::Url::parse(text).map_err(|_| malformed())?;
        if !matches!(parsed.scheme(), "https" | "http") {
            return Err(UrlError::Scheme(quote(parsed.scheme())));
        }
        // `https:host` and `https:\\host` parse as well, and other programs read them differently.
        let after = text.split_once(':').map_or("", |(_, rest)| rest);
        if parsed.host_str().is_none_or(str::is_empty)
            || !after.starts_with("//")
            || after.starts_with("///")
            || text.contains('\\')
        {
            return Err(malformed());
        }
        Ok(Self { written: text.to_owned(), parsed })
    }

    /// As it was written.
    pub fn as_written(&self) -> &str {
        &self.written
    }

    /// What is the same for two spellings of one address: lower-case scheme and host, no default
    /// port, no fragment, the rest as it is.
    pub fn key(&self) -> String {
        let after = self.written.split_once("//").map_or("", |(_, rest)| rest);
        let after = after.split('#').next().unwrap_or_default();
        let path = after.find(['/', '?']).map_or("", |at| &after[at..]);
        let slash = if path.starts_with('/') { "" } else { "/" };
        let user = after.split(['/', '?']).next().and_then(|authority| authority.rsplit_once('@'));
        let user = user.map_or(String::new(), |(user, _)| format!("{user}@"));
        let port = self.parsed.port().map_or(String::new(), |port| format!(":{port}"));
        let host = self.parsed.host_str().unwrap_or_default();
        format!("{}://{user}{host}{port}{slash}{path}", self.parsed.scheme())
    }

    /// As logs, errors and audit have it: without user, and `?[redacted]` for a query.
    pub fn redacted(&self) -> String {
        let mut plain = self.parsed.clone();
        // It fails for addresses without a host alone.
        let _ = plain.set_username("");
        let _ = plain.set_password(None);
        plain.set_query(None);
        plain.set_fragment(None);
        let query = if self.parsed.query().is_some() { "?[redacted]" } else { "" };
        format!("{plain}{query}")
    }
}

impl fmt::Debug for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Url({})", self.redacted())
    }
}
