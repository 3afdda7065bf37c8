//! `{{name}}`: greets somebody. Replace the greeting by what your tool does; it starts with nothing
//! granted.

use cofferdam_sdk::schemars::JsonSchema;
use cofferdam_sdk::serde::{Deserialize, Serialize};
use cofferdam_sdk::{ErrorCode, Tool, ToolError, export_tool};

// What the tool takes. The comments with three slashes are what a model and a person read.
#[derive(Deserialize, JsonSchema)]
#[serde(crate = "cofferdam_sdk::serde", deny_unknown_fields)]
#[schemars(crate = "cofferdam_sdk::schemars")]
struct Arguments {
    /// Whom to greet, for example "Ada".
    name: String,
    /// How many times to say hello.
    #[serde(default = "once")]
    #[schemars(range(min = 1, max = 10))]
    times: u32,
}

const fn once() -> u32 {
    1
}

// What the tool answers: a JSON object.
#[derive(Serialize, JsonSchema)]
#[serde(crate = "cofferdam_sdk::serde")]
#[schemars(crate = "cofferdam_sdk::schemars")]
struct Answer {
    /// The greeting.
    greeting: String,
}

enum ThisTool {}

impl Tool for ThisTool {
    const NAME: &str = "{{name}}";
    const SUMMARY: &str = "Greets somebody by name.";
    type Arguments = Arguments;
    type Output = Answer;

    fn call(arguments: Arguments) -> Result<Answer, ToolError> {
        let greeting = greeting(&arguments.name, arguments.times)?;
        Ok(Answer { greeting })
    }
}

export_tool!(ThisTool);

/// Pure, so that `cargo test` runs it without a sandbox.
fn greeting(name: &str, times: u32) -> Result<String, ToolError> {
    if name.trim().is_empty() {
        let said = "There is nobody to greet; give a name, for example \"Ada\".";
        return Err(ToolError::new(ErrorCode::InvalidArguments, said));
    }
    let hellos = vec!["Hello"; times as usize];
    Ok(format!("{}, {name}!", hellos.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_greeted_as_often_as_asked() {
        for (times, expected) in [(1, "Hello, Ada!"), (2, "Hello Hello, Ada!")] {
            assert!(greeting("Ada", times).is_ok_and(|said| said == expected));
        }
    }

    #[test]
    fn nobody_is_not_greeted() {
        assert!(greeting(" ", 1).is_err_and(|e| e.code == ErrorCode::InvalidArguments));
    }
}
