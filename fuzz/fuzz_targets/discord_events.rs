//! libFuzzer's way into the check of Discord's events. It includes the channel's own files, so that
//! no wire type leaves the channel and the rest of the gateway need not be built.
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
    pub use groups::SenderReply;
}

#[path = "../../host/discord/src/admission.rs"]
mod admission;
#[path = "../../host/discord/src/file.rs"]
mod file;
#[path = "../../host/discord/src/fuzzing.rs"]
mod fuzzing;
#[path = "../../host/discord/src/mention.rs"]
mod mention;
#[path = "../../host/discord/src/payload.rs"]
mod payload;
#[path = "../../host/discord/src/wire.rs"]
mod wire;

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzzing::frames(data));
