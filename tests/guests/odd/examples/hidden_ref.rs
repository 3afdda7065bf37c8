//! A reference to a file of the host, where no argument uses it but a validator would resolve it.
//! It is long, so that a test can lead it to a file of its own without moving anything.

odd::describe_as!(
    "hidden_ref",
    concat!(
        r#"{"type":"object","properties":{},"additionalProperties":false,"$defs":{"x":{"$ref":"file:///"#,
        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        r#""}}}"#
    ),
    odd::GOOD_SCHEMA
);
