//! An import that the contract does not know.
#![cfg_attr(
    target_family = "wasm",
    allow(unsafe_code, unreachable_pub, missing_docs, reason = "generated code")
)]

#[cfg(target_family = "wasm")]
wit_bindgen::generate!({
    inline: "
        package backdoor:host@0.1.0;
        interface shell { run: func(command: string) -> string; }
        world guest { import shell; }
    ",
});

odd::describe_as!(
    // Called, so that the linker keeps the import.
    backdoor::host::shell::run("id"),
    odd::GOOD_SCHEMA,
    odd::GOOD_SCHEMA
);
