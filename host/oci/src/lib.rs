//! Components in OCI registries: fetched when an operator says so, and kept.
//!
//! What is pinned is the digest of a manifest; the manifest names the digest of the component. Both
//! are verified when they are fetched, before anything is kept, and again whenever the component is
//! read from the [`Store`], and so is the signature of the one who is named as its signer. Reading
//! asks nobody: only [`fetch()`] has a network.
//!
//! The registry is a server that the operator names. What it names itself (a server of tokens, one
//! that has the bytes) is contacted under the rules for addresses of others.
#![forbid(unsafe_code)]

mod challenge;
mod client;
mod error;
mod fetch;
mod manifest;
mod signature;
mod store;

pub use client::{REDIRECTS_MAX, Settings};
pub use error::FetchError;
pub use fetch::{Fetched, SIGNATURES_MAX, fetch};
pub use manifest::{BadManifest, MANIFEST_BYTES_MAX};
pub use signature::{Signature, Unverified};
pub use store::{Store, StoreError, Writing};
