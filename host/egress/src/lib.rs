//! The one way by which the gateway fetches an address that somebody else names, such as one in a
//! workflow's file.
//!
//! https alone, and public addresses alone, unless the operator names host and port. A name is
//! resolved once, every answer is checked, and a checked one is connected to: nothing is looked up
//! a second time. Each redirect is checked as the first address was. No proxy, no cookies, no
//! Referer. Bytes, time and redirects are bounded.
//!
//! Guests ask by [`GuestWeb`], under the grant of their profile besides.
//!
//! What talks to a server that the operator configured (channels, models) does not come here; what
//! it trusts over TLS is the same, and said here ([`client_builder`]).
#![forbid(unsafe_code)]

mod body;
mod error;
mod fetch;
#[cfg(test)]
mod fuzzing;
mod guests;
mod hop;
mod host;
mod range;
mod target;
#[cfg(test)]
mod tests;
mod trust;

pub use body::ResponseBody;
pub use error::{EgressError, RefusedAddress};
pub use fetch::{Egress, FetchLimits};
pub use guests::GuestWeb;
pub use host::{BadHost, HostPort};
pub use range::range_of;
pub use target::{AddressRules, CheckedUrl, HTTPS_PORT, Ports, URL_BYTES_MAX};
pub use trust::{BadAuthorities, authority_count, client_builder, trust_authorities};
