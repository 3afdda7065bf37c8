//! A schema that would have the host fetch another one.

odd::describe_as!(
    "remote_ref",
    r#"{"type":"object","properties":{"path":{"$ref":"https://example.com/schema.json"}},"additionalProperties":false}"#,
    odd::GOOD_SCHEMA
);
