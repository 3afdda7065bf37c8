//! Why something is not fetched. No message repeats a user name, a password or a query.

use crate::target::URL_BYTES_MAX;
use cofferdam_core::tool::{ErrorCode, ToolError};
use std::net::IpAddr;
use std::time::Duration;

/// What is wrong with an address, or with where it leads. It is not contacted. The first value is
/// the address; the last of some is what the configuration may say to allow it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RefusedAddress {
    /// It does not parse strictly.
    #[error("the address is not spelled as addresses are; write e.g. https://example.com/handbook.pdf")]
    Malformed,
    /// It is longer than anybody's.
    #[error("the address is longer than {URL_BYTES_MAX} bytes")]
    TooLong,
    /// A user name or password.
    #[error("{0} comes with a user name or password, which is not sent; take it out")]
    User(String),
    /// Neither https, nor http to a host that the operator names.
    #[error("{0} is not https; write https://, or name the host for plain http: {1}")]
    Scheme(String, String),
    /// A scheme that is never contacted.
    #[error("the scheme {0} is not contacted; write an address with https://")]
    OtherScheme(String),
    /// A host that is spelled to look like another one.
    #[error("its host is spelled unusually; write {0}")]
    Spelling(String),
    /// Neither the port of https, nor one that the operator names.
    #[error("{0} is at port {1}, and only 443 is contacted; to allow it write {2}")]
    Port(String, u16, String),
    /// Not a public address: what its name stands for, and what that belongs to.
    #[error("{0} is at {1}, which is not public ({2}); to allow it write {3}")]
    NotPublic(String, IpAddr, &'static str, String),
    /// From https to http.
    #[error("{0} leads to plain http, which is not followed")]
    Downgrade(String),
}

impl RefusedAddress {
    /// Whether the text itself is wrong. Where a host is, and which port it may be asked at, is the
    /// network's and the configuration's to say.
    pub fn is_on_paper(&self) -> bool {
        !matches!(self, Self::NotPublic(..) | Self::Port(..) | Self::Downgrade(_))
    }
}

/// Why an address was not fetched. The first value is the address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EgressError {
    /// The address itself.
    #[error(transparent)]
    Refused(#[from] RefusedAddress),
    /// Where it was sent on to.
    #[error("{0} redirects, and {1}")]
    Redirected(String, RefusedAddress),
    /// More redirects than may be followed.
    #[error(
        "{0} redirects more than {1} times; write the address that it leads to, or change [attachments] max_redirects"
    )]
    Redirects(String, u32),
    /// The name stands for nothing.
    #[error("{0}: its host is not found ({1})")]
    NotFound(String, String),
    /// An answer other than 200.
    #[error("{0} answers with HTTP status {1}")]
    Status(String, u16),
    /// It has more bytes than may be fetched.
    #[error("{0} has more than {1} bytes, and [attachments] max_download_size_bytes is {1}")]
    TooLarge(String, u64),
    /// It took longer than it may.
    #[error("{0} was not fetched within {1:?}; try again, or change [attachments] download_timeout")]
    TimedOut(String, Duration),
    /// The connection broke, or was never made.
    #[error("{0} cannot be fetched: {1}")]
    Broken(String, String),
}

impl EgressError {
    /// For programs.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Refused(RefusedAddress::Malformed | RefusedAddress::TooLong) => {
                ErrorCode::AttachmentUnavailable
            }
            Self::Refused(_) | Self::Redirected(..) | Self::Redirects(..) => ErrorCode::NetworkDenied,
            Self::TooLarge(..) => ErrorCode::TooLarge,
            Self::TimedOut(..) => ErrorCode::TimedOut,
            Self::NotFound(..) | Self::Status(..) | Self::Broken(..) => ErrorCode::AttachmentUnavailable,
        }
    }
}

impl From<EgressError> for ToolError {
    fn from(error: EgressError) -> Self {
        Self { code: error.code(), message: error.to_string() }
    }
}
