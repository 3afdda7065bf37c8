//! The JSON Schema of a workflow's file, for editors: what the loader takes, as far as a schema can
//! say it.
//!
//! A test holds both to the same examples and refusals.

use crate::file::TASKS_MAX;
use serde_json::{Value, json};

/// The schema.
pub fn schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A workflow of Cofferdam",
        "type": "object",
        "properties": {
            "workflow": { "$ref": "#/$defs/id", "description": "Its id; runs are named after it." },
            "description": { "$ref": "#/$defs/line" },
            "input": { "$ref": "#/$defs/input" },
            "on": { "$ref": "#/$defs/on" },
            "agents": { "type": "array", "items": { "anyOf": [{ "$ref": "#/$defs/agent" }, { "$ref": "#/$defs/agentFile" }] } },
            "tasks": { "type": "array", "minItems": 1, "maxItems": TASKS_MAX, "items": { "$ref": "#/$defs/task" } },
            "output": { "description": "What the run answers; the last task's output by default." }
        },
        "required": ["workflow", "tasks"],
        "additionalProperties": false,
        "$defs": definitions()
    })
}

fn definitions() -> Value {
    let text = |said: &str| json!({ "type": "string", "description": said });
    json!({
        "id": { "type": "string", "pattern": "^[a-z][a-z0-9_-]{0,63}$" },
        "line": { "type": "string", "minLength": 1, "pattern": "^[^\\n\\r]*$" },
        "tool": { "type": "string", "pattern": "^[a-z][a-z0-9_.]{0,63}$" },
        "template": text("May hold {{ path | filter }}."),
        "person": text("CHANNEL:USER, such as telegram:1002."),
        "input": {
            "type": "object",
            "description": "JSON Schema of an object; further keys are refused unless it says otherwise.",
            "properties": { "type": { "const": "object" } }
        },
        "on": {
            "type": "object",
            "properties": {
                "command": { "$ref": "#/$defs/id", "description": "/NAME in a chat." },
                "schedule": text("Minute, hour, day of the month, month, day of the week, in UTC."),
                "to": { "$ref": "#/$defs/person" }
            },
            "additionalProperties": false,
            "anyOf": [{ "required": ["command"] }, { "required": ["schedule"] }],
            "dependentRequired": { "schedule": ["to"], "to": ["schedule"] }
        },
        "agentFile": {
            "type": "object",
            "properties": { "file": text("A file with one agent, below this file's folder.") },
            "required": ["file"],
            "additionalProperties": false
        },
        "agent": {
            "type": "object",
            "properties": {
                "id": { "$ref": "#/$defs/id" },
                "description": { "$ref": "#/$defs/line" },
                "instructions": { "$ref": "#/$defs/template" },
                "tools": { "type": "array", "items": { "$ref": "#/$defs/tool" }, "uniqueItems": true },
                "attachments": { "$ref": "#/$defs/attachments" },
                "actions": { "type": "array", "items": { "$ref": "#/$defs/action" } }
            },
            "required": ["id", "actions"],
            "additionalProperties": false
        },
        "action": {
            "type": "object",
            "properties": {
                "id": { "$ref": "#/$defs/id" },
                "prompt": { "type": "string", "pattern": "\\S", "description": "What the agent is asked." },
                "attachments": { "$ref": "#/$defs/attachments" },
                "output": { "type": "object", "description": "JSON Schema; then the answer must be such JSON." }
            },
            "required": ["id", "prompt"],
            "additionalProperties": false
        },
        "attachments": { "type": "array", "items": { "$ref": "#/$defs/attachment" } },
        "attachment": attachment(),
        "task": task()
    })
}

fn attachment() -> Value {
    let template = json!({ "$ref": "#/$defs/template" });
    let many = json!({ "type": "array", "minItems": 1, "items": template });
    let one_of = |keys: &[&str]| {
        let required: Vec<Value> = keys.iter().map(|key| json!({ "required": [key] })).collect();
        json!({ "oneOf": required })
    };
    let of_type = |names: &[&str], then: Value| json!({ "if": { "properties": { "type": { "enum": names } }, "required": ["type"] }, "then": then });
    json!({
        "type": "object",
        "properties": {
            "type": {
                "anyOf": [
                    { "enum": ["image", "video", "audio", "pdf", "document", "file", "url"] },
                    { "type": "string", "pattern": "\\{\\{" }
                ]
            },
            "url": template, "path": template, "urls": many, "paths": many,
            "name": template, "mime": template,
            "meta": { "type": "object" },
            "fetch": { "type": "boolean" }
        },
        "required": ["type"],
        "additionalProperties": false,
        "allOf": [
            one_of(&["url", "path", "urls", "paths"]),
            of_type(&["file"], json!({ "required": ["path"] })),
            of_type(&["url"], json!({ "required": ["url"] })),
            {
                "if": { "properties": { "fetch": { "const": true } }, "required": ["fetch"] },
                "then": {
                    "properties": { "type": { "anyOf": [{ "const": "image" }, { "type": "string", "pattern": "\\{\\{" }] } },
                    "anyOf": [{ "required": ["url"] }, { "required": ["urls"] }]
                }
            }
        ]
    })
}

fn task() -> Value {
    let template = json!({ "$ref": "#/$defs/template" });
    let works: Vec<Value> = crate::file::WORK_KEYS.iter().map(|key| json!({ "required": [key] })).collect();
    let object = |properties: Value, required: &[&str]| json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false });
    json!({
        "type": "object",
        "properties": {
            "id": { "$ref": "#/$defs/id" },
            "agent": { "type": "string", "description": "The id of an agent." },
            "action": { "type": "string", "description": "The id of one of its actions." },
            "tool": { "$ref": "#/$defs/tool" },
            "with": { "type": "object" },
            "attachments": { "$ref": "#/$defs/attachments" },
            "send": object(
                json!({ "to": template, "text": template, "files": { "type": "array", "items": template } }),
                &["to", "text"]
            ),
            "wait": object(
                json!({ "reply_to": { "type": "string" }, "timeout": template, "otherwise": template }),
                &["reply_to", "timeout"]
            ),
            "approve": object(json!({ "from": template, "text": template, "timeout": template }), &["text", "timeout"])
        },
        "required": ["id"],
        "additionalProperties": false,
        "oneOf": works,
        "dependentRequired": { "action": ["agent"], "attachments": ["agent"], "agent": ["action"] },
        "if": { "anyOf": [{ "required": ["send"] }, { "required": ["wait"] }, { "required": ["approve"] }] },
        "then": { "not": { "required": ["with"] } }
    })
}
