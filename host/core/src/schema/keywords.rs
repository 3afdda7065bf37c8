//! The closed set of keywords: JSON Schema 2020-12 as generators write it, and the tuples of draft
//! 7.

/// They say something to people, and nothing of what passes.
pub(super) const ANNOTATIONS: &[&str] = &[
    "$comment",
    "$schema",
    "contentEncoding",
    "contentMediaType",
    "default",
    "deprecated",
    "description",
    "discriminator",
    "example",
    "examples",
    "format",
    "readOnly",
    "title",
    "writeOnly",
];

/// What to write instead of a keyword that is not read.
pub(super) fn replacement_for(keyword: &str) -> &'static str {
    match keyword {
        "unevaluatedProperties" => "write all properties in one schema with \"additionalProperties\": false",
        "unevaluatedItems" => "write all items in one schema with prefixItems and \"items\": false",
        "dependencies" => "write dependentRequired, or if and then",
        "dependentSchemas" => "write if and then",
        "additionalItems" => "write prefixItems for the first items and items for the rest",
        "nullable" => "write \"type\": [\"string\", \"null\"]",
        "$anchor" | "$dynamicAnchor" | "$dynamicRef" | "$recursiveAnchor" | "$recursiveRef" => {
            "put the schema under $defs and write \"$ref\": \"#/$defs/NAME\""
        }
        "$id" => "remove it: it moves what references mean; the root alone may have one",
        _ => "remove it, or write it with the keywords of JSON Schema 2020-12",
    }
}
