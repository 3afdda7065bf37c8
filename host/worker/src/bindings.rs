//! Host bindings generated from `wit/`, the same text that guests bind from.

#![allow(missing_docs, unreachable_pub, clippy::all, reason = "generated code")]

wasmtime::component::bindgen!({
    path: "../../wit",
    world: "tool-world",
    imports: { default: trappable },
    exports: { default: async },
    with: {
        "wasi:io": wasmtime_wasi::p2::bindings::io,
        "cofferdam:tool/turn-attachments.attachment": crate::attachments::OpenAttachment,
        "cofferdam:tool/workspace-write.staged-file": crate::staging::GuestStagedFile,
    },
    require_store_data_send: true,
});
