//! Values as the engine has them.

use cofferdam_core::wit::{Datum, Shape, Width};
use wasmtime::component::Val;

/// The engine's value; none where the datum is not of the shape.
pub(super) fn val(shape: &Shape, datum: &Datum) -> Option<Val> {
    let maybe = |shape: Option<&Shape>, datum: Option<&Datum>| match (shape, datum) {
        (Some(shape), Some(datum)) => Some(Some(Box::new(val(shape, datum)?))),
        (None, None) => Some(None),
        _ => None,
    };
    Some(match (shape, datum) {
        (Shape::Bool, Datum::Bool(bool)) => Val::Bool(*bool),
        (Shape::Integer(width), Datum::Integer(whole)) => integer(*width, *whole)?,
        (Shape::Float32, Datum::Float32(float)) => Val::Float32(*float),
        (Shape::Float64, Datum::Float64(float)) => Val::Float64(*float),
        (Shape::Char, Datum::Char(char)) => Val::Char(*char),
        (Shape::String, Datum::String(text)) => Val::String(text.clone()),
        (Shape::Bytes, Datum::Bytes(bytes)) => Val::List(bytes.iter().copied().map(Val::U8).collect()),
        (Shape::List(item), Datum::List(items)) => {
            Val::List(items.iter().map(|datum| val(item, datum)).collect::<Option<_>>()?)
        }
        (Shape::Record(shapes), Datum::Record(fields)) => {
            let field =
                |((name, shape), datum): (&(String, Shape), &Datum)| Some((name.clone(), val(shape, datum)?));
            Val::Record(shapes.iter().zip(fields).map(field).collect::<Option<_>>()?)
        }
        (Shape::Tuple(shapes), Datum::Tuple(fields)) => {
            let field = |(shape, datum): (&Shape, &Datum)| val(shape, datum);
            Val::Tuple(shapes.iter().zip(fields).map(field).collect::<Option<_>>()?)
        }
        (Shape::Variant(cases), Datum::Variant(index, payload)) => {
            let (name, shape) = cases.get(*index)?;
            Val::Variant(name.clone(), maybe(shape.as_ref(), payload.as_deref())?)
        }
        (Shape::Enum(names), Datum::Enum(index)) => Val::Enum(names.get(*index)?.clone()),
        (Shape::Option(_), Datum::Option(None)) => Val::Option(None),
        (Shape::Option(shape), Datum::Option(Some(inner))) => Val::Option(Some(Box::new(val(shape, inner)?))),
        (Shape::Result(ok, _), Datum::Result(Ok(value))) => {
            Val::Result(Ok(maybe(ok.as_deref(), value.as_deref())?))
        }
        (Shape::Result(_, err), Datum::Result(Err(error))) => {
            Val::Result(Err(maybe(err.as_deref(), error.as_deref())?))
        }
        (Shape::Flags(names), Datum::Flags(set)) => {
            Val::Flags(set.iter().map(|index| names.get(*index).cloned()).collect::<Option<_>>()?)
        }
        _ => return None,
    })
}

/// What the engine's value stands for; none where it is not of the shape.
pub(super) fn datum(shape: &Shape, val: &Val) -> Option<Datum> {
    let maybe = |shape: Option<&Shape>, val: Option<&Val>| match (shape, val) {
        (Some(shape), Some(val)) => Some(Some(Box::new(datum(shape, val)?))),
        (None, None) => Some(None),
        _ => None,
    };
    let index = |names: &[String], name: &str| names.iter().position(|known| known == name);
    Some(match (shape, val) {
        (Shape::Bool, Val::Bool(bool)) => Datum::Bool(*bool),
        (Shape::Integer(_), val) => Datum::Integer(to_integer(val)?),
        (Shape::Float32, Val::Float32(float)) => Datum::Float32(*float),
        (Shape::Float64, Val::Float64(float)) => Datum::Float64(*float),
        (Shape::Char, Val::Char(char)) => Datum::Char(*char),
        (Shape::String, Val::String(text)) => Datum::String(text.clone()),
        (Shape::Bytes, Val::List(items)) => {
            let byte = |val: &Val| if let Val::U8(byte) = val { Some(*byte) } else { None };
            Datum::Bytes(items.iter().map(byte).collect::<Option<_>>()?)
        }
        (Shape::List(item), Val::List(items)) => {
            Datum::List(items.iter().map(|val| datum(item, val)).collect::<Option<_>>()?)
        }
        (Shape::Record(shapes), Val::Record(fields)) if shapes.len() == fields.len() => {
            let field = |((_, shape), (_, val)): (&(String, Shape), &(String, Val))| datum(shape, val);
            Datum::Record(shapes.iter().zip(fields).map(field).collect::<Option<_>>()?)
        }
        (Shape::Tuple(shapes), Val::Tuple(fields)) if shapes.len() == fields.len() => {
            let field = |(shape, val): (&Shape, &Val)| datum(shape, val);
            Datum::Tuple(shapes.iter().zip(fields).map(field).collect::<Option<_>>()?)
        }
        (Shape::Variant(cases), Val::Variant(name, payload)) => {
            let index = cases.iter().position(|(case, _)| case == name)?;
            Datum::Variant(index, maybe(cases[index].1.as_ref(), payload.as_deref())?)
        }
        (Shape::Enum(names), Val::Enum(name)) => Datum::Enum(index(names, name)?),
        (Shape::Option(_), Val::Option(None)) => Datum::Option(None),
        (Shape::Option(shape), Val::Option(Some(inner))) => {
            Datum::Option(Some(Box::new(datum(shape, inner)?)))
        }
        (Shape::Result(ok, _), Val::Result(Ok(value))) => {
            Datum::Result(Ok(maybe(ok.as_deref(), value.as_deref())?))
        }
        (Shape::Result(_, err), Val::Result(Err(error))) => {
            Datum::Result(Err(maybe(err.as_deref(), error.as_deref())?))
        }
        (Shape::Flags(names), Val::Flags(set)) => {
            Datum::Flags(set.iter().map(|name| index(names, name)).collect::<Option<_>>()?)
        }
        _ => return None,
    })
}

/// Whole numbers of every width, whose names are the engine's.
macro_rules! integers {
    ($($width:ident)+) => {
        fn integer(width: Width, whole: i128) -> Option<Val> {
            Some(match width { $(Width::$width => Val::$width(whole.try_into().ok()?),)+ })
        }

        fn to_integer(val: &Val) -> Option<i128> {
            Some(match val {
                $(Val::$width(n) => (*n).into(),)+
                _ => return None,
            })
        }
    };
}
integers! { S8 U8 S16 U16 S32 U32 S64 U64 }
