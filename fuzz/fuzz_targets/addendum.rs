//! libFuzzer's way into the check of attachments as their senders describe them.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| cofferdam_checks::addendum(data));
