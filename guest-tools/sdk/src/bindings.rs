//! What `wit-bindgen` makes of the contract in `wit/`, as it is; nothing here is written by hand.
//! The rest of the crate is a smaller, safe surface over it. Use it directly only for what that
//! lacks.
#![allow(unsafe_code, missing_docs, unreachable_pub, clippy::all, reason = "generated code")]

wit_bindgen::generate!({
    path: "wit",
    world: "tool-world",
    generate_all,
    pub_export_macro: true,
    export_macro_name: "export_raw",
    default_bindings_module: "cofferdam_sdk::bindings",
});
