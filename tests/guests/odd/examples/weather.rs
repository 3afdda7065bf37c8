//! A component in the style of wassette's examples: plain functions at the root of its world, which
//! ask for a key in `wasi:config` and for pages by `wasi:http`.
#![cfg_attr(
    target_family = "wasm",
    allow(unsafe_code, unreachable_pub, missing_docs, reason = "generated code")
)]

#[cfg(target_family = "wasm")]
mod guest {
    use http_client::{Request, send};
    use std::io::Read;

    wit_bindgen::generate!({
        inline: "
            package acme:weather@0.1.0;
            world guest {
                import wasi:config/store@0.2.0-draft;
                export get-weather: func(city: string) -> result<string, string>;
                export fetch: func(url: string) -> result<string, string>;
            }
            package wasi:config@0.2.0-draft {
                interface store {
                    variant error { upstream(string), io(string) }
                    get: func(key: string) -> result<option<string>, error>;
                    get-all: func() -> result<list<tuple<string, string>>, error>;
                }
            }
        ",
        generate_all,
    });

    struct Weather;

    impl Guest for Weather {
        fn get_weather(city: String) -> Result<String, String> {
            let key =
                wasi::config::store::get("WEATHER_KEY").map_err(|error| format!("no key: {error:?}"))?;
            Ok(format!("{city}: {key:?}"))
        }

        fn fetch(url: String) -> Result<String, String> {
            let mut response = send(&Request::get(&url)).map_err(|error| format!("{error:?}"))?;
            let mut text = String::new();
            response.read_to_string(&mut text).map_err(|error| error.to_string())?;
            Ok(text)
        }
    }

    export!(Weather);
}
