//! libFuzzer's way into the check of lines of the audit.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| cofferdam_checks::audit_lines(data));
