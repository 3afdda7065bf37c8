//! Points in time as people write them: RFC 3339, a date (UTC), or how long ago.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use std::ops::Range;

const WRITE: &str = "write e.g. 2026-01-31T12:00:00Z, the date 2026-01-31 (UTC), or 2h for two hours ago \
(s, m, h, d, w)";

/// What a text names: from the first moment that is meant to the first that is no longer, which is
/// of a day the next midnight, else just after.
///
/// # Errors
/// What to write instead.
pub fn parse_period(text: &str, now: Timestamp) -> Result<Range<Timestamp>, String> {
    // The library takes more than a date for one.
    let is_date = text.len() == "2026-01-31".len();
    if let Some(date) = text.parse::<Date>().ok().filter(|_| is_date) {
        return Ok(midnight(date)..date.tomorrow().map_or(Timestamp::MAX, midnight));
    }
    let before = |span: SignedDuration| now.checked_sub(span).unwrap_or(Timestamp::MIN);
    let start: Option<Timestamp> = text.parse().ok().or_else(|| ago(text).map(before));
    let start = start.ok_or_else(|| WRITE.to_owned())?;
    Ok(start..start.checked_add(SignedDuration::from_nanos(1)).unwrap_or(Timestamp::MAX))
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
            let period = parse_period(text, now).expect("a time");
            assert_eq!((period.start.to_string(), period.end.to_string()), (start.into(), end.into()));
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
            let refused = parse_period(text, Timestamp::UNIX_EPOCH);
            assert!(refused.is_err_and(|why| why.contains("2026-01-31T12:00:00Z")), "{text}");
        }
        // More than any clock can say is as long ago as can be.
        let period = parse_period("4294967295w", Timestamp::UNIX_EPOCH).expect("a span");
        assert_eq!(period.start, Timestamp::MIN);
    }
}
