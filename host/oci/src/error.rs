//! Why a component is not fetched. Nothing of it is kept then. No message repeats a credential, or
//! the query of an address.

use crate::manifest::BadManifest;
use cofferdam_core::oci::ContentDigest;
use cofferdam_egress::EgressError;
use std::time::Duration;

/// Why a component is not fetched, and what to do. The first value is what was asked for.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The registry's name makes no address.
    #[error("{0} is no registry that can be asked")]
    Registry(String),
    /// It is not there, as far as anyone who asks may know.
    #[error(
        "{0} is not there (404); look at the name and the digest, and if it is not public give credentials: \
         --credentials-env VAR"
    )]
    Missing(String),
    /// Anyone who asks may not have it: 401 or 403.
    #[error(
        "{0} is refused ({1}); look at the name, and if it is not public give credentials that may read it: \
         --credentials-env VAR, a variable that holds USER:PASSWORD"
    )]
    Denied(String, u16),
    /// It asks who asks in a way that is not understood.
    #[error("{0} wants to know who asks, neither by a token nor by a password; this registry cannot be used")]
    Challenge(String),
    /// The server of tokens gave none.
    #[error("{0} gave no token; try again, and if it goes on ask whoever runs the registry")]
    NoToken(String),
    /// An answer with another status than was asked for.
    #[error("{0} answered with status {1}; try again later")]
    Status(String, u16),
    /// It redirects too often, or to nowhere that could be gone to.
    #[error("{0} leads on and on, or nowhere; ask whoever runs the registry")]
    Redirects(String),
    /// What is wrong with where the registry sends one to.
    #[error("the registry refers to another server, and {0}")]
    Elsewhere(String),
    /// The connection broke, or was never made; with what failed, and what may help.
    #[error("{0} cannot be read: {1}")]
    Broken(String, String),
    /// More bytes than it may have, or should.
    #[error("{0} has more than {1} bytes; nothing of it is kept")]
    TooLong(String, u64),
    /// Fewer bytes than it should have.
    #[error("{what} ended after {bytes} of {wanted} bytes; try again")]
    TooShort {
        /// What is too short.
        what: String,
        /// What came.
        bytes: u64,
        /// What should have.
        wanted: u64,
    },
    /// Other bytes.
    #[error(
        "{what} has {found}, and not {wanted}; nothing of it is kept, and the registry is not to be trusted"
    )]
    Digest {
        /// What differs.
        what: String,
        /// What is pinned, or what a pinned manifest says.
        wanted: ContentDigest,
        /// What came.
        found: ContentDigest,
    },
    /// No component is there, by its reference.
    #[error("{0}: {1}")]
    Manifest(String, BadManifest),
    /// The signer that is named did not sign it.
    #[error(
        "{shown} is not signed by the key {key} that is named as its signer: {found}; write the key of whoever signed \
         it, or have it signed: cosign sign --key cosign.key {shown}"
    )]
    NotSigned {
        /// The reference.
        shown: String,
        /// The key's fingerprint, its first digits.
        key: String,
        /// What there is instead.
        found: String,
    },
    /// It took longer than it may.
    #[error("{0} was not fetched within {1:?}; try again, or give it more time: --timeout 30m")]
    TimedOut(String, Duration),
}

impl FetchError {
    /// Whether the fault is of the one thing that was asked for, and not of the registry or the
    /// way to it.
    pub(crate) fn is_of_content(&self) -> bool {
        matches!(self, Self::Missing(_) | Self::TooLong(..) | Self::TooShort { .. } | Self::Manifest(..))
    }

    /// What another server came to; `what` was asked for there.
    pub(crate) fn from_other_server(error: EgressError, what: &str, max: u64) -> Self {
        match error {
            EgressError::TooLarge(..) => Self::TooLong(what.to_owned(), max),
            EgressError::TimedOut(shown, max) => Self::TimedOut(shown, max),
            other => Self::Elsewhere(other.to_string()),
        }
    }
}
