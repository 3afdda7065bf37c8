//! Describing never ends.

odd::describe_as!(spin(), odd::GOOD_SCHEMA, odd::GOOD_SCHEMA);

#[cfg(target_family = "wasm")]
fn spin() -> String {
    loop {
        std::hint::spin_loop();
    }
}
