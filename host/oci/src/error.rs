//! Why a component is not fetched. Nothing of it is kept then. No message repeats a credential, or
//! the query of an address.

use crate::manifest::BadManifest;
use cofferdam_egress::EgressError;
use std::time::Duration;

/// Why a component is not fetched, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The registry's name makes no address.
    #[error("{0} is no registry that can be asked")]
    Registry(String),
    /// It is not there, as far as anyone who asks may know.
    #[error(
        "{shown} is not there (404); look at the name and the digest, and if it is not public give credentials: \
         --credentials-env VAR"
    )]
    Missing {
        /// What was asked for.
        shown: String,
    },
    /// Anyone who asks may not have it.
    #[error(
        "{shown} is refused ({status}); look at the name, and if it is not public give credentials that may read it: \
         --credentials-env VAR, a variable that holds USER:PASSWORD"
    )]
    Denied {
        /// What was asked for.
        shown: String,
        /// 401 or 403.
        status: u16,
    },
    /// It asks who asks in a way that is not understood.
    #[error(
        "{shown} wants to know who asks, neither by a token nor by a password; this registry cannot be used"
    )]
    Challenge {
        /// What was asked for.
        shown: String,
    },
    /// The server of tokens gave none.
    #[error("{shown} gave no token; try again, and if it goes on ask whoever runs the registry")]
    NoToken {
        /// The server of tokens.
        shown: String,
    },
    /// Another answer than was asked for.
    #[error("{shown} answered with status {status}; try again later")]
    Status {
        /// What was asked for.
        shown: String,
        /// What came.
        status: u16,
    },
    /// It redirects too often, or to nowhere that could be gone to.
    #[error("{shown} leads on and on, or nowhere; ask whoever runs the registry")]
    Redirects {
        /// What was asked for.
        shown: String,
    },
    /// Where the registry sends one to.
    #[error("the registry refers to another server, and {0}")]
    Elsewhere(String),
    /// The connection broke, or was never made.
    #[error("{shown} cannot be read: {why}{hint}")]
    Broken {
        /// What was asked for.
        shown: String,
        /// What failed.
        why: String,
        /// What may help.
        hint: &'static str,
    },
    /// More bytes than it may have.
    #[error("{what} has more than {max} bytes; nothing of it is kept")]
    TooLong {
        /// What is too long.
        what: String,
        /// What it may have, or should.
        max: u64,
    },
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
        wanted: String,
        /// What came.
        found: String,
    },
    /// No component is there.
    #[error("{shown}: {cause}")]
    Manifest {
        /// The reference.
        shown: String,
        /// What it is instead.
        cause: BadManifest,
    },
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
    /// It took too long.
    #[error("{shown} was not fetched within {max:?}; try again, or give it more time: --timeout 30m")]
    TimedOut {
        /// The reference.
        shown: String,
        /// How long it may take.
        max: Duration,
    },
}

impl FetchError {
    /// What another server came to; `what` was asked for there.
    pub(crate) fn from_other_server(error: EgressError, what: &str, max: u64) -> Self {
        match error {
            EgressError::TooLarge { .. } => Self::TooLong { what: what.to_owned(), max },
            EgressError::TimedOut { shown, max } => Self::TimedOut { shown, max },
            other => Self::Elsewhere(other.to_string()),
        }
    }
}
