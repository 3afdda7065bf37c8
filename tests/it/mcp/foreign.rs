//! Commands and functions that nobody made for this gateway, as clients meet them: with schemas,
//! which the server holds each result against, and with hints.

use super::world::Server;
use crate::foreign::tool;
use anyhow::{Context, ensure};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use support::home::Home;

/// Calls the one foreign tool that there is.
fn calls(home: &Home, all: &[(Value, Value)]) -> anyhow::Result<Value> {
    let mut server = Server::start(home, json!({}))?;
    let listed = server.ask("tools/list", json!({}))?["result"]["tools"].clone();
    let listed = listed.as_array().into_iter().flatten().find(|tool| tool["name"] == "foreign").cloned();
    let listed = listed.context("it is offered")?;
    for schema in ["inputSchema", "outputSchema"] {
        ensure!(listed[schema]["type"] == "object", "{listed}");
    }
    for (arguments, expected) in all {
        let result = server.call("foreign", arguments.clone())?;
        ensure!(
            result["isError"] == false && result["structuredContent"] == *expected,
            "{arguments}: {result}"
        );
        super::world::text(&result)?;
    }
    server.end()?;
    Ok(listed)
}

#[test]
fn a_command_is_called_in_each_format_of_its_output() -> anyhow::Result<()> {
    let bytes = BASE64_STANDARD.encode([0xff, 0xfe, b'a']);
    let print = |text: &str| json!({ "what": "print", "text": text });
    for (format, all) in [
        (
            "text",
            vec![
                (print("hello"), json!({ "stdout": "hello" })),
                (json!({ "what": "bytes" }), json!({ "stdout_base64": bytes })),
            ],
        ),
        ("json", vec![(print(r#"{"a":[1]}"#), json!({ "a": [1] }))]),
        (
            "json-lines",
            vec![
                (print("1\n{\"b\":2}\n"), json!({ "lines": [1, { "b": 2 }] })),
                (print(""), json!({ "lines": [] })),
            ],
        ),
    ] {
        let policy = format!(
            "safety = \"read-only\"\n[command]\nsummary = \"Prints.\"\nstdout = {format:?}\n\
             argv = [\"commands\", {{ from = \"what\" }}, {{ from = \"text\" }}]\n[command.schema.what]\ntype = \"string\"\n\
             [command.schema.text]\ntype = \"string\"\noptional = true\n[arguments]\nwhat = \"value\"\ntext = \"value\"\n"
        );
        let listed = calls(&tool("commands", "mounts = []", &policy), &all).context(format)?;
        ensure!(
            listed["description"] == "Prints." && listed["annotations"]["readOnlyHint"] == true,
            "{listed}"
        );
    }
    Ok(())
}

#[test]
fn a_function_is_called_with_what_its_types_say() -> anyhow::Result<()> {
    let function = |name: &str, arguments: &str| {
        let policy = format!(
            "safety = \"read-only\"\n[function]\nexport = \"acme:demo/math@1.2.0#{name}\"\nsummary = \"Does it.\"\n\
             [arguments]\n{arguments}\n"
        );
        tool("examples/functions", "mounts = []", &policy)
    };
    calls(&function("divide", ""), &[(json!({ "a": 1, "b": 4 }), json!({ "value": 0.25 }))])?;
    calls(&function("check", ""), &[(json!({ "number": 1 }), json!({}))])?;
    calls(&function("rest", ""), &[(json!({}), json!({}))])?;
    let bytes = (json!({ "bytes": "AP8=" }), json!({ "value": "AP8=" }));
    calls(&function("echo-bytes", "bytes = \"content\""), &[bytes])?;
    let echoed = |policy: &str| calls(&function("echo", policy), &[(json!({ "all": all() }), all())]);
    echoed(&crate::foreign::ECHOED.replace("{ path = \"read\" }", "\"value\""))?;
    Ok(())
}

fn all() -> Value {
    json!({ "where": { "x": 1, "y": 2, "label": null }, "shape": { "circle": 0.5 }, "color": "blue", "styles": [],
            "pairs": [["a", 1]], "bytes": "", "big": "18446744073709551615", "low": -5, "letter": "x", "ratio": 0.5,
            "maybe": "some", "outcome": { "ok": "fine" } })
}
