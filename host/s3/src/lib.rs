//! Blobs of replies in a bucket that speaks the S3 API, so that each node reads what another one
//! took in. Every request is signed, bounded in time, and made by the client that all edges have.
//!
//! Which bucket is a key of the configuration; how it is reached are the variables that every tool
//! for S3 reads.
//!
//! <https://docs.aws.amazon.com/AmazonS3/latest/API/Welcome.html>,
//! <https://docs.aws.amazon.com/sdkref/latest/guide/settings-reference.html>
#![forbid(unsafe_code)]

mod config;
mod connector;
mod store;

pub use config::{S3Config, S3ConfigError};
pub use store::S3Bucket;
