//! Times of a schedule: minute, hour, day of the month, month, day of the week, in UTC.

use crate::problem::quoted;

const FIELDS: [(&str, u32, u32); 5] = [
    ("minute", 0, 59),
    ("hour", 0, 23),
    ("day of the month", 1, 31),
    ("month", 1, 12),
    ("day of the week", 0, 7),
];

/// Whether a text is a schedule: five fields of numbers, ranges, lists and steps.
pub(crate) fn check(text: &str) -> Result<(), String> {
    let fields: Vec<&str> = text.split_ascii_whitespace().collect();
    if fields.len() != FIELDS.len() {
        return Err(format!(
            "{} has {} fields; write minute, hour, day of the month, month and day of the week, e.g. \"30 7 * * 1-5\"",
            quoted(text),
            fields.len()
        ));
    }
    for (field, (name, low, high)) in fields.iter().zip(FIELDS) {
        let is_sound = field.split(',').all(|part| is_part(part, low, high));
        if !is_sound {
            return Err(format!(
                "{} is no {name}; write *, a number from {low} to {high}, a range such as {low}-{high}, a list, or a step such as */2",
                quoted(field)
            ));
        }
    }
    Ok(())
}

fn is_part(part: &str, low: u32, high: u32) -> bool {
    let (range, step) = part.split_once('/').map_or((part, None), |(range, step)| (range, Some(step)));
    let number = |text: &str| {
        let plain = (1..=2).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
        text.parse::<u32>().ok().filter(|n| plain && (low..=high).contains(n))
    };
    let is_range = match range.split_once('-') {
        Some((from, to)) => matches!((number(from), number(to)), (Some(from), Some(to)) if from <= to),
        None => range == "*" || number(range).is_some(),
    };
    let is_step = |step: &str| step.len() <= 2 && step.parse::<u32>().is_ok_and(|n| (1..=high).contains(&n));
    is_range && step.is_none_or(is_step)
}
