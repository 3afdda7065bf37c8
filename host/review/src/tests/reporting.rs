//! What the tables of a report hold of a policy.

use super::{MIXED, policies};
use crate::report::{arguments, describe_entry, grants};
use cofferdam_policy::PolicySet;

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

#[test]
fn a_command_and_its_scratch_folder_are_told() {
    let profile = "schema = 1\nprofile = \"p\"\nwhy = \"w\"\nmounts = []\n\
                   scratch = { guest = \"/scratch\", bytes = \"2 MiB\", files = 100 }\n";
    let component = format!("component = {{ file = \"t.wasm\", sha256 = \"{}\" }}", "a".repeat(64));
    let tool = super::TOOL.replace("component = \"builtin\"", &component);
    let tool = format!(
        "{tool}[arguments]\nname = \"value\"\n[command]\nsummary = \"s\"\nargv = [\"t\", \"--all\", {{ from = \"name\" }}]\n\
         [command.schema.name]\ntype = \"string\"\n"
    );
    let set = PolicySet::parse([("profiles/p.toml", profile), ("tools/t.toml", &*tool)]).expect("sound");
    let policy = set.get("t").expect("there");
    assert_eq!(grants(policy).rows, [["scratch /scratch", "2 MiB, 100 files", "profiles/p.toml"]]);
    let entry = describe_entry(policy).expect("a command");
    assert!(entry.contains(r#""argv":["t","--all",{"from":"name"}]"#), "{entry}");
    assert_eq!(describe_entry(policies(MIXED, "").get("t").expect("there")), None);
}
