//! A result that the tool's own schema forbids.

odd::describe_as!(
    "odd_result",
    odd::GOOD_SCHEMA,
    r#"{"type":"object","properties":{"count":{"type":"integer"}},"required":["count"]}"#
);
