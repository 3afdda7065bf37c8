//! A small schema that holds each number of a list against six thousand schemas, before the last
//! takes it.

/// A choice of eight references.
macro_rules! eight {
    ($name:literal) => {
        concat!(
            r##"{"$ref":"#/$defs/"##,
            $name,
            r##""},{"$ref":"#/$defs/"##,
            $name,
            r##""},"##,
            r##"{"$ref":"#/$defs/"##,
            $name,
            r##""},{"$ref":"#/$defs/"##,
            $name,
            r##""},"##,
            r##"{"$ref":"#/$defs/"##,
            $name,
            r##""},{"$ref":"#/$defs/"##,
            $name,
            r##""},"##,
            r##"{"$ref":"#/$defs/"##,
            $name,
            r##""},{"$ref":"#/$defs/"##,
            $name,
            r##""}"##
        )
    };
}

odd::describe_as!(
    "fans_out",
    concat!(
        r##"{"type":"object","additionalProperties":false,"properties":{"list":{"type":"array","items":"##,
        r##"{"anyOf":["##,
        eight!("a"),
        r##",{"type":"integer"}]}}},"$defs":{"##,
        r##""a":{"anyOf":["##,
        eight!("b"),
        r##"]},"##,
        r##""b":{"anyOf":["##,
        eight!("c"),
        r##"]},"##,
        r##""c":{"anyOf":["##,
        r##"{"type":"integer","maximum":-1},{"type":"integer","maximum":-2},{"type":"integer","maximum":-3},"##,
        r##"{"type":"integer","maximum":-4},{"type":"integer","maximum":-5},{"type":"integer","maximum":-6},"##,
        r##"{"type":"integer","maximum":-7},{"type":"integer","maximum":-8},{"type":"integer","maximum":-9}]}}}"##
    ),
    odd::GOOD_SCHEMA
);
