//! libFuzzer's way into the check of Telegram's updates. It includes the channel's own files, so
//! that no wire type leaves the channel and the rest of the gateway need not be built.
#![no_main]
#![allow(dead_code, reason = "the channel uses what the check does not")]

// What the channel takes from `chat`: those files, under that crate's name.
extern crate self as cofferdam_chat;

#[path = "../../host/chat/src/handler"]
mod handler {
    mod mention;
    pub use mention::strip_mention;
}

#[path = "../../host/chat/src/people"]
mod people {
    mod groups;
    pub use groups::{GroupMembers, SenderReply};
}

#[path = "../../host/telegram/src/admission.rs"]
mod admission;
#[path = "../../host/telegram/src/content.rs"]
mod content;
#[path = "../../host/telegram/src/context.rs"]
mod context;
#[path = "../../host/telegram/src/fuzzing.rs"]
mod fuzzing;
#[path = "../../host/telegram/src/media.rs"]
mod media;
#[path = "../../host/telegram/src/mention.rs"]
mod mention;
#[path = "../../host/telegram/src/outline.rs"]
mod outline;
#[path = "../../host/telegram/src/wire.rs"]
mod wire;

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzzing::updates(data));
