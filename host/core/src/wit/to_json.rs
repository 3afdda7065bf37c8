//! Values of a shape into JSON: what a function returned into the result of a call.

use super::{Datum, EXACT_MAX, FunctionShape, Shape, snake};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Number, Value, json};

/// Why what a function returned is no result.
const UNFIT: &str = "the function returned what is not of its type";

impl FunctionShape {
    /// The result of a call whose function returned this: an object.
    ///
    /// # Errors
    /// What the function says where it failed: a text as it is, anything else as JSON. Or that JSON
    /// cannot hold what it returned, or that this is of another shape.
    pub fn result(&self, returned: Option<&Datum>) -> Result<Value, String> {
        let (shape, datum) = match (&self.result, returned) {
            (None, None) => return Ok(json!({})),
            (Some(Shape::Result(_, err)), Some(Datum::Result(Err(error)))) => {
                return Err(error_text(err.as_deref(), error.as_deref())?);
            }
            (Some(Shape::Result(ok, _)), Some(Datum::Result(Ok(value)))) => {
                match (ok.as_deref(), value.as_deref()) {
                    (None, None) => return Ok(json!({})),
                    (Some(shape), Some(datum)) => (shape, datum),
                    _ => return Err(UNFIT.to_owned()),
                }
            }
            (Some(shape), Some(datum)) => (shape, datum),
            _ => return Err(UNFIT.to_owned()),
        };
        let value = shape.write(datum)?;
        let is_object = matches!(shape, Shape::Record(_) | Shape::Variant(_) | Shape::Result(..));
        Ok(if is_object { value } else { json!({ "value": value }) })
    }
}

fn error_text(shape: Option<&Shape>, error: Option<&Datum>) -> Result<String, String> {
    match (shape, error) {
        (_, Some(Datum::String(text))) => Ok(text.clone()),
        (Some(shape), Some(error)) => Ok(shape.write(error)?.to_string()),
        _ => Ok("the function failed and did not say why".to_owned()),
    }
}

impl Shape {
    /// The JSON that stands for a value of this shape.
    pub(super) fn write(&self, datum: &Datum) -> Result<Value, String> {
        let float = |float: f64| {
            let said = "the function returned NaN or an infinite number, which JSON cannot hold";
            Number::from_f64(float).map(Value::Number).ok_or(said)
        };
        Ok(match (self, datum) {
            (Self::Bool, Datum::Bool(bool)) => (*bool).into(),
            (Self::Integer(_), Datum::Integer(whole)) => integer(*whole),
            // The shortest decimal that stands for these 32 bits.
            (Self::Float32, Datum::Float32(f)) => float(f.to_string().parse().unwrap_or(f64::NAN))?,
            (Self::Float64, Datum::Float64(f)) => float(*f)?,
            (Self::Char, Datum::Char(char)) => char.to_string().into(),
            (Self::String, Datum::String(text)) => text.as_str().into(),
            (Self::Bytes, Datum::Bytes(bytes)) => STANDARD.encode(bytes).into(),
            (Self::List(shape), Datum::List(items)) => {
                items.iter().map(|item| shape.write(item)).collect::<Result<Vec<_>, _>>()?.into()
            }
            (Self::Record(shapes), Datum::Record(fields)) if shapes.len() == fields.len() => {
                let field = |((name, shape), datum): (&(String, Shape), &Datum)| {
                    Ok((snake(name), shape.write(datum)?))
                };
                Value::Object(shapes.iter().zip(fields).map(field).collect::<Result<Map<_, _>, String>>()?)
            }
            (Self::Tuple(shapes), Datum::Tuple(fields)) if shapes.len() == fields.len() => {
                let field = |(shape, datum): (&Shape, &Datum)| shape.write(datum);
                shapes.iter().zip(fields).map(field).collect::<Result<Vec<_>, _>>()?.into()
            }
            (Self::Variant(cases), Datum::Variant(index, payload)) => {
                let (name, shape) = cases.get(*index).ok_or(UNFIT)?;
                case(&snake(name), shape.as_ref(), payload.as_deref())?
            }
            (Self::Enum(names), Datum::Enum(index)) => snake(names.get(*index).ok_or(UNFIT)?).into(),
            (Self::Option(_), Datum::Option(None)) => Value::Null,
            (Self::Option(shape), Datum::Option(Some(inner))) => shape.write(inner)?,
            (Self::Result(ok, _), Datum::Result(Ok(value))) => case("ok", ok.as_deref(), value.as_deref())?,
            (Self::Result(_, err), Datum::Result(Err(error))) => {
                case("err", err.as_deref(), error.as_deref())?
            }
            (Self::Flags(names), Datum::Flags(set)) => {
                let name = |index: &usize| Ok(Value::from(snake(names.get(*index).ok_or(UNFIT)?)));
                set.iter().map(name).collect::<Result<Vec<_>, String>>()?.into()
            }
            _ => return Err(UNFIT.to_owned()),
        })
    }
}

/// A number as long as every reader has the same one, else its digits.
fn integer(whole: i128) -> Value {
    match i64::try_from(whole) {
        Ok(number) if whole.abs() <= EXACT_MAX => number.into(),
        _ => whole.to_string().into(),
    }
}

fn case(name: &str, shape: Option<&Shape>, payload: Option<&Datum>) -> Result<Value, String> {
    let value = match (shape, payload) {
        (None, None) => Value::Null,
        (Some(shape), Some(payload)) => shape.write(payload)?,
        _ => return Err(UNFIT.to_owned()),
    };
    Ok(Value::Object(Map::from_iter([(name.to_owned(), value)])))
}
