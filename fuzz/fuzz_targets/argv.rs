//! libFuzzer's way into the check of arguments of commands.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| cofferdam_checks::argv(data));
