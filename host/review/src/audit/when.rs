//! Points in time as people write them: RFC 3339, a date (UTC), or how long ago.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// A time as it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeBound {
    /// A point in time.
    At(Timestamp),
    /// A day.
    On(Date),
    /// So long before now.
    Ago(SignedDuration),
}

const WRITE: &str = "write e.g. 2026-01-31T12:00:00Z, the date 2026-01-31 (UTC), or 2h for two hours ago \
(s, m, h, d, w)";

impl TimeBound {
    /// The time that a text names.
    ///
    /// # Errors
    /// What to write instead.
    pub fn parse(text: &str) -> Result<Self, String> {
        let at = text.parse().ok().map(Self::At);
        let on = || text.parse().ok().map(Self::On);
        // The library takes more than a date for one.
        let on = || if text.len() == "2026-01-31".len() { on() } else { None };
        at.or_else(on).or_else(|| ago(text).map(Self::Ago)).ok_or_else(|| WRITE.to_owned())
    }

    /// The first moment that is meant.
    pub fn start(self, now: Timestamp) -> Timestamp {
        match self {
            Self::At(at) => at,
            Self::On(date) => midnight(date),
            Self::Ago(span) => now.checked_sub(span).unwrap_or(Timestamp::MIN),
        }
    }

    /// The first moment that is no longer meant: of a day the next midnight, else just after.
    pub fn end(self, now: Timestamp) -> Timestamp {
        match self {
            Self::On(date) => date.tomorrow().map_or(Timestamp::MAX, midnight),
            other => other.start(now).checked_add(SignedDuration::from_nanos(1)).unwrap_or(Timestamp::MAX),
        }
    }
}

fn ago(text: &str) -> Option<SignedDuration> {
    let unit = text.chars().last()?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => 86_400,
        'w' => 7 * 86_400,
        _ => return None,
    };
    let number: u32 = text.strip_suffix(unit)?.parse().ok()?;
    Some(SignedDuration::from_secs(i64::from(number) * seconds))
}

fn midnight(date: Date) -> Timestamp {
    date.to_zoned(TimeZone::UTC).map_or(Timestamp::MAX, |zoned| zoned.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_people_write_them() {
        let now: Timestamp = "2026-03-01T12:00:00Z".parse().expect("a time");
        let check = |text: &str, start: &str, end: &str| {
            let when = TimeBound::parse(text).expect("a time");
            assert_eq!((when.start(now).to_string(), when.end(now).to_string()), (start.into(), end.into()));
        };
        let just = |start: &str| start.replace('Z', ".000000001Z");
        for (text, start) in [
            ("2026-01-31T12:00:00Z", "2026-01-31T12:00:00Z"),
            ("2026-01-31T12:00:00+02:00", "2026-01-31T10:00:00Z"),
            ("0s", "2026-03-01T12:00:00Z"),
            ("90m", "2026-03-01T10:30:00Z"),
            ("2h", "2026-03-01T10:00:00Z"),
            ("1d", "2026-02-28T12:00:00Z"),
            ("1w", "2026-02-22T12:00:00Z"),
        ] {
            check(text, start, &just(start));
        }
        check("2026-01-31", "2026-01-31T00:00:00Z", "2026-02-01T00:00:00Z");
    }

    #[test]
    fn what_is_no_time_is_told_what_to_write() {
        for text in
            ["", "yesterday", "2h30", "-2h", "h", "2026", "2026-13-01", "2026-01-31T12:00:00", "2 h", "1y"]
        {
            assert!(TimeBound::parse(text).is_err_and(|why| why.contains("2026-01-31T12:00:00Z")), "{text}");
        }
        // More than any clock can say is as long ago as can be.
        let when = TimeBound::parse("4294967295w").expect("a span");
        assert_eq!(when.start(Timestamp::UNIX_EPOCH), Timestamp::MIN);
    }
}
