//! What `wit-bindgen` makes of `wasi:filesystem`, as it is; nothing here is written by hand.
#![allow(unsafe_code, missing_docs, unreachable_pub, dead_code, clippy::all, reason = "generated code")]

wit_bindgen::generate!({
    inline: "
        package cofferdam:mounts;
        world mounts {
            import wasi:filesystem/types@0.2.12;
            import wasi:filesystem/preopens@0.2.12;
        }
    ",
    path: "wit",
    world: "cofferdam:mounts/mounts",
    generate_all,
    with: {
        "wasi:io/error@0.2.12": crate::bindings::wasi::io::error,
        "wasi:io/poll@0.2.12": crate::bindings::wasi::io::poll,
        "wasi:io/streams@0.2.12": crate::bindings::wasi::io::streams,
    },
});
