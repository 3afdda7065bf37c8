//! libFuzzer's way into the check of workflow files.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| cofferdam_checks::workflow_files(data));
