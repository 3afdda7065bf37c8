//! A valid schema of a mebibyte.

odd::describe_as!(
    "huge_schema",
    format!(
        r#"{{"type":"object","properties":{{}},"additionalProperties":false,"description":"{}"}}"#,
        "x".repeat(1 << 20)
    ),
    odd::GOOD_SCHEMA
);
