//! Functions of an interface that nobody made for this gateway: every type that JSON can hold, and
//! some that it cannot.
#![cfg_attr(
    target_family = "wasm",
    allow(unsafe_code, unreachable_pub, missing_docs, reason = "generated code")
)]

#[cfg(target_family = "wasm")]
mod guest {
    wit_bindgen::generate!({
        inline: "
            package acme:demo@1.2.0;
            interface math {
                enum color { dark-red, blue }
                flags style { bold, under-lined }
                record point { x: s8, y: u16, label: option<string> }
                variant shape { nothing, circle(f64), corner(point) }
                record all {
                    where: point, shape: shape, color: color, styles: style, pairs: list<tuple<string, u32>>,
                    bytes: list<u8>, big: u64, low: s64, letter: char, ratio: f32, maybe: option<string>,
                    outcome: result<string, color>,
                }
                echo: func(all: all) -> all;
                paint: func(shape: shape, color: color) -> string;
                divide: func(a: f64, b: f64) -> f64;
                check: func(number: u32) -> result<_, point>;
                rest: func();
                crash: func();
                echo-bytes: func(bytes: list<u8>) -> list<u8>;
                twice: func(doubt: option<option<u8>>);
                resource thing { constructor(); }
                hold: func(thing: borrow<thing>);
                give: func() -> thing;
            }
            world guest {
                export math;
                export read-file: func(path: string) -> result<string, string>;
            }
        ",
        generate_all,
    });

    use exports::acme::demo::math::{All, Color, Guest as Math, GuestThing, Point, Shape, ThingBorrow};

    struct Functions;

    struct Thing;

    impl GuestThing for Thing {
        fn new() -> Self {
            Self
        }
    }

    impl Math for Functions {
        type Thing = Thing;

        fn echo(all: All) -> All {
            all
        }

        fn paint(shape: Shape, color: Color) -> String {
            format!("{shape:?} {color:?}")
        }

        fn divide(a: f64, b: f64) -> f64 {
            a / b
        }

        fn check(number: u32) -> Result<(), Point> {
            if number == 7 { Err(Point { x: 7, y: 7, label: Some("seven".into()) }) } else { Ok(()) }
        }

        fn rest() {}

        fn crash() {
            panic!("a bug in the function");
        }

        fn echo_bytes(bytes: Vec<u8>) -> Vec<u8> {
            bytes
        }

        fn twice(_: Option<Option<u8>>) {}

        fn hold(_: ThingBorrow<'_>) {}

        fn give() -> exports::acme::demo::math::Thing {
            exports::acme::demo::math::Thing::new(Thing)
        }
    }

    impl Guest for Functions {
        fn read_file(path: String) -> Result<String, String> {
            std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))
        }
    }

    export!(Functions);
}
