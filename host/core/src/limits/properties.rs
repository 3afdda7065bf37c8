//! Sizes and spans: what is printed is read back as the same number.

use super::{ByteSize, TimeSpan};
use proptest::prelude::*;
use std::time::Duration;

/// Numbers of bytes, most of them whole units.
fn bytes() -> impl Strategy<Value = u64> {
    prop_oneof![any::<u64>(), (0u64..1 << 33, 0u32..4).prop_map(|(n, unit)| n << (10 * unit))]
}

proptest! {
    #[test]
    fn a_size_is_read_as_it_is_printed(bytes in bytes()) {
        prop_assert_eq!(ByteSize::parse(&ByteSize(bytes).to_string()), Ok(ByteSize(bytes)));
        prop_assert_eq!(ByteSize::parse(&bytes.to_string()), Ok(ByteSize(bytes)));
    }

    #[test]
    fn a_size_means_its_unit(n in 0u64..1 << 33, unit in 0usize..4, gap in " {0,3}") {
        let (name, factor) = [("B", 1u64), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)][unit];
        prop_assert_eq!(ByteSize::parse(&format!("{n}{gap}{name}")), Ok(ByteSize(n * factor)));
    }

    #[test]
    fn a_span_is_read_as_it_is_printed(ms in 0u64..u64::MAX / 2) {
        let span = TimeSpan(Duration::from_millis(ms));
        prop_assert_eq!(TimeSpan::parse(&span.to_string()), Ok(span));
    }

    #[test]
    fn any_text_is_answered_and_a_refusal_says_what_to_write(text in "\\PC{0,12}") {
        if let Err(said) = ByteSize::parse(&text) {
            prop_assert!(said.ends_with("e.g. \"32 MiB\""), "{}", said);
        }
        if let Err(said) = TimeSpan::parse(&text) {
            prop_assert!(said.ends_with("e.g. \"60s\""), "{}", said);
        }
    }
}
