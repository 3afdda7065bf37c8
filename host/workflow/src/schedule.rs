//! Times of a schedule: minute, hour, day of the month, month, day of the week, in UTC.

use crate::problem::quote;

const FIELDS: [(&str, u32, u32); 5] = [
    ("minute", 0, 59),
    ("hour", 0, 23),
    ("day of the month", 1, 31),
    ("month", 1, 12),
    ("day of the week", 0, 7),
];

/// Days of each month, in leap years.
const MONTH_DAYS: [u32; 12] = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/// Whether a text is a schedule: five fields of numbers, ranges, lists and steps, for days that
/// there are.
pub(crate) fn check(text: &str) -> Result<(), String> {
    let fields: Vec<&str> = text.split_ascii_whitespace().collect();
    if fields.len() != FIELDS.len() {
        return Err(format!(
            "{} has {} fields; write minute, hour, day of the month, month and day of the week, e.g. \"30 7 * * 1-5\"",
            quote(text),
            fields.len()
        ));
    }
    for (field, (name, low, high)) in fields.iter().zip(FIELDS) {
        let is_sound = field.split(',').all(|part| read_part(part, low, high).is_some());
        if !is_sound {
            return Err(format!(
                "{} is no {name}; write *, a number from {low} to {high}, a range such as {low}-{high}, a list, or a step such as */2",
                quote(field)
            ));
        }
    }
    let [.., day, month, weekday] = fields[..] else { return Ok(()) };
    let has_day = |(month_number, days): (u32, u32)| {
        matches_field(month, month_number, 1, 12) && (1..=days).any(|d| matches_field(day, d, 1, 31))
    };
    // Where days of the week are named, each of them comes.
    if weekday.starts_with('*') && !(1..).zip(MONTH_DAYS).any(has_day) {
        return Err(format!(
            "{} never comes due, because no month that it names has such a day; write e.g. \"0 0 28 2 *\"",
            quote(text)
        ));
    }
    Ok(())
}

const MINUTE_MS: i64 = 60_000;
/// Times of a schedule are looked for this far back: who was away for longer makes up one of the
/// last year.
const LOOK_BACK_MINUTES: i64 = 366 * 24 * 60;

/// The latest time of a schedule after `after` and up to `until`, in milliseconds since 1970 UTC.
pub fn latest(schedule: &str, after: i64, until: i64) -> Option<i64> {
    let fields: Vec<&str> = schedule.split_ascii_whitespace().collect();
    let [minute, hour, day, month, weekday] = fields[..] else { return None };
    let last = until.div_euclid(MINUTE_MS);
    let first = after.div_euclid(MINUTE_MS).max(last - LOOK_BACK_MINUTES) + 1;
    let is_day = |days: i64| {
        let (m, d) = month_and_day(days);
        let w = u32::try_from((days + 4).rem_euclid(7)).unwrap_or(0);
        let is_weekday = matches_field(weekday, w, 0, 7) || (w == 0 && matches_field(weekday, 7, 0, 7));
        let is_day = matches_field(day, d, 1, 31);
        // As cron has it: where both are limited, either will do.
        let fits = match (day.starts_with('*'), weekday.starts_with('*')) {
            (false, false) => is_day || is_weekday,
            _ => is_day && is_weekday,
        };
        fits && matches_field(month, m, 1, 12)
    };
    let mut at = last;
    while at >= first {
        let (days, of_day) = (at.div_euclid(1440), at.rem_euclid(1440));
        if !is_day(days) {
            at = days * 1440 - 1;
            continue;
        }
        let (h, m) = (u32::try_from(of_day / 60).unwrap_or(0), u32::try_from(of_day % 60).unwrap_or(0));
        if matches_field(hour, h, 0, 23) && matches_field(minute, m, 0, 59) {
            return Some(at * MINUTE_MS);
        }
        at -= 1;
    }
    None
}

/// Whether a number is one of a field's.
fn matches_field(field: &str, number: u32, low: u32, high: u32) -> bool {
    let mut parts = field.split(',').filter_map(|part| read_part(part, low, high));
    parts.any(|(from, to, step)| (from..=to).contains(&number) && (number - from).is_multiple_of(step))
}

