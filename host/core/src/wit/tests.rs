//! The mapping case by case, refusals first.

use super::*;
use serde_json::{Value, json};

fn named(shape: Shape) -> FunctionShape {
    FunctionShape { parameters: vec![("the-one".into(), shape)], result: None }
}

#[track_caller]
fn refused(shape: Shape, value: Value, says: &str) {
    let unfit = named(shape).parameters(&json!({ "the_one": value })).expect_err("refused");
    assert!(unfit.contains(says), "{value}: {unfit}");
    assert!(unfit.starts_with("the_one"), "{unfit}");
}

#[track_caller]
fn both_ways(shape: Shape, value: Value, datum: Datum) {
    let read = named(shape.clone()).parameters(&json!({ "the_one": value })).expect("fits");
    assert_eq!(read, std::slice::from_ref(&datum));
    assert_eq!(shape.write(&datum), Ok(value));
}

fn text(text: &str) -> Datum {
    Datum::String(text.into())
}

#[test]
fn what_is_not_of_its_type_is_refused() {
    use Width::*;
    for (width, least, most) in [(S8, -128, 127), (U8, 0, 255), (S16, -32768, 32767), (U16, 0, 65535)] {
        refused(Shape::Integer(width), json!(least - 1), "outside the range");
        refused(Shape::Integer(width), json!(most + 1), "outside the range");
        both_ways(Shape::Integer(width), json!(least), Datum::Integer(least.into()));
        both_ways(Shape::Integer(width), json!(most), Datum::Integer(most.into()));
    }
    refused(Shape::Integer(U32), json!("5"), "no whole number");
    refused(Shape::Integer(U32), json!(1.5), "no whole number");
    refused(Shape::Integer(U64), json!(-1), "outside the range");
    refused(Shape::Integer(U64), json!("18446744073709551616"), "outside the range");
    refused(Shape::Integer(S64), json!("-9223372036854775809"), "outside the range");
    for no_number in ["", "-", "+1", " 1", "1e3", "0x1", "1.0", &"9".repeat(60)] {
        refused(Shape::Integer(S64), json!(no_number), "no whole number");
    }
    let read = |text: &str| crate::json::parse_strict(text).expect("JSON");
    for rounded in ["-9223372036854775809", "9007199254740993.0", "1e18"] {
        refused(Shape::Integer(S64), read(rounded), "as a text, \"-9223372036854775808\" to");
    }
    for rounded in ["18446744073709551616", "9007199254740993.0"] {
        refused(Shape::Integer(U64), read(rounded), "as a text, \"0\" to \"18446744073709551615\"");
        refused(Shape::Integer(U32), read(rounded), "outside the range");
    }
    refused(Shape::Float32, json!(1e39), "too large");
    refused(Shape::Float64, json!("NaN"), "no number");
    for no_char in ["", "ab", "e\u{301}"] {
        refused(Shape::Char, json!(no_char), "not one character");
    }
    for no_base64 in ["a", "YQ", "YQ=", "Y Q==", "YQ==\n", "-_8="] {
        refused(Shape::Bytes, json!(no_base64), "no base64");
    }
    let names = vec!["dark-red".to_owned(), "blue".to_owned()];
    refused(Shape::Enum(names.clone()), json!("dark-red"), "none of its type's names");
    refused(Shape::Flags(names), json!(["green"]), "does not have");
    let cases = vec![("none".to_owned(), None), ("some".to_owned(), Some(Shape::String))];
    for none in [json!("none"), json!({}), json!({ "none": null, "some": "x" })] {
        refused(Shape::Variant(cases.clone()), none, "no object with one case");
    }
    refused(Shape::Variant(cases.clone()), json!({ "other": null }), "does not have");
    refused(Shape::Variant(cases), json!({ "none": "x" }), "write null");
    refused(Shape::Tuple(vec![Shape::Bool]), json!([]), "another number of items");
    refused(Shape::Tuple(vec![Shape::Bool]), json!([true, true]), "another number of items");
    let record = Shape::Record(vec![("a-b".into(), Shape::Bool)]);
    refused(record.clone(), json!({}), "the_one.a_b is missing");
    refused(record.clone(), json!({ "a_b": true, "c": 1 }), "does not have");
    refused(Shape::List(Box::new(record)), json!([{ "a_b": 1 }]), "the_one[0].a_b is neither");
}

