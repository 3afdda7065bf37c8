//! What is said of a component that is no tool of the contract: by its policy, and by the types of
//! its function. It passes the same checks as what a component says of itself.

use super::SandboxError;
use cofferdam_core::json::parse_strict;
use cofferdam_core::text::one_line;
use cofferdam_ipc::Description;
use cofferdam_policy::EntryPolicy;
use serde_json::Value;
use std::collections::BTreeMap;

/// The description of a component that is entered so, where `said` is what it says of itself.
///
/// # Errors
/// [`SandboxError::Describe`] where the policy describes an argument that there is not.
pub(super) fn by(entry: &EntryPolicy, said: Description) -> Result<Description, SandboxError> {
    Ok(match entry {
        EntryPolicy::Tool => said,
        EntryPolicy::Command(command) => Description {
            name: command.tool.to_string(),
            summary: command.summary.clone(),
            arguments_schema: command.schema.to_string(),
            result_schema: command.result_schema().to_string(),
        },
        EntryPolicy::Function(function) => Description {
            name: function.tool.to_string(),
            summary: function.summary.clone(),
            arguments_schema: describe_arguments(said.arguments_schema, &function.describe)?,
            result_schema: said.result_schema,
        },
    })
}

/// The schema with a sentence for each of these arguments.
fn describe_arguments(schema: String, describe: &BTreeMap<String, String>) -> Result<String, SandboxError> {
    let mut schema = parse_strict(&schema)
        .map_err(|e| SandboxError::Describe(format!("its arguments schema is not JSON: {e}")))?;
    for (name, sentence) in describe {
        let property = schema["properties"].as_object_mut().and_then(|properties| properties.get_mut(name));
        let Some(Value::Object(property)) = property else {
            let said = format!("[function.describe] there is no argument {:?}", one_line(name, 80));
            return Err(SandboxError::Describe(said));
        };
        property.insert("description".into(), sentence.as_str().into());
    }
    Ok(schema.to_string())
}
