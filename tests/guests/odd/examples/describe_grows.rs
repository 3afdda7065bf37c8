//! Describing takes more memory than there is for it.

odd::describe_as!(grown(), odd::GOOD_SCHEMA, odd::GOOD_SCHEMA);

#[cfg(target_family = "wasm")]
fn grown() -> String {
    let taken = std::hint::black_box(vec![1_u8; 132 << 20]);
    format!("took_{}", taken.len())
}
