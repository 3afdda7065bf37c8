//! Numbers as JSON Schema compares them: by value, in any notation.

use serde_json::Number;
use std::cmp::Ordering;

/// A number that two equal ones share: whole ones up to 2^126 are exact, others as they are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Num {
    Whole(i128),
    /// Not whole, or too large to matter.
    Float(f64),
}

impl Num {
    pub(super) fn from_json(number: &Number) -> Self {
        if let Some(n) = number.as_u64() {
            return Self::Whole(n.into());
        }
        if let Some(n) = number.as_i64() {
            return Self::Whole(n.into());
        }
        let float = number.as_f64().unwrap_or(f64::NAN);
        // 2^126 and all below it are exact in both.
        if float.fract() == 0.0 && float.abs() <= 2f64.powi(126) {
            Self::Whole(float as i128)
        } else {
            Self::Float(float)
        }
    }

    pub(super) fn compare(self, other: Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Whole(a), Self::Whole(b)) => Some(a.cmp(&b)),
            (Self::Float(a), Self::Float(b)) => a.partial_cmp(&b),
            (Self::Float(a), Self::Whole(b)) => compare_float(a, b),
            (Self::Whole(a), Self::Float(b)) => compare_float(b, a).map(Ordering::reverse),
        }
    }

    /// What equal numbers share, for sorting them together.
    pub(super) fn key(self) -> (bool, u128) {
        match self {
            Self::Whole(n) => (true, n.cast_unsigned()),
            Self::Float(float) => (false, float.to_bits().into()),
        }
    }
}

/// A float that is not whole, or beyond 2^126, beside a whole number.
fn compare_float(float: f64, whole: i128) -> Option<Ordering> {
    if float.is_nan() {
        return None;
    }
    // The cast saturates, so a float beyond every whole number stays beyond.
    Some(if (float.floor() as i128) < whole { Ordering::Less } else { Ordering::Greater })
}

/// Whether `number` is a whole multiple of `of`, which is above 0, both taken as the decimals they
/// are written as.
pub(super) fn is_multiple(number: &Number, of: &Number) -> bool {
    let (Some((a, a_power)), Some((b, b_power))) = (decimal(number), decimal(of)) else { return false };
    if a == 0 {
        return true;
    }
    if b == 0 {
        return false;
    }
    let more = (a_power - b_power).unsigned_abs();
    if a_power >= b_power {
        // Both factors are below b, which is below 2^64.
        let mut rest = a % b;
        for _ in 0..more {
            rest = rest * 10 % b;
            if rest == 0 {
                return true;
            }
        }
        rest == 0
    } else {
        let scaled = 10u128.checked_pow(more).and_then(|factor| b.checked_mul(factor));
        scaled.is_some_and(|b| a % b == 0)
    }
}

/// The digits, and the power of ten that they are multiplied by.
fn decimal(number: &Number) -> Option<(u128, i32)> {
    let text = number.to_string();
    let (digits, power) = text.split_once(['e', 'E']).unwrap_or((&text, "0"));
    let (whole, fraction) = digits.trim_start_matches('-').split_once('.').unwrap_or((digits, ""));
    let whole = whole.trim_start_matches('-');
    let fraction = fraction.trim_end_matches('0');
    let power: i32 = power.trim_start_matches('+').parse().ok()?;
    let digits: u128 = format!("{whole}{fraction}").parse().ok()?;
    Some((digits, power - i32::try_from(fraction.len()).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn number(text: &str) -> Number {
        match serde_json::from_str(text) {
            Ok(Value::Number(number)) => number,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn numbers_are_compared_by_value() {
        for (less, more) in [
            ("-1", "0"),
            ("0.5", "1"),
            ("1", "1.5"),
            ("-0.5", "0"),
            ("9007199254740992", "9007199254740993"),
            ("18446744073709551615", "1e20"),
            ("-1e300", "-9223372036854775808"),
            ("1e300", "1e301"),
        ] {
            let (less, more) = (Num::from_json(&number(less)), Num::from_json(&number(more)));
            assert_eq!(less.compare(more), Some(Ordering::Less), "{less:?} {more:?}");
            assert_eq!(more.compare(less), Some(Ordering::Greater), "{less:?} {more:?}");
        }
        for (a, b) in [("1", "1.0"), ("0", "-0.0"), ("100", "1e2"), ("0.5", "5e-1")] {
            assert_eq!(Num::from_json(&number(a)), Num::from_json(&number(b)), "{a} {b}");
            assert_eq!(Num::from_json(&number(a)).key(), Num::from_json(&number(b)).key(), "{a} {b}");
        }
    }

    #[test]
    fn multiples_are_those_of_the_decimals() {
        for (a, b, is) in [
            ("6", "3", true),
            ("7", "3", false),
            ("0", "3", true),
            ("-6", "3", true),
            ("0.3", "0.1", true),
            ("0.35", "0.1", false),
            ("4.5", "1.5", true),
            ("1e300", "7", false),
            ("1e300", "5", true),
            ("1e-300", "1e300", false),
            ("1", "1e-300", true),
            ("18446744073709551615", "5", true),
            ("18446744073709551615", "18446744073709551614", false),
            ("1.7976931348623157e308", "2", true),
            ("3", "0.0", false),
        ] {
            assert_eq!(is_multiple(&number(a), &number(b)), is, "{a} of {b}");
        }
    }
}
