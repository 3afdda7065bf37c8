//! Describing traps.

odd::describe_as!(trap(), odd::GOOD_SCHEMA, odd::GOOD_SCHEMA);

#[cfg(target_family = "wasm")]
fn trap() -> String {
    core::arch::wasm32::unreachable()
}
