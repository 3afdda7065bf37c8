//! The trait a tool implements and the wiring from the component's exports to it. It describes
//! nothing while a call runs: schemas are made in `describe` alone, which the host asks once per
//! component.

use std::marker::PhantomData;

use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};

use crate::bindings::exports::cofferdam::tool::tool::{Description, Guest};
use crate::{ErrorCode, ToolError, schema};

/// A tool with typed arguments and a typed result.
pub trait Tool {
    /// The tool's id, the same as in its policy: `^[a-z][a-z0-9_]{0,63}$`, checked when compiled.
    const NAME: &str;

    /// One sentence that tells a model and a person what the tool does.
    const SUMMARY: &str;

    /// What the tool takes: a struct with named fields. Doc comments on them become descriptions;
    /// an `Option` or a field with `#[serde(default)]` need not be given;
    /// `#[schemars(range(min = 1))]` is enforced by the host before the call.
    type Arguments: DeserializeOwned + JsonSchema;

    /// What the tool answers: something that serializes to a JSON object.
    type Output: Serialize + JsonSchema;

    /// Runs one call. The arguments satisfy the schema and the policy allows them.
    ///
    /// # Errors
    /// What a model or a person can act on. Files staged by a call that fails are not published.
    fn call(arguments: Self::Arguments) -> Result<Self::Output, ToolError>;
}

/// The component's exports for the tool `T`; named only by [`export_tool!`](crate::export_tool).
pub struct Exported<T>(PhantomData<T>);

impl<T: Tool> Guest for Exported<T> {
    /// # Panics
    /// Where the types describe no valid schema: the component then does not load, and says why.
    fn describe() -> Description {
        const { assert!(is_wire_name(T::NAME), "NAME must match ^[a-z][a-z0-9_]{{0,63}}$") };
        Description {
            name: T::NAME.into(),
            summary: T::SUMMARY.into(),
            arguments_schema: schema::of_arguments::<T::Arguments>()
                .unwrap_or_else(|why| panic!("arguments of {}: {why}", T::NAME)),
            result_schema: schema::of_result::<T::Output>()
                .unwrap_or_else(|why| panic!("result of {}: {why}", T::NAME)),
        }
    }

    fn call(arguments: String) -> Result<String, ToolError> {
        let parsed = serde_json::from_str(&arguments)
            .map_err(|error| ToolError::new(ErrorCode::InvalidArguments, error.to_string()))?;
        // Content arrives inside the arguments: held once from here on, not twice.
        drop(arguments);
        let output = T::call(parsed)?;
        // Only a map with keys that are not strings, or a Serialize of the author's that refuses,
        // gets here.
        Ok(serde_json::to_string(&output).unwrap_or_else(|why| panic!("result of {}: {why}", T::NAME)))
    }
}

/// Makes the crate a component that exports the given [`Tool`]. Once per crate; nothing on targets
/// other than WebAssembly, so that the tool's own tests run natively.
#[macro_export]
macro_rules! export_tool {
    ($tool:ty) => {
        // On every target, so that the compiler checks the tool and does not call it unused.
        const _: fn(
            ::std::string::String,
        ) -> ::std::result::Result<::std::string::String, $crate::ToolError> =
            <$crate::Exported<$tool> as $crate::bindings::exports::cofferdam::tool::tool::Guest>::call;

        #[cfg(target_family = "wasm")]
        const _: () = {
            type Tool = $crate::Exported<$tool>;
            $crate::bindings::export_raw! { Tool with_types_in $crate::bindings }
        };
    };
}

const fn is_wire_name(name: &str) -> bool {
    let bytes = name.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let fits = match bytes[at] {
            b'a'..=b'z' => true,
            b'0'..=b'9' | b'_' => at > 0,
            _ => false,
        };
        if !fits {
            return false;
        }
        at += 1;
    }
    matches!(bytes.len(), 1..=64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Deserialize, JsonSchema)]
    struct Arguments {
        times: u32,
    }

    #[derive(Serialize, JsonSchema)]
    struct Output {
        doubled: u32,
    }

    enum Double {}

    impl Tool for Double {
        const NAME: &str = "double";
        const SUMMARY: &str = "Doubles.";
        type Arguments = Arguments;
        type Output = Output;

        fn call(arguments: Arguments) -> Result<Output, ToolError> {
            Ok(Output { doubled: arguments.times * 2 })
        }
    }

    #[test]
    fn a_call_is_json_in_and_json_out() {
        let call = |arguments: &str| Exported::<Double>::call(arguments.into());
        assert_eq!(call(r#"{"times":21}"#).unwrap(), r#"{"doubled":42}"#);
        let refused = call(r#"{"times":-1}"#).unwrap_err();
        assert_eq!(refused.code, ErrorCode::InvalidArguments);
    }

    #[test]
    fn a_description_carries_name_summary_and_both_schemas() {
        let description = Exported::<Double>::describe();
        assert_eq!((description.name.as_str(), description.summary.as_str()), ("double", "Doubles."));
        assert!(description.arguments_schema.contains(r#""required":["times"]"#));
        assert!(description.result_schema.contains(r#""doubled""#));
    }

    #[test]
    fn names_are_wire_names() {
        for (name, fits) in
            [("a", true), ("a_1", true), ("", false), ("_a", false), ("1a", false), ("A", false)]
        {
            assert_eq!(is_wire_name(name), fits, "{name}");
        }
        assert!(is_wire_name(&"a".repeat(64)) && !is_wire_name(&"a".repeat(65)));
    }
}
