//! libFuzzer's way into the check of guest paths.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| cofferdam_checks::guest_paths(data));
