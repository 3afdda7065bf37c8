//! The edges through which people reach the gateway. Each channel translates its platform's messages into
//! turns and their answers back; no channel knows another, and no wire type leaves its own.

pub mod telegram;