/// Month and day of the month of a day since 1970, by the Gregorian calendar.
fn month_and_day(days: i64) -> (u32, u32) {
    // Years begin in March, so that the leap day is a year's last.
    let shifted = days + 719_468;
    let of_era = shifted.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (u32::try_from(month).unwrap_or(0), u32::try_from(day).unwrap_or(0))
}

/// The first and the last number of a part of a field, and the step between its numbers.
fn read_part(part: &str, low: u32, high: u32) -> Option<(u32, u32, u32)> {
    let (range, step) = part.split_once('/').map_or((part, None), |(range, step)| (range, Some(step)));
    let number = |text: &str| {
        let plain = (1..=2).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
        text.parse::<u32>().ok().filter(|n| plain && (low..=high).contains(n))
    };
    let (from, to) = match range.split_once('-') {
        Some((from, to)) => (number(from)?, number(to)?),
        None if range == "*" => (low, high),
        // A step without a range goes on to the end.
        None if step.is_some() => (number(range)?, high),
        None => (number(range)?, number(range)?),
    };
    let step = match step {
        Some(step) => step.parse::<u32>().ok().filter(|n| step.len() <= 2 && (1..=high).contains(n))?,
        None => 1,
    };
    (from <= to).then_some((from, to, step))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Milliseconds of a time of UTC, by the number of its day since 1970.
    fn at(day: i64, hour: i64, minute: i64) -> i64 {
        ((day * 24 + hour) * 60 + minute) * MINUTE_MS
    }

    #[test]
    fn a_day_that_no_month_has_is_refused() {
        for schedule in ["0 0 30 2 *", "0 0 31 4 *", "0 0 31 4,6,9,11 *", "0 0 30-31 2 */2"] {
            let problem = check(schedule).expect_err("refused");
            assert!(problem.contains("never comes due"), "{problem}");
        }
        for schedule in
            ["0 0 29 2 *", "0 0 31 4,5 *", "0 0 31 * *", "0 0 30 2 1", "0 0 */31 2 *", "0 0 * 2 *"]
        {
            assert_eq!(check(schedule), Ok(()), "{schedule}");
        }
    }

    #[test]
    fn days_are_told_by_the_calendar() {
        for (days, expected) in [
            (0, (1, 1)),
            (58, (2, 28)),
            (59, (3, 1)),
            (11_016, (2, 29)),
            (11_017, (3, 1)),
            (20_780, (11, 23)),
        ] {
            assert_eq!(month_and_day(days), expected, "{days}");
        }
    }

    #[test]
    fn the_latest_time_of_a_schedule_is_found() {
        // The 23rd of November 2026 is a Monday.
        let monday = 20_780;
        let noon = at(monday, 12, 0);
        for (schedule, after, until, expected) in [
            ("* * * * *", noon - 1, noon, Some(noon)),
            ("* * * * *", noon, noon, None),
            ("* * * * *", noon, noon + 59_999, None),
            ("30 7 * * 1-5", at(monday - 7, 0, 0), noon, Some(at(monday, 7, 30))),
            ("30 7 * * 1-5", at(monday - 7, 0, 0), at(monday, 7, 29), Some(at(monday - 3, 7, 30))),
            ("30 7 * * 1-5", at(monday, 7, 30), noon, None),
            ("0 0 * * 7", at(monday - 9, 0, 0), noon, Some(at(monday - 1, 0, 0))),
            ("*/20 6,9-10 * * *", at(monday, 0, 0), noon, Some(at(monday, 10, 40))),
            ("0 0 1 * 1", at(monday - 30, 0, 0), at(monday - 1, 0, 0), Some(at(monday - 7, 0, 0))),
            ("0 0 29 2 *", at(monday - 366, 0, 0), noon, None),
            ("0 0 31 12 *", 0, noon, Some(at(20_453, 0, 0))),
        ] {
            assert_eq!(latest(schedule, after, until), expected, "{schedule} {after} {until}");
        }
    }
}
