//! `hostile`: a tool that does whatever the tests ask for, mostly what no tool should. It tells
//! what it saw where it can; what the host does about it is for the tests to say.

mod ambient;
mod files;
mod output;
mod plans;
mod races;
mod report;
mod resources;
mod staging;
mod streams;
mod time;
mod wasi;

use cofferdam_sdk::bindings::{self, exports::cofferdam::tool::tool};
use cofferdam_sdk::schemars::JsonSchema;
use cofferdam_sdk::serde::Deserialize;
use cofferdam_sdk::serde_json::{self, Map, Value};
use cofferdam_sdk::{ErrorCode, Exported, Tool, ToolError};

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "cofferdam_sdk::serde", deny_unknown_fields)]
#[schemars(crate = "cofferdam_sdk::schemars")]
struct Arguments {
    /// What to do, with a free text after a colon where a behaviour takes one: "lie:no_space".
    behaviour: String,
    /// The path it is done to.
    path: Option<String>,
    /// How many bytes, or how often.
    bytes: Option<u64>,
}

impl Arguments {
    fn name(&self) -> &str {
        self.behaviour.split(':').next().unwrap_or_default()
    }

    fn text(&self) -> Option<&str> {
        Some(self.behaviour.split_once(':')?.1)
    }

    fn path(&self) -> Result<&str, ToolError> {
        self.path.as_deref().ok_or_else(|| missing("path"))
    }

    fn bytes(&self) -> Result<u64, ToolError> {
        self.bytes.ok_or_else(|| missing("bytes"))
    }
}

fn missing(what: &str) -> ToolError {
    ToolError::new(ErrorCode::InvalidArguments, format!("This behaviour needs `{what}`"))
}

/// What a behaviour saw.
type Seen = Result<Value, ToolError>;

/// A behaviour by name, if the group knows it.
type Group = fn(&Arguments) -> Option<Seen>;

const GROUPS: [Group; 11] = [
    ambient::run,
    files::run,
    output::run,
    plans::run,
    races::run,
    report::run,
    resources::run,
    staging::run,
    streams::run,
    time::run,
    wasi::run,
];

enum Hostile {}

impl Tool for Hostile {
    const NAME: &str = "hostile";
    const SUMMARY: &str = "Does what no tool should, for the tests of its host.";
    type Arguments = Arguments;
    type Output = Map<String, Value>;

    fn call(arguments: Arguments) -> Result<Map<String, Value>, ToolError> {
        match GROUPS.iter().find_map(|group| group(&arguments)) {
            Some(Ok(Value::Object(seen))) => Ok(seen),
            Some(Ok(other)) => panic!("{other} is no object"),
            Some(Err(error)) => Err(error),
            None => Err(ToolError::new(
                ErrorCode::InvalidArguments,
                format!("There is no behaviour {:?}", arguments.name()),
            )),
        }
    }
}

enum Raw {}

impl tool::Guest for Raw {
    fn describe() -> tool::Description {
        Exported::<Hostile>::describe()
    }

    /// Results that the SDK would not make are made here, past it.
    fn call(arguments: String) -> Result<String, ToolError> {
        match serde_json::from_str(&arguments).ok().and_then(|parsed| output::raw(&parsed, &arguments)) {
            Some(result) => Ok(result),
            None => Exported::<Hostile>::call(arguments),
        }
    }
}

bindings::export_raw!(Raw with_types_in cofferdam_sdk::bindings);
