//! libFuzzer's way into the check of arguments of calls.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| cofferdam_checks::arguments(data));