#[test]
fn values_go_both_ways() {
    use Width::{S64, U64};
    both_ways(Shape::Integer(S64), json!(-(1_i64 << 53)), Datum::Integer(-(1 << 53)));
    both_ways(Shape::Integer(U64), json!("18446744073709551615"), Datum::Integer(u64::MAX.into()));
    both_ways(Shape::Integer(S64), json!("-9007199254740993"), Datum::Integer(-9_007_199_254_740_993));
    both_ways(Shape::Float32, json!(0.1), Datum::Float32(0.1));
    both_ways(Shape::Float64, json!(0.1), Datum::Float64(0.1));
    both_ways(Shape::Char, json!("\u{1F600}"), Datum::Char('\u{1F600}'));
    both_ways(Shape::Bytes, json!("/wA="), Datum::Bytes(vec![255, 0]));
    let names = vec!["dark-red".to_owned(), "blue".to_owned()];
    both_ways(Shape::Enum(names.clone()), json!("dark_red"), Datum::Enum(0));
    both_ways(Shape::Flags(names.clone()), json!(["dark_red", "blue"]), Datum::Flags(vec![0, 1]));
    let cases = vec![("no-thing".to_owned(), None), ("some".to_owned(), Some(Shape::String))];
    both_ways(Shape::Variant(cases.clone()), json!({ "no_thing": null }), Datum::Variant(0, None));
    both_ways(Shape::Variant(cases), json!({ "some": "x" }), Datum::Variant(1, Some(Box::new(text("x")))));
    let pair = Shape::Tuple(vec![Shape::String, Shape::Bool]);
    both_ways(pair, json!(["x", true]), Datum::Tuple(vec![text("x"), Datum::Bool(true)]));
    let either = Shape::Result(Some(Box::new(Shape::Bool)), None);
    both_ways(either.clone(), json!({ "err": null }), Datum::Result(Err(None)));
    both_ways(either, json!({ "ok": true }), Datum::Result(Ok(Some(Box::new(Datum::Bool(true))))));
    // An option that is absent, and a whole number as a double.
    let maybe = named(Shape::Option(Box::new(Shape::Bool)));
    assert_eq!(maybe.parameters(&json!({})), Ok(vec![Datum::Option(None)]));
    assert_eq!(maybe.parameters(&json!({ "the_one": null })), Ok(vec![Datum::Option(None)]));
    let whole = named(Shape::Integer(S64)).parameters(&json!({ "the_one": 1e3 }));
    assert_eq!(whole, Ok(vec![Datum::Integer(1000)]));
}

#[test]
fn what_a_function_returns_becomes_a_result() {
    let returns = |shape: Option<Shape>| FunctionShape { parameters: Vec::new(), result: shape };
    let either = |ok: Option<Shape>, err: Option<Shape>| {
        returns(Some(Shape::Result(ok.map(Box::new), err.map(Box::new))))
    };
    let err = |error: Option<Datum>| Datum::Result(Err(error.map(Box::new)));
    let failed = |said: &str| Err(said.to_owned());
    let texts = either(Some(Shape::String), Some(Shape::String));
    assert_eq!(texts.result(Some(&err(Some(text("no such file"))))), failed("no such file"));
    let names = Shape::Enum(vec!["not-there".into()]);
    assert_eq!(either(None, Some(names)).result(Some(&err(Some(Datum::Enum(0))))), failed("\"not_there\""));
    let silent = "the function failed and did not say why";
    assert_eq!(either(None, None).result(Some(&err(None))), failed(silent));
    let no_json = failed("the function returned NaN or an infinite number, which JSON cannot hold");
    for no_number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let float = Datum::Float64(no_number);
        assert_eq!(returns(Some(Shape::Float64)).result(Some(&float)), no_json);
        let float = Datum::Float32(no_number as f32);
        assert_eq!(returns(Some(Shape::Float32)).result(Some(&float)), no_json);
    }
    let unfit = failed("the function returned what is not of its type");
    assert_eq!(returns(Some(Shape::Bool)).result(Some(&text("x"))), unfit);
    assert_eq!(returns(None).result(None), Ok(json!({})));
    assert_eq!(either(None, None).result(Some(&Datum::Result(Ok(None)))), Ok(json!({})));
    let ok = Datum::Result(Ok(Some(Box::new(text("x")))));
    assert_eq!(texts.result(Some(&ok)), Ok(json!({ "value": "x" })));
    let record = returns(Some(Shape::Record(vec![("a-b".into(), Shape::Bool)])));
    assert_eq!(record.result(Some(&Datum::Record(vec![Datum::Bool(true)]))), Ok(json!({ "a_b": true })));
}
