//! JSON into values of a shape. The schema has been checked before; what it cannot say is refused
//! here, with the place.

use super::{Datum, FunctionShape, Shape, Width, snake};
use crate::json::Whole;
use crate::text::one_line;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

impl FunctionShape {
    /// The parameters for these arguments, in order.
    ///
    /// # Errors
    /// The argument that is none of its shape, and where in it, and what it is not.
    pub fn parameters(&self, arguments: &Value) -> Result<Vec<Datum>, String> {
        fields(&self.parameters, arguments, "the arguments")
    }
}

impl Shape {
    /// The value of this shape that `json` stands for; `place` names it where it is none.
    pub(super) fn read(&self, json: &Value, place: &str) -> Result<Datum, String> {
        let unfit = |problem: &str| describe_mismatch(place, problem);
        let text = || json.as_str().ok_or_else(|| unfit("is no text"));
        Ok(match self {
            Self::Bool => Datum::Bool(json.as_bool().ok_or_else(|| unfit("is neither true nor false"))?),
            Self::Integer(width) => Datum::Integer(to_integer(*width, json).map_err(unfit)?),
            Self::Float32 => {
                let float = json.as_f64().ok_or_else(|| unfit("is no number"))? as f32;
                Datum::Float32(Some(float).filter(|f| f.is_finite()).ok_or_else(|| unfit("is too large"))?)
            }
            Self::Float64 => {
                let float = json.as_f64().filter(|f| f.is_finite());
                Datum::Float64(float.ok_or_else(|| unfit("is no number"))?)
            }
            Self::Char => {
                let mut chars = text()?.chars();
                match (chars.next(), chars.next()) {
                    (Some(char), None) => Datum::Char(char),
                    _ => return Err(unfit("is not one character")),
                }
            }
            Self::String => Datum::String(text()?.to_owned()),
            Self::Bytes => Datum::Bytes(STANDARD.decode(text()?).map_err(|_| unfit("is no base64"))?),
            Self::List(item) => Datum::List(items(json, place, |_| Some(item))?),
            Self::Record(shapes) => Datum::Record(fields(shapes, json, place)?),
            Self::Tuple(shapes) => {
                let read = items(json, place, |index| shapes.get(index))?;
                match read.len() == shapes.len() {
                    true => Datum::Tuple(read),
                    false => return Err(unfit("has another number of items than its type")),
                }
            }
            Self::Variant(cases) => {
                let (name, value) = single_entry(json).ok_or_else(|| unfit("is no object with one case"))?;
                let index = cases.iter().position(|(case, _)| snake(case) == *name);
                let index = index.ok_or_else(|| unfit("has a case that its type does not have"))?;
                Datum::Variant(index, payload(cases[index].1.as_ref(), value, &join_place(place, name))?)
            }
            Self::Enum(names) => {
                let found = names.iter().position(|name| Some(snake(name).as_str()) == json.as_str());
                Datum::Enum(found.ok_or_else(|| unfit("is none of its type's names"))?)
            }
            Self::Option(_) if json.is_null() => Datum::Option(None),
            Self::Option(inner) => Datum::Option(Some(Box::new(inner.read(json, place)?))),
            Self::Result(ok, err) => match single_entry(json) {
                Some((name, value)) if name == "ok" => {
                    Datum::Result(Ok(payload(ok.as_deref(), value, &join_place(place, name))?))
                }
                Some((name, value)) if name == "err" => {
                    Datum::Result(Err(payload(err.as_deref(), value, &join_place(place, name))?))
                }
                _ => return Err(unfit("is no object with ok or err")),
            },
            Self::Flags(names) => {
                let given = json.as_array().ok_or_else(|| unfit("is no list"))?;
                let mut set = Vec::new();
                for flag in given {
                    let found = names.iter().position(|name| Some(snake(name).as_str()) == flag.as_str());
                    set.push(found.ok_or_else(|| unfit("has a name that its type does not have"))?);
                }
                set.sort_unstable();
                set.dedup();
                Datum::Flags(set)
            }
        })
    }
}

/// A whole number: of wide ones also as a decimal string. A double that is whole is one, too,
/// unless it may have been rounded.
fn to_integer(width: Width, json: &Value) -> Result<i128, &'static str> {
    let whole = match json {
        Value::String(text) => {
            let digits = text.strip_prefix('-').unwrap_or(text);
            let decimal = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
            (width.is_wide() && decimal).then(|| text.parse().ok()).flatten()
        }
        Value::Number(number) => match Whole::from_number(number) {
            Whole::Exact(whole) => Some(whole),
            Whole::Rounded => return Err(rounded_problem(width)),
            Whole::Fraction => None,
        },
        _ => None,
    };
    let whole = whole.ok_or("is no whole number")?;
    let (least, most) = width.range();
    if (least..=most).contains(&whole) { Ok(whole) } else { Err(OUT_OF_RANGE) }
}

const OUT_OF_RANGE: &str = "is outside the range of its type";

fn rounded_problem(width: Width) -> &'static str {
    match width {
        Width::S64 => {
            "may have been rounded; write its digits as a text, \
             \"-9223372036854775808\" to \"9223372036854775807\""
        }
        Width::U64 => "may have been rounded; write its digits as a text, \"0\" to \"18446744073709551615\"",
        // What may have been rounded is far beyond.
        _ => OUT_OF_RANGE,
    }
}

fn items<'a>(
    json: &Value,
    place: &str,
    shape: impl Fn(usize) -> Option<&'a Shape>,
) -> Result<Vec<Datum>, String> {
    let unfit = |problem: &str| describe_mismatch(place, problem);
    let given = json.as_array().ok_or_else(|| unfit("is no list"))?;
    let read = |(index, item): (usize, &Value)| match shape(index) {
        Some(shape) => shape.read(item, &format!("{place}[{index}]")),
        None => Err(unfit("has another number of items than its type")),
    };
    given.iter().enumerate().map(read).collect()
}

fn fields(shapes: &[(String, Shape)], json: &Value, place: &str) -> Result<Vec<Datum>, String> {
    let unfit = |problem: &str| describe_mismatch(place, problem);
    let given = json.as_object().ok_or_else(|| unfit("is no object"))?;
    if given.keys().any(|key| !shapes.iter().any(|(name, _)| snake(name) == *key)) {
        return Err(unfit("has a name that its type does not have"));
    }
    let read = |(name, shape): &(String, Shape)| {
        let name = snake(name);
        match (given.get(&name), shape) {
            (None, Shape::Option(_)) => Ok(Datum::Option(None)),
            (None, _) => Err(describe_mismatch(&join_place(place, &name), "is missing")),
            (Some(value), shape) => shape.read(value, &join_place(place, &name)),
        }
    };
    shapes.iter().map(read).collect()
}

fn payload(shape: Option<&Shape>, value: &Value, place: &str) -> Result<Option<Box<Datum>>, String> {
    match shape {
        Some(shape) => Ok(Some(Box::new(shape.read(value, place)?))),
        None if value.is_null() => Ok(None),
        None => Err(describe_mismatch(place, "has no payload; write null")),
    }
}

/// What is wrong with a JSON value that is none of its shape.
fn describe_mismatch(place: &str, problem: &str) -> String {
    format!("{} {problem}", one_line(place, 200))
}

fn single_entry(json: &Value) -> Option<(&String, &Value)> {
    let object: &Map<String, Value> = json.as_object()?;
    object.iter().next().filter(|_| object.len() == 1)
}

fn join_place(place: &str, name: &str) -> String {
    if place == "the arguments" { name.to_owned() } else { format!("{place}.{name}") }
}
