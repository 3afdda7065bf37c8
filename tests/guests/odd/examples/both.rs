//! A command that has a function beside.
#![cfg_attr(
    target_family = "wasm",
    allow(unsafe_code, unreachable_pub, missing_docs, reason = "generated code")
)]

#[cfg(target_family = "wasm")]
mod guest {
    wit_bindgen::generate!({
        inline: "
            package acme:both@0.1.0;
            world guest {
                export wasi:cli/run@0.2.0;
                export add: func(a: u32, b: u32) -> u32;
            }
            package wasi:cli@0.2.0 {
                interface run { run: func() -> result; }
            }
        ",
        generate_all,
    });

    struct Both;

    impl exports::wasi::cli::run::Guest for Both {
        fn run() -> Result<(), ()> {
            println!("run");
            Ok(())
        }
    }

    impl Guest for Both {
        fn add(a: u32, b: u32) -> u32 {
            a.wrapping_add(b)
        }
    }

    export!(Both);
}
