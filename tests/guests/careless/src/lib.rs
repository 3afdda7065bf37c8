//! `careless`: a tool that adds files to the reply and then does not do what a tool does.

use cofferdam_sdk::bindings::cofferdam::tool::reply_attachments as raw;
use cofferdam_sdk::reply::{self, ReplyFile, Source};
use cofferdam_sdk::schemars::JsonSchema;
use cofferdam_sdk::serde::{Deserialize, Serialize};
use cofferdam_sdk::{ErrorCode, Tool, ToolError, export_tool, progress};

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "cofferdam_sdk::serde", deny_unknown_fields)]
#[schemars(crate = "cofferdam_sdk::schemars")]
struct Arguments {
    /// What to do after a file was added.
    then: String,
    /// The file, as the policy judges it.
    path: Option<String>,
    /// A file that the policy does not look at.
    unjudged: Option<String>,
    /// A file whose bytes the guest reads, and hands over as what it composed.
    composed: Option<String>,
    /// What to call it.
    name: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[serde(crate = "cofferdam_sdk::serde")]
#[schemars(crate = "cofferdam_sdk::schemars")]
struct Done {
    added: Vec<String>,
}

enum Careless {}

impl Tool for Careless {
    const NAME: &str = "careless";
    const SUMMARY: &str = "Adds a file to the reply and then misbehaves, for the tests of its host.";
    type Arguments = Arguments;
    type Output = Done;

    fn call(arguments: Arguments) -> Result<Done, ToolError> {
        let file = |source| ReplyFile { source, name: arguments.name.clone(), mime_type: None };
        let paths = arguments.path.iter().chain(&arguments.unjudged);
        let mut files: Vec<_> = paths.map(|path| file(Source::Path(path.clone()))).collect();
        if let Some(path) = &arguments.composed {
            files.push(file(Source::Contents(std::fs::read(path).map_err(ToolError::on_path(path))?)));
        }
        let mut added = Vec::new();
        match arguments.then.as_str() {
            // Adds one after the other, and goes on where one is refused.
            "each" => {
                for file in &files {
                    added.extend(reply::add(std::slice::from_ref(file)).into_iter().flatten());
                }
            }
            // Past what the SDK looks at.
            "raw" => added = raw::add(&files)?,
            _ => added = reply::add(&files)?,
        }
        match arguments.then.as_str() {
            "fail" => return Err(ToolError::new(ErrorCode::WriteFailed, "The guest changed its mind")),
            "trap" => panic!("the guest panics on purpose"),
            "exit" => std::process::exit(0),
            "spin" => loop {
                std::hint::spin_loop();
            },
            // Until it is let go; "wait" shows something to whoever waits, "hold" does not.
            then @ ("wait" | "hold") => {
                while std::fs::metadata("/shared/go").is_err() && !progress::cancelled() {
                    if then == "wait" {
                        progress::report("waiting");
                    }
                    std::thread::sleep(std::time::Duration::from_millis(50));
                }
            }
            _ => {}
        }
        Ok(Done { added: added.into_iter().map(|file| file.name).collect() })
    }
}

export_tool!(Careless);
