//! The permit's paths: what a guest may stage is exactly what was judged for writing, nothing
//! beside it.

use super::{MIXED, policies};
use crate::{GuestPath, JudgedCall, Permit, Verdict, judge};
use cofferdam_core::id::TurnId;
use cofferdam_core::tool::ToolName;
use proptest::prelude::*;
use serde_json::{Value, json};

fn permit(arguments: Value) -> Permit {
    let set = policies(
        MIXED,
        "read = { path = \"read\" }\n\"writes[]\" = { path = \"write\" }\nbelow = { path = \"write-below\" }\ntext = \"value\"",
    );
    let call = JudgedCall {
        id: TurnId::new("turn").call(0),
        tool: ToolName::parse("t").expect("a name"),
        arguments,
    };
    match judge(call, set.get("t").expect("there")) {
        Verdict::Permit(permit) => permit,
        other => panic!("{other:?}"),
    }
}

fn may(permit: &Permit, path: &str) -> bool {
    permit.may_stage(&GuestPath::parse(path).expect("a path"))
}

#[test]
fn nothing_but_the_very_path_may_be_staged() {
    let permit =
        permit(json!({ "writes": ["/shared/a", "/shared/d/e"], "read": "/shared/r", "text": "/shared/t" }));
    for refused in [
        "/shared",
        "/shared/ab",
        "/shared/A",
        "/shared/b",
        "/shared/a/b",
        "/shared/d",
        "/shared/d/e/f",
        "/shared/d/ee",
        "/shared/d/E",
        "/tmp/a",
        "/vault/a",
        "/a",
        "/shared/r",
        "/shared/t",
        "/shared/a ",
        "/shared/a.",
        "/shared/а",
    ] {
        assert!(!may(&permit, refused), "{refused}");
    }
    assert!(may(&permit, "/shared/a") && may(&permit, "/shared/d/e"));
}

#[test]
fn below_a_directory_is_below_it_only() {
    let permit = permit(json!({ "below": "/shared/in" }));
    for refused in [
        "/shared",
        "/shared/in",
        "/shared/inn",
        "/shared/inn/a",
        "/shared/i",
        "/shared/a",
        "/tmp/in/a",
        "/shared/IN/a",
    ] {
        assert!(!may(&permit, refused), "{refused}");
    }
    assert!(may(&permit, "/shared/in/a") && may(&permit, "/shared/in/b/c"));
}

#[test]
fn a_call_that_names_no_path_may_stage_none() {
    let permit = permit(json!({ "text": "/shared/a", "writes": [], "below": null, "read": "/shared/a" }));
    for refused in ["/shared/a", "/shared", "/tmp/a"] {
        assert!(!may(&permit, refused), "{refused}");
    }
}

/// Names that differ by little, so that random paths are often almost the same.
fn name() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "ab", "b", "A", "a.b", "…", "in"]).prop_map(str::to_owned)
}

fn path() -> impl Strategy<Value = String> {
    (prop::sample::select(vec!["/shared", "/tmp"]), prop::collection::vec(name(), 0..4))
        .prop_map(|(mount, names)| names.iter().fold(mount.to_owned(), |path, name| format!("{path}/{name}")))
}

proptest! {
    #[test]
    fn a_permit_stages_exactly_what_was_judged(
        writes in prop::collection::vec(path(), 0..3), below in prop::option::of(path()), asked in path(),
    ) {
        let writable = |path: &String| path.starts_with("/shared");
        let writes: Vec<_> = writes.into_iter().filter(|p| writable(p) && p != "/shared").collect();
        let below = below.filter(writable);
        let permit = permit(json!({ "writes": writes, "below": below }));
        // Slow and obvious: by whole components.
        let parts = |path: &str| path.split('/').map(str::to_owned).collect::<Vec<_>>();
        let is_below = below.is_some_and(|dir| {
            let (dir, asked) = (parts(&dir), parts(&asked));
            asked.len() > dir.len() && asked.iter().zip(&dir).all(|(a, b)| a == b)
        });
        prop_assert_eq!(may(&permit, &asked), writes.contains(&asked) || is_below);
    }
}
