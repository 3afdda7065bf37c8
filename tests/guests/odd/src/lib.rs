//! What the odd components share: a component that describes itself in whatever way it likes. Each
//! example is one that the host must refuse to load, to describe in time, or to show as what it is.

/// A schema that is as it should be, for what an example has no quarrel with.
pub const GOOD_SCHEMA: &str = r#"{"type":"object","properties":{},"additionalProperties":false}"#;

/// Makes the example a component that describes itself by name, summary, arguments' schema and
/// result's schema; they may be expressions that never return.
#[macro_export]
macro_rules! describe_as {
    ($name:expr, $arguments:expr, $result:expr) => {
        odd::describe_as!($name, "An odd tool.", $arguments, $result);
    };
    ($name:expr, $summary:expr, $arguments:expr, $result:expr) => {
        #[cfg(target_family = "wasm")]
        const _: () = {
            use cofferdam_sdk::ToolError;
            use cofferdam_sdk::bindings::{self, exports::cofferdam::tool::tool};

            enum Odd {}

            impl tool::Guest for Odd {
                fn describe() -> tool::Description {
                    tool::Description {
                        name: $name.into(),
                        summary: $summary.into(),
                        arguments_schema: $arguments.into(),
                        result_schema: $result.into(),
                    }
                }

                fn call(_arguments: String) -> Result<String, ToolError> {
                    Ok("{}".into())
                }
            }

    bindings::export_raw!(Odd with_types_in cofferdam_sdk::bindings);
        };
    };
}
