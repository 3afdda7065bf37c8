//! libFuzzer's way into the check of recipients.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| cofferdam_checks::recipients(data));
