//! libFuzzer's way into the check of what a worker says during a call. It includes the gateway's
//! own files, so that they need not be public.
#![no_main]
#![allow(dead_code, unused_imports, reason = "the gateway uses what the check does not")]

#[path = "../../host/warden/src/stop.rs"]
mod stop;

#[path = "../../host/warden/src/sandbox"]
mod sandbox {
    mod clock;
    pub mod workers {
        mod answer;
        pub mod fuzzing;
        mod processor;
    }
}

libfuzzer_sys::fuzz_target!(|data: &[u8]| sandbox::workers::fuzzing::conversation(data));
