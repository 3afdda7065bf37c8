//! libFuzzer's way into the check of patterns of attachments.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| cofferdam_checks::workflow_patterns(data));
