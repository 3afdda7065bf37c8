//! What a long call is doing, for anyone who waits; and whether anybody still does.

pub use crate::bindings::cofferdam::tool::progress::{cancelled, report};
