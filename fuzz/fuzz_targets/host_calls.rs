//! libFuzzer's way into the check of what a worker asks during a call.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| cofferdam_checks::host_calls(data));
