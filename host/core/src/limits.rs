//! Sizes, durations and the limits of one call, with their units in the text.

use crate::as_text::serialized_as_shown;
use serde::{Deserialize, Deserializer, Serialize, de};
use std::fmt;
use std::time::Duration;

/// A number of bytes, written `"32 MiB"` (B, KiB, MiB, GiB) in configuration and policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByteSize(pub u64);

impl ByteSize {
    const UNITS: [(&'static str, u64); 5] =
        [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1), ("", 1)];

    /// `n` mebibytes.
    pub const fn mib(n: u64) -> Self {
        Self(n << 20)
    }

    /// `n` kibibytes.
    pub const fn kib(n: u64) -> Self {
        Self(n << 10)
    }

    /// The size that a text like `"32 MiB"` or `"4096"` names.
    ///
    /// # Errors
    /// A sentence that says what to write instead.
    pub fn parse(text: &str) -> Result<Self, String> {
        parse_amount(text, &Self::UNITS).map(Self).ok_or_else(|| {
            format!("{text:?} is not a size; write a whole number with B, KiB, MiB or GiB, e.g. \"32 MiB\"")
        })
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, factor) = Self::UNITS
            .into_iter()
            .find(|(_, factor)| self.0 >= *factor && self.0.is_multiple_of(*factor))
            .unwrap_or(("B", 1));
        write!(f, "{} {unit}", self.0 / factor)
    }
}

impl<'de> Deserialize<'de> for ByteSize {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(d)?).map_err(de::Error::custom)
    }
}

/// A span of time, written `"60s"` (ms, s, m, h, d) in configuration and policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimeSpan(pub Duration);

impl TimeSpan {
    const UNITS: [(&'static str, u64); 5] =
        [("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

    /// `n` seconds.
    pub const fn seconds(n: u64) -> Self {
        Self(Duration::from_secs(n))
    }

    /// The span that a text like `"60s"` names.
    ///
    /// # Errors
    /// A sentence that says what to write instead.
    pub fn parse(text: &str) -> Result<Self, String> {
        let span = parse_amount(text, &Self::UNITS).map(|ms| Self(Duration::from_millis(ms)));
        span.ok_or_else(|| {
            format!("{text:?} is not a duration; write a whole number with ms, s, m, h or d, e.g. \"60s\"")
        })
    }
}

/// In the largest unit that divides it: `7d`, not `604800s`.
impl fmt::Display for TimeSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = self.0.as_millis();
        let divides = |(_, factor): &(&str, u64)| ms > 0 && ms.is_multiple_of(u128::from(*factor));
        let (unit, factor) = Self::UNITS.into_iter().rfind(divides).unwrap_or(("s", 1000));
        write!(f, "{}{unit}", ms / u128::from(factor))
    }
}

serialized_as_shown! { ByteSize TimeSpan }

impl<'de> Deserialize<'de> for TimeSpan {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(d)?).map_err(de::Error::custom)
    }
}

/// The whole number before one of these units, times what that stands for.
fn parse_amount(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    units.iter().find_map(|(unit, factor)| {
        let number = text.trim().strip_suffix(unit)?.trim_end();
        number.parse::<u64>().ok()?.checked_mul(*factor)
    })
}

/// A tool's schema longer than this is refused.
pub const SCHEMA_BYTES_MAX: usize = 64 << 10;

/// The limits of one call. Every one is enforced by the host and tripped by a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Linear memory of the guest.
    pub memory: ByteSize,
    /// Wall-clock time from the start of the call to its result, host calls included.
    pub deadline: TimeSpan,
    /// Bytes staged in all.
    pub written_bytes: ByteSize,
    /// Files written, renames and removals planned in all.
    pub changes: u32,
    /// The arguments as JSON text.
    pub arguments: ByteSize,
    /// The result as JSON text.
    pub result: ByteSize,
}

impl Limits {
    /// What a tool gets when neither its policy nor its profile says anything.
    pub const DEFAULT: Self = Self {
        memory: ByteSize::mib(32),
        deadline: TimeSpan::seconds(30),
        written_bytes: ByteSize::mib(50),
        changes: 16,
        arguments: ByteSize::mib(1),
        result: ByteSize::mib(4),
    };

    /// What a component may use to describe itself. Nothing is granted; a Python guest starts its
    /// interpreter in it.
    pub const DESCRIBE: Self = Self {
        memory: ByteSize::mib(128),
        deadline: TimeSpan::seconds(10),
        written_bytes: ByteSize(0),
        changes: 0,
        arguments: ByteSize(0),
        result: ByteSize::kib(256),
    };

    /// What no profile may exceed: the sandbox reserves address space and threads for this much.
    pub const CEILING: Self = Self {
        memory: ByteSize::mib(256),
        deadline: TimeSpan::seconds(600),
        written_bytes: ByteSize(4 << 30),
        changes: 10_000,
        arguments: ByteSize::mib(16),
        result: ByteSize::mib(16),
    };

    /// What no policy may go below, because no call could succeed: a page of memory, a tick of the
    /// clock, `{}` and one digit. Tools that write nothing are sound.
    pub const LEAST: Self = Self {
        memory: ByteSize::kib(64),
        deadline: TimeSpan(Duration::from_millis(1)),
        written_bytes: ByteSize(0),
        changes: 0,
        arguments: ByteSize(2),
        result: ByteSize(1),
    };
}

/// One of the [`Limits`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitRow {
    /// As policies write it, e.g. `written_bytes`.
    pub name: &'static str,
    /// Bytes, nanoseconds or a number; compared only with the same limit.
    pub amount: u128,
    /// With its unit, e.g. `32 MiB`.
    pub shown: String,
}

impl Limits {
    /// Every limit in the order of the documents.
    pub fn rows(&self) -> [LimitRow; 6] {
        let Self { memory, deadline, written_bytes, changes, arguments, result } = self;
        let size = |name, size: &ByteSize| LimitRow { name, amount: size.0.into(), shown: size.to_string() };
        [
            size("memory", memory),
            LimitRow { name: "deadline", amount: deadline.0.as_nanos(), shown: deadline.to_string() },
            size("written_bytes", written_bytes),
            LimitRow { name: "changes", amount: u128::from(*changes), shown: changes.to_string() },
            size("arguments", arguments),
            size("result", result),
        ]
    }
}

#[cfg(test)]
mod properties;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_spans_refuse_what_they_do_not_know() {
        for text in ["", "MiB", "-1 B", "1.5 MiB", "32 MB", "32MiBs", "99999999999 GiB", "0x10"] {
            assert!(ByteSize::parse(text).is_err(), "{text}");
        }
        for text in ["", "s", "60", "-1s", "1.5s", "1w", "d", "99999999999999999999s"] {
            assert!(TimeSpan::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_and_spans_print_as_they_are_written() {
        for text in ["32 MiB", "4 GiB", "1 B", "0 B", "3 KiB", "1000 B"] {
            assert_eq!(ByteSize::parse(text).map(|s| s.to_string()), Ok(text.to_owned()));
        }
        for (text, shown) in [
            ("60s", "1m"),
            ("90s", "90s"),
            ("2m", "2m"),
            ("250ms", "250ms"),
            ("1000ms", "1s"),
            ("60m", "1h"),
            ("25h", "25h"),
            ("168h", "7d"),
            ("7d", "7d"),
            ("0h", "0s"),
        ] {
            assert_eq!(TimeSpan::parse(text).map(|s| s.to_string()), Ok(shown.to_owned()));
        }
    }
}
