//! libFuzzer's way into the check of policy files.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| cofferdam_checks::policy_files(data));
