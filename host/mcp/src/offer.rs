//! What a client is told of the tools: all that load, by name, with hints that follow from the
//! policy alone, so that no component can claim to be harmless.

use cofferdam_agent::tools::{RegisteredTool, Registry};
use cofferdam_core::schema::Schema;
use cofferdam_policy::{ArgumentClass, PathUse, Safety, ToolPolicy};
use rmcp::model::{JsonObject, Tool as Offered, ToolAnnotations};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The tools as they are offered, with what results are held to.
pub(crate) struct ToolOffer {
    tools: BTreeMap<String, OfferedTool>,
}

struct OfferedTool {
    offered: Offered,
    result: Option<Schema>,
}

impl ToolOffer {
    pub(crate) fn new(registry: &Registry) -> Self {
        let loaded = registry.iter().filter_map(|(name, tool)| Some((name, tool.as_ref().ok()?)));
        Self { tools: loaded.map(|(name, tool)| (name.to_owned(), entry(name, tool))).collect() }
    }

    /// All of them, in the same order each time.
    pub(crate) fn list(&self) -> Vec<Offered> {
        self.tools.values().map(|entry| entry.offered.clone()).collect()
    }

    pub(crate) fn get(&self, name: &str) -> Option<Offered> {
        self.tools.get(name).map(|entry| entry.offered.clone())
    }

    /// What the result of this tool is held to, where it says so itself.
    pub(crate) fn result_schema(&self, name: &str) -> Option<&Schema> {
        self.tools.get(name)?.result.as_ref()
    }
}

fn entry(name: &str, tool: &RegisteredTool) -> OfferedTool {
    let description = &tool.description;
    let input = description.arguments.as_object().cloned().unwrap_or_default();
    let mut offered = Offered::new(name.to_owned(), description.summary.clone(), Arc::new(input))
        .with_annotations(annotations(&tool.policy));
    let result = result(name, &description.result);
    if let Some((object, _)) = &result {
        offered = offered.with_raw_output_schema(Arc::new(object.clone()));
    }
    OfferedTool { offered, result: result.map(|(_, schema)| schema) }
}

/// A result's schema that describes an object, as clients of the older era demand, and that results
/// can be held to. Others are not promised.
fn result(name: &str, schema: &Value) -> Option<(JsonObject, Schema)> {
    let object = schema.as_object().filter(|object| object.get("type") == Some(&"object".into()))?;
    match Schema::compile(schema) {
        Ok(compiled) => Some((object.clone(), compiled)),
        Err(error) => {
            tracing::warn!(tool = name, %error, "its result has no schema for MCP clients");
            None
        }
    }
}

/// Hints for a client that asks its person, from what the policy lets the tool do.
fn annotations(policy: &ToolPolicy) -> ToolAnnotations {
    ToolAnnotations::new()
        .read_only(policy.safety == Safety::ReadOnly)
        .destructive(may_replace(policy))
        .open_world(reaches_network(policy))
}

/// Files change only at paths that the judge allows for writing, so without such an argument, or
/// without a mount to write, nothing can be replaced or removed.
fn may_replace(policy: &ToolPolicy) -> bool {
    let writes =
        |class: &ArgumentClass| matches!(class, ArgumentClass::Path(PathUse::Write | PathUse::WriteBelow));
    policy.safety != Safety::ReadOnly && policy.grants.may_write() && policy.arguments.values().any(writes)
}

/// Whether the profile names hosts that its tools may ask.
fn reaches_network(policy: &ToolPolicy) -> bool {
    policy.grants.network.as_ref().is_some_and(|network| !network.hosts.is_empty())
}
