//! What is refused, without a network: addresses, spellings, redirects. And what one fetch does, on
//! loopback.

mod fetching;
mod ranges;
mod targets;
