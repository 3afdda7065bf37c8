//! Arguments that take any further property, which no policy could classify.

odd::describe_as!(
    "open_arguments",
    r#"{"type":"object","properties":{"count":{"type":"integer"}}}"#,
    odd::GOOD_SCHEMA
);
