//! libFuzzer's way into the check of what a worker says during a call. It includes the sandbox's own files, so that no
//! message leaves the sandbox and wasmtime need not be built.
#![no_main]
#![allow(dead_code, unused_imports, reason = "the sandbox uses what the check does not")]

#[path = "../../host/src/attachments"]
mod attachments {
    mod blob;
    pub use blob::{Blob, BlobBytes};
}

mod publish {
    pub use cofferdam_core::host_call::Disposition;
}

#[path = "../../host/src/sandbox"]
mod sandbox {
    mod clock;
    mod host_calls;
    mod missing;
    pub mod worker {
        mod answer;
        mod asking;
        pub mod fuzzing;
        mod socket;
    }
}

libfuzzer_sys::fuzz_target!(|data: &[u8]| sandbox::worker::fuzzing::conversation(data));
