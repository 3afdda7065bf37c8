//! Values of other people's functions: any JSON is taken or refused for any type, and what is taken
//! comes back as it was.
//!
//! The bytes are a shape, a NUL, and JSON.

use crate::assert_plain;
use cofferdam_core::json::parse_strict;
use cofferdam_core::schema::Schema;
use cofferdam_core::wit::{FunctionShape, Shape, Width};
use serde_json::json;

/// Shapes within each other.
const DEPTH_MAX: usize = 6;

/// Reads JSON as a value of a shape and writes it again; holds both to what they promise.
pub fn wit_values(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Some((spelled, text)) = text.split_once('\0') else { return };
    let Ok(value) = parse_strict(text) else { return };
    let shape = shape(&mut spelled.bytes(), 0);
    let of = |shape: &Shape| FunctionShape {
        parameters: vec![("the-one".into(), shape.clone())],
        result: Some(Shape::Record(vec![("the-one".into(), shape.clone())])),
    };
    let function = of(&shape);
    let arguments = json!({ "the_one": value });
    let schema = Schema::compile(&function.arguments_schema()).expect("a schema of a shape");
    let fits = schema.check(&arguments, 10_000_000).is_ok();
    let datums = match function.parameters(&arguments) {
        Ok(datums) => datums,
        Err(unfit) => return assert_plain(&unfit),
    };
    // The schema may refuse more (a flag twice), and never takes what has no value but by its
    // words.
    let record = cofferdam_core::wit::Datum::Record(datums.clone());
    match function.result(Some(&record)) {
        Ok(again) => {
            assert_eq!(function.parameters(&again), Ok(datums), "{arguments} comes back as {again}");
            assert!(schema.check(&again, 10_000_000).is_ok(), "{again}");
        }
        Err(why) => panic!("{arguments} is taken, and {why} ({fits})"),
    }
}

/// A shape by one letter each, as far as there are letters.
fn shape(letters: &mut impl Iterator<Item = u8>, depth: usize) -> Shape {
    let letter = if depth > DEPTH_MAX { b'b' } else { letters.next().unwrap_or(b's') };
    let mut inner = || shape(letters, depth + 1);
    let names = || vec!["a-b".to_owned(), "c".to_owned()];
    match letter {
        b'b' => Shape::Bool,
        b'0' => Shape::Integer(Width::S8),
        b'1' => Shape::Integer(Width::U16),
        b'2' => Shape::Integer(Width::S32),
        b'3' => Shape::Integer(Width::U64),
        b'4' => Shape::Integer(Width::S64),
        b'f' => Shape::Float32,
        b'd' => Shape::Float64,
        b'c' => Shape::Char,
        b'y' => Shape::Bytes,
        b'l' => Shape::List(Box::new(inner())),
        b'r' => Shape::Record(vec![("a-b".into(), inner()), ("c".into(), inner())]),
        b't' => Shape::Tuple(vec![inner(), inner()]),
        b'v' => Shape::Variant(vec![("a-b".into(), None), ("c".into(), Some(inner()))]),
        b'e' => Shape::Enum(names()),
        b'g' => Shape::Flags(names()),
        b'o' => match inner() {
            Shape::Option(inner) => Shape::Option(inner),
            inner => Shape::Option(Box::new(inner)),
        },
        b'x' => Shape::Result(Some(Box::new(inner())), None),
        _ => Shape::String,
    }
}
