//! The smallest tool an author outside this repository would write: it greets by name and reaches
//! nothing. Its only dependency is the SDK.

use cofferdam_sdk::schemars::JsonSchema;
use cofferdam_sdk::serde::{Deserialize, Serialize};
use cofferdam_sdk::{Tool, ToolError, export_tool};

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "cofferdam_sdk::serde", deny_unknown_fields)]
#[schemars(crate = "cofferdam_sdk::schemars")]
struct Arguments {
    /// Who is greeted.
    name: String,
}

#[derive(Serialize, JsonSchema)]
#[serde(crate = "cofferdam_sdk::serde")]
#[schemars(crate = "cofferdam_sdk::schemars")]
struct Greeting {
    greeting: String,
}

enum Hello {}

impl Tool for Hello {
    const NAME: &str = "hello";
    const SUMMARY: &str = "Greets somebody by name.";
    type Arguments = Arguments;
    type Output = Greeting;

    fn call(arguments: Arguments) -> Result<Greeting, ToolError> {
        Ok(Greeting { greeting: format!("Hello, {}!", arguments.name) })
    }
}

export_tool!(Hello);
