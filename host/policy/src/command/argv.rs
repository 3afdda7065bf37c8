//! The arguments of one run of a command, from those of the call: whole elements, and none that the
//! command would take for an option unless the policy's author has made room for it.

use super::Element;
use crate::judge::{Cause, Denial};
use cofferdam_core::json::Whole;
use cofferdam_core::text::one_line;
use cofferdam_core::tool::ErrorCode;
use serde_json::{Map, Value};

/// The elements for these arguments.
///
/// # Errors
/// A value that begins with `-` where the command would take it for an option, that has NUL, that
/// is a whole number that may have been rounded, or that is no text, number or boolean.
pub(super) fn argv(elements: &[Element], arguments: &Map<String, Value>) -> Result<Vec<String>, Denial> {
    let mut run = Argv::default();
    elements.iter().try_for_each(|element| run.push(element, arguments))?;
    Ok(run.elements)
}

/// An argument as a command is given it: none of a list or an object, and of one that is null.
///
/// # Errors
/// A whole number that may have been rounded: the command would get another one than was written.
pub(super) fn text(name: &str, value: &Value) -> Result<Option<String>, Denial> {
    Ok(match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(bool) => Some(bool.to_string()),
        // Also of one that is written as `1e2`, which few commands take for a number.
        Value::Number(number) => Some(match Whole::from_number(number) {
            Whole::Exact(whole) => whole.to_string(),
            Whole::Fraction => number.to_string(),
            Whole::Rounded => {
                let said =
                    "is a whole number that may have been rounded; write at most 64 bits, in digits alone";
                return Err(argument_denial(name, said));
            }
        }),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    })
}

#[derive(Default)]
struct Argv {
    elements: Vec<String>,
    /// Whether a literal `--` stands before, which is nobody's value.
    options_ended: bool,
    /// Whether the element before is a literal that begins with `-`, whose value comes next.
    takes_value: bool,
    /// Whether such a literal was given no value: the command takes what comes next for it,
    /// whatever that is.
    lacks_value: bool,
}

impl Argv {
    fn push(&mut self, element: &Element, arguments: &Map<String, Value>) -> Result<(), Denial> {
        let before = self.elements.len();
        let takes_value = std::mem::take(&mut self.takes_value);
        let given = |name: &str| arguments.get(name).filter(|value| !value.is_null());
        match element {
            Element::Literal(text) => {
                // The first is the command's own name.
                let is_option = text.starts_with('-') && before > 0 && !self.lacks_value;
                self.options_ended |= is_option && text == "--";
                self.takes_value = is_option;
                self.elements.push(text.clone());
            }
            Element::Flag { flag, when } => {
                if given(when) == Some(&Value::Bool(true)) {
                    self.elements.push(flag.clone());
                }
            }
            Element::Option { option, from } => {
                let Some(value) = given(from) else { return Ok(()) };
                if option.starts_with("--") {
                    self.elements.push(format!("{option}={}", argument_text(from, value)?));
                } else {
                    let is_option = !self.lacks_value;
                    self.elements.push(option.clone());
                    self.value(from, value, is_option)?;
                }
            }
            Element::From { from } => {
                if let Some(value) = given(from) {
                    self.value(from, value, takes_value)?;
                }
            }
            Element::Each { each } => {
                let values = given(each).unwrap_or(&Value::Null);
                let values = match values {
                    Value::Array(values) => values.as_slice(),
                    Value::Null => &[],
                    _ => return Err(argument_denial(each, "is no list")),
                };
                for (index, value) in values.iter().enumerate() {
                    self.value(each, value, takes_value && index == 0)?;
                }
            }
        }
        let is_value = matches!(element, Element::From { .. } | Element::Each { .. });
        self.lacks_value = self.elements.len() == before && (self.lacks_value || is_value && takes_value);
        Ok(())
    }

    fn value(&mut self, name: &str, value: &Value, takes_value: bool) -> Result<(), Denial> {
        let text = argument_text(name, value)?;
        if text.starts_with('-') && !takes_value && !self.options_ended {
            let said =
                "begins with \"-\", which the command would take for an option; give one that does not";
            return Err(argument_denial(name, said));
        }
        self.elements.push(text);
        Ok(())
    }
}

fn argument_text(name: &str, value: &Value) -> Result<String, Denial> {
    let text = text(name, value)?;
    let text = text.ok_or_else(|| argument_denial(name, "is no text, number or boolean"))?;
    if text.contains('\0') {
        return Err(argument_denial(name, "has a NUL character; give one without it"));
    }
    Ok(text)
}

fn argument_denial(name: &str, said: &str) -> Denial {
    Denial {
        code: ErrorCode::InvalidArguments,
        reason: format!("argument {:?} {said}", one_line(name, 80)),
        cause: Cause::NoCommandArgument(name.to_owned()),
    }
}

#[cfg(test)]
mod tests;
