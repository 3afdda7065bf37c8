//! What the tables of a report hold of a policy.

use super::{MIXED, policies};
use crate::report::arguments;

#[test]
fn what_is_filled_into_an_argument_is_told_with_its_class() {
    let lines =
        "dir = { path = \"write-below\", default = \"/shared/a\", home = \"/tmp\" }\nnote = \"value\"";
    let set = policies(MIXED, lines);
    let table = arguments(set.get("t").expect("there"));
    let told: Vec<_> = table.rows.iter().map(|row| (row[0].as_str(), row[1].as_str())).collect();
    let filled = r#"{ path = "write-below", default = "/shared/a", home = "/tmp" }"#;
    assert_eq!(told, [("dir", filled), ("note", "\"value\"")]);
}
