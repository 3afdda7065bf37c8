//! A pattern that a validator which tries one way after the other needs minutes for.

odd::describe_as!(
    "looks_ahead",
    r#"{"type":"object","properties":{"text":{"type":"string","pattern":"(?=(a+))a*b"}},"additionalProperties":false}"#,
    odd::GOOD_SCHEMA
);
