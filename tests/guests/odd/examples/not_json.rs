//! Schemas that are no JSON.

odd::describe_as!("not_json", "{", "");
