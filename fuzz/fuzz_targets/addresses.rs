//! libFuzzer's way into the check of addresses that others name. It includes the pure files of
//! egress, so that no HTTP client need be built.
#![no_main]
#![allow(dead_code, reason = "egress uses what the check does not")]

#[path = "../../host/egress/src/error.rs"]
mod error;
#[path = "../../host/egress/src/fuzzing.rs"]
mod fuzzing;
#[path = "../../host/egress/src/host.rs"]
mod host;
#[path = "../../host/egress/src/range.rs"]
mod range;
#[path = "../../host/egress/src/target.rs"]
mod target;

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzzing::addresses(data));
