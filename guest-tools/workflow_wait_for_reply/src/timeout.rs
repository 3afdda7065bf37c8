//! How long: a number with a unit, as workflow files have it.

use cofferdam_sdk::{ErrorCode, ToolError};
use std::time::Duration;

/// The time that a text says: `90s`, `30m`, `24h`, `7d`.
///
/// # Errors
/// `invalid_arguments`, with what to write.
pub(crate) fn read(text: &str) -> Result<Duration, ToolError> {
    let units = [("s", 1), ("m", 60), ("h", 3600), ("d", 86_400)];
    let found = units.into_iter().find_map(|(unit, seconds)| Some((text.strip_suffix(unit)?, seconds)));
    let digits = found.filter(|(number, _)| number.bytes().all(|b| b.is_ascii_digit()));
    let seconds = digits.and_then(|(number, unit)| number.parse::<u64>().ok()?.checked_mul(unit));
    let time = seconds.filter(|seconds| *seconds > 0).map(Duration::from_secs);
    time.ok_or_else(|| {
        let said = format!("\"timeout\" is {text:?}; write a number with s, m, h or d, for example \"24h\"");
        ToolError::new(ErrorCode::InvalidArguments, said)
    })
}

#[cfg(test)]
mod tests {
    use super::read;
    use std::time::Duration;

    #[test]
    fn a_time_has_a_number_and_a_unit() {
        for (text, seconds) in [("90s", 90), ("30m", 1800), ("24h", 86_400), ("7d", 604_800)] {
            assert_eq!(read(text).expect("a time"), Duration::from_secs(seconds), "{text}");
        }
        for text in ["", "h", "0s", "1", "1.5h", "-1h", "1 h", "1w", "99999999999999999999s"] {
            assert!(read(text).expect_err("refused").message.contains("\"24h\""), "{text}");
        }
    }
}
