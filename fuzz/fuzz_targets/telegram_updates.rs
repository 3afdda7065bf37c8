//! libFuzzer's way into the check of Telegram's updates. It includes the channel's own files, so that no wire
//! type leaves the channel and the rest of the gateway need not be built.
#![no_main]
#![allow(dead_code, reason = "the channel uses what the check does not")]

#[path = "../../host/src/channels/telegram/admit.rs"]
mod admit;
#[path = "../../host/src/channels/telegram/besides.rs"]
mod besides;
#[path = "../../host/src/channels/telegram/content.rs"]
mod content;
#[path = "../../host/src/channels/telegram/fuzzing.rs"]
mod fuzzing;
#[path = "../../host/src/channels/telegram/groups.rs"]
mod groups;
#[path = "../../host/src/channels/telegram/media.rs"]
mod media;
#[path = "../../host/src/channels/telegram/mention.rs"]
mod mention;
#[path = "../../host/src/channels/telegram/outline.rs"]
mod outline;
#[path = "../../host/src/channels/telegram/wire.rs"]
mod wire;

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzzing::updates(data));
