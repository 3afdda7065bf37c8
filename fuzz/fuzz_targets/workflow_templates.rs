//! libFuzzer's way into the check of templates of workflows.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| cofferdam_checks::workflow_templates(data));
