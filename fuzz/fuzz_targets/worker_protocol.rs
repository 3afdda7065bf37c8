//! libFuzzer's way into the check of what a worker says during a call.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| cofferdam::sandbox::worker::fuzzing::conversation(data));
