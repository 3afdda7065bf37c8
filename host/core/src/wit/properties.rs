//! Any value of any shape goes through JSON and comes back, and its schema takes the JSON.

use super::*;
use crate::json::parse_strict;
use crate::schema::Schema;
use proptest::prelude::*;

fn width() -> impl Strategy<Value = Width> {
    use Width::*;
    prop::sample::select(vec![S8, U8, S16, U16, S32, U32, S64, U64])
}

fn names() -> impl Strategy<Value = Vec<String>> {
    let all = ["a", "b-c", "dark-red", "x1", "HTTP-code"].map(str::to_owned).to_vec();
    prop::sample::subsequence(all, 1..5)
}

fn shape() -> impl Strategy<Value = Shape> {
    let leaf = prop_oneof![
        Just(Shape::Bool),
        width().prop_map(Shape::Integer),
        Just(Shape::Float32),
        Just(Shape::Float64),
        Just(Shape::Char),
        Just(Shape::String),
        Just(Shape::Bytes),
        names().prop_map(Shape::Enum),
        names().prop_map(Shape::Flags),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let several = |inner: BoxedStrategy<Shape>| {
            names().prop_flat_map(move |names| {
                prop::collection::vec(inner.clone(), names.len())
                    .prop_map(move |shapes| names.iter().cloned().zip(shapes).collect::<Vec<_>>())
            })
        };
        let inner = inner.boxed();
        // An option of an option does not exist.
        let plain = inner.clone().prop_filter("no option", |shape| !matches!(shape, Shape::Option(_)));
        let maybe = |inner: BoxedStrategy<Shape>| prop::option::of(inner.prop_map(Box::new));
        prop_oneof![
            inner.clone().prop_map(|shape| Shape::List(Box::new(shape))),
            several(inner.clone()).prop_map(Shape::Record),
            prop::collection::vec(inner.clone(), 1..4).prop_map(Shape::Tuple),
            plain.prop_map(|shape| Shape::Option(Box::new(shape))),
            (maybe(inner.clone()), maybe(inner.clone())).prop_map(|(ok, err)| Shape::Result(ok, err)),
            several(inner).prop_map(|cases| {
                let case = |(at, (name, shape)): (usize, (String, Shape))| (name, (at > 0).then_some(shape));
                Shape::Variant(cases.into_iter().enumerate().map(case).collect())
            }),
        ]
    })
}

/// A value of the shape; `choices` decides where there are several.
fn value(shape: &Shape, choices: &mut u64) -> Datum {
    let mut next = |count: usize| {
        *choices = choices.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(*choices >> 33).expect("31 bits") % count
    };
    match shape {
        Shape::Bool => Datum::Bool(next(2) == 0),
        Shape::Integer(width) => {
            let (least, most) = width.range();
            let one =
                [least, most, 0.max(least), least / 2, most / 3, (1 << 53).min(most), (1 << 53) + 1][next(7)];
            Datum::Integer(one.clamp(least, most))
        }
        Shape::Float32 => {
            Datum::Float32([0.0, 0.1, f32::MAX, f32::MIN_POSITIVE, -1e-40, 16_777_217.0][next(6)])
        }
        Shape::Float64 => Datum::Float64([0.0, 0.1, f64::MAX, f64::MIN_POSITIVE, -5e-324, 1e300][next(6)]),
        Shape::Char => Datum::Char(['a', '\0', '"', '\u{10FFFF}', '\u{202E}'][next(5)]),
        Shape::String => Datum::String(["", "x", "\"\\\n\0", "ü\u{1F600}"][next(4)].into()),
        Shape::Bytes => Datum::Bytes(vec![u8::try_from(next(256)).expect("a byte"); next(5)]),
        Shape::List(item) => {
            let count = next(3);
            Datum::List((0..count).map(|_| value(item, choices)).collect())
        }
        Shape::Record(fields) => {
            Datum::Record(fields.iter().map(|(_, shape)| value(shape, choices)).collect())
        }
        Shape::Tuple(fields) => Datum::Tuple(fields.iter().map(|shape| value(shape, choices)).collect()),
        Shape::Variant(cases) => {
            let index = next(cases.len());
            Datum::Variant(index, cases[index].1.as_ref().map(|shape| Box::new(value(shape, choices))))
        }
        Shape::Enum(names) => Datum::Enum(next(names.len())),
        Shape::Option(inner) => Datum::Option((next(2) == 0).then(|| Box::new(value(inner, choices)))),
        Shape::Result(ok, err) => {
            let side = next(2) == 0;
            let payload = |shape: &Option<Box<Shape>>, choices: &mut u64| {
                shape.as_ref().map(|shape| Box::new(value(shape, choices)))
            };
            Datum::Result(if side { Ok(payload(ok, choices)) } else { Err(payload(err, choices)) })
        }
        Shape::Flags(names) => Datum::Flags((0..names.len()).filter(|_| next(2) == 0).collect()),
    }
}

proptest! {
    #[test]
    fn every_value_comes_back(shape in shape(), mut choices in any::<u64>()) {
        let datum = value(&shape, &mut choices);
        let function = FunctionShape { parameters: vec![("p".into(), shape.clone())], result: Some(shape.clone()) };
        // As it is on the wire.
        let text = shape.write(&datum).expect("JSON can hold it").to_string();
        let arguments = serde_json::json!({ "p": parse_strict(&text).expect("JSON") });
        prop_assert_eq!(function.parameters(&arguments), Ok(vec![datum.clone()]));
        let schema = Schema::compile(&function.arguments_schema()).expect("a schema");
        prop_assert!(schema.check(&arguments, 1_000_000).is_ok(), "{} {}", arguments, function.arguments_schema());
        if !matches!(shape, Shape::Result(..)) {
            let result = function.result(Some(&datum)).expect("JSON can hold it");
            let schema = Schema::compile(&function.result_schema()).expect("a schema");
            prop_assert!(schema.check(&result, 1_000_000).is_ok(), "{} {}", result, function.result_schema());
        }
    }
}
