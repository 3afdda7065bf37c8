//! libFuzzer's way into the check of schemas and arguments for them.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| cofferdam_checks::schemas(data));
