//! libFuzzer's way into the check of values of other people's functions.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| cofferdam_checks::wit_values(data));
