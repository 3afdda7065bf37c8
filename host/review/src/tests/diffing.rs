//! What counts as wider, in a table, and against the judge: whatever a change newly permits, lets
//! be staged or shows in the audit is told.

use crate::diff::{diff, widens};
use cofferdam_core::id::TurnId;
use cofferdam_core::tool::ToolName;
use cofferdam_policy::redact;
use cofferdam_policy::{GuestPath, JudgedCall, Permit, PolicySet, Verdict, judge};
use proptest::prelude::*;
use serde_json::{Value, json};

const PROFILE: &str = "schema = 1\nprofile = \"p\"\nwhy = \"of p\"\nmounts = [\n{ guest = \"/shared\", access = \"atomic-write\" },\n\
                       { guest = \"/tmp\", access = \"read-only\" },\n]\ninterfaces = []\n";
const TOOL: &str = "schema = 1\ntool = \"t\"\nprofile = \"p\"\ncomponent = { file = \"t.wasm\", sha256 = \
                    \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\" }\nsafety = \"side-effecting\"\nwhy = \"of t\"\n\
                    [arguments]\npath = { path = \"write\" }\nbody = \"content\"\nnote = \"value\"\n[limits]\nmemory = \"16 MiB\"\n";

fn set(profile: &str, tool: &str) -> PolicySet {
    PolicySet::parse([("profiles/p.toml", profile), ("tools/t.toml", tool)]).expect("sound")
}

/// What is told when `from` becomes `to` in profile or tool.
fn told(from: &str, to: &str) -> Vec<String> {
    assert!(PROFILE.contains(from) || TOOL.contains(from), "{from}");
    let new = set(&PROFILE.replace(from, to), &TOOL.replace(from, to));
    diff(&set(PROFILE, TOOL), &new).iter().map(ToString::to_string).collect()
}

#[test]
fn each_change_is_told_on_one_line_with_its_direction() {
    let a = "a".repeat(64);
    let b = "b".repeat(64);
    for (from, to, expected) in [
        (
            "{ guest = \"/tmp\", access = \"read-only\" }",
            "{ guest = \"/tmp\", access = \"atomic-write\" }",
            "widens: t: mount /tmp: read-only → atomic-write".to_owned(),
        ),
        (
            "{ guest = \"/tmp\", access = \"read-only\" },",
            "",
            "narrows: t: mount /tmp: read-only → none".to_owned(),
        ),
        (
            "interfaces = []",
            "interfaces = [\"turn-attachments\"]",
            "widens: t: interface turn-attachments: none → turn-attachments".to_owned(),
        ),
        (
            "\"side-effecting\"",
            "\"privileged\"",
            "narrows: t: safety: side-effecting → privileged".to_owned(),
        ),
        (
            "path = { path = \"write\" }",
            "path = { path = \"write\", default = \"/shared/a\", home = \"/shared\" }",
            "widens: t: completion of argument path: none → default = \"/shared/a\", home = \"/shared\""
                .to_owned(),
        ),
        ("16 MiB", "17 MiB", "widens: t: limit memory: 16 MiB → 17 MiB".to_owned()),
        ("16 MiB", "15 MiB", "narrows: t: limit memory: 16 MiB → 15 MiB".to_owned()),
        (
            "memory = \"16 MiB\"",
            "memory = \"16 MiB\"\ndeadline = \"31s\"",
            "widens: t: limit deadline: 30s → 31s".to_owned(),
        ),
        (
            "\"write\"",
            "\"write-below\"",
            "widens: t: argument path: { path = \"write\" } → { path = \"write-below\" }".to_owned(),
        ),
        (
            "\"write\"",
            "\"read\"",
            "widens: t: argument path: { path = \"write\" } → { path = \"read\" }".to_owned(),
        ),
        (
            "{ path = \"write\" }",
            "\"value\"",
            "widens: t: argument path: { path = \"write\" } → \"value\"".to_owned(),
        ),
        (
            "{ path = \"write\" }",
            "\"content\"",
            "widens: t: argument path: { path = \"write\" } → \"content\"".to_owned(),
        ),
        ("\"content\"", "\"value\"", "widens: t: argument body: \"content\" → \"value\"".to_owned()),
        (
            "body = \"content\"",
            "body = { path = \"read\" }",
            "widens: t: argument body: \"content\" → { path = \"read\" }".to_owned(),
        ),
        (
            "note = \"value\"",
            "note = \"content\"",
            "narrows: t: argument note: \"value\" → \"content\"".to_owned(),
        ),
        (
            "note = \"value\"",
            "note = { path = \"read\" }",
            "narrows: t: argument note: \"value\" → { path = \"read\" }".to_owned(),
        ),
        (
            "note = \"value\"",
            "note = { path = \"write\" }",
            "widens: t: argument note: \"value\" → { path = \"write\" }".to_owned(),
        ),
        ("note = \"value\"\n", "", "widens: t: argument note: \"value\" → none".to_owned()),
        (
            "note = \"value\"",
            "note = \"value\"\nmore = \"content\"",
            "widens: t: argument more: none → \"content\"".to_owned(),
        ),
        (&a, &b, format!("widens: t: component: t.wasm sha256 {a} → t.wasm sha256 {b}")),
        ("t.wasm", "u.wasm", format!("neutral: t: component: t.wasm sha256 {a} → u.wasm sha256 {a}")),
        ("of t", "of\\nT", "neutral: t: why: of t → of T".to_owned()),
        ("of p", "of P", "neutral: t: why of the profile: of p → of P".to_owned()),
        ("\"p\"", "\"q\"", "neutral: t: profile: p → q".to_owned()),
    ] {
        assert_eq!(told(from, to), [expected], "{from} → {to}");
    }
    let file = format!("{{ file = \"t.wasm\", sha256 = \"{a}\" }}");
    assert_eq!(told(&file, "\"builtin\""), [format!("widens: t: component: t.wasm sha256 {a} → builtin")]);
}

#[test]
fn a_component_of_a_registry_is_compared_by_digest_and_signer() {
    const PINNED: &str = "{ file = \"t.wasm\", sha256 = \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\" }";
    const KEYS: [&str; 2] = [
        "MCowBQYDK2VwAyEA/tGy7H8V0yQZeFijAIa7I1YdMfoSSVNj6ObHFa61GX0=",
        "MCowBQYDK2VwAyEAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
    ];
    let of = |name: &str, digit: &str, key: Option<usize>| {
        let signer = key.map(|key| format!(", signer = {:?}", KEYS[key])).unwrap_or_default();
        format!("{{ oci = \"a.test/{name}@sha256:{}\"{signer} }}", digit.repeat(64))
    };
    let a = |key| of("t", "a", key);
    for (from, to, direction) in [
        (PINNED.to_owned(), a(None), "widens"),
        (a(None), PINNED.to_owned(), "widens"),
        (a(None), "\"builtin\"".to_owned(), "widens"),
        (a(None), of("t", "b", None), "widens"),
        (a(Some(0)), of("t", "b", Some(0)), "widens"),
        (a(Some(0)), a(None), "widens"),
        (a(Some(0)), a(Some(1)), "widens"),
        (a(None), a(Some(0)), "narrows"),
        (a(None), of("u", "a", None), "neutral"),
        (a(Some(0)), of("u", "a", Some(0)), "neutral"),
    ] {
        let set = |component: &str| set(PROFILE, &TOOL.replace(PINNED, component));
        let told: Vec<_> = diff(&set(&from), &set(&to)).iter().map(ToString::to_string).collect();
        let [told] = &told[..] else { panic!("{from} → {to}: {told:?}") };
        assert!(told.starts_with(&format!("{direction}: t: component: ")), "{direction}: {told}");
    }
}

#[test]
fn each_use_of_a_path_lets_through_something_that_the_others_do_not() {
    let uses = ["read", "write", "write-below"];
    for (from, to) in
        uses.iter().flat_map(|from| uses.iter().map(move |to| (from, to))).filter(|(a, b)| a != b)
    {
        let with = |how: &str| set(PROFILE, &TOOL.replace("\"write\"", &format!("\"{how}\"")));
        assert!(widens(&diff(&with(from), &with(to))), "{from} → {to}");
    }
}

/// What is told when this line of a note becomes that one, under this profile.
fn told_of_note(profile: &str, from: &str, to: &str) -> Vec<String> {
    let with = |line: &str| set(profile, &TOOL.replace("note = \"value\"", &format!("note = {line}")));
    diff(&with(from), &with(to)).iter().map(ToString::to_string).collect()
}

#[test]
fn an_address_is_no_path_and_one_that_is_given_is_the_only_one() {
    let network = "network = { hosts = [\"a.test\", \"b.test\"], methods = [\"GET\"], bytes = \"1 MiB\" }";
    let profile = PROFILE.replace("interfaces = []", network);
    let (any, a) = ("{ url = \"read\" }", "{ url = \"read\", default = \"https://a.test/\" }");
    let (b, path) = ("{ url = \"read\", default = \"https://b.test/\" }", "{ path = \"read\" }");
    for (from, to, expected) in [
        (any, path, "widens: t: argument note: { url = \"read\" } → { path = \"read\" }"),
        (path, any, "widens: t: argument note: { path = \"read\" } → { url = \"read\" }"),
        ("\"value\"", any, "narrows: t: argument note: \"value\" → { url = \"read\" }"),
        (any, "\"value\"", "widens: t: argument note: { url = \"read\" } → \"value\""),
        (a, any, "widens: t: completion of argument note: default = \"https://a.test/\" → none"),
        (any, a, "widens: t: completion of argument note: none → default = \"https://a.test/\""),
        (
            a,
            b,
            "widens: t: completion of argument note: default = \"https://a.test/\" → default = \"https://b.test/\"",
        ),
    ] {
        assert_eq!(told_of_note(&profile, from, to), [expected], "{from} → {to}");
    }
    let path = |default: &str| format!("{{ path = \"read\"{default} }}");
    let told = told_of_note(PROFILE, &path(", default = \"/shared/a\""), &path(""));
    assert_eq!(told, ["narrows: t: completion of argument note: default = \"/shared/a\" → none"]);
}

#[test]
fn a_path_is_wider_than_a_value_where_named_files_leave() {
    for (from, to, direction) in [
        ("interfaces = []", "interfaces = [\"turn-attachments\"]", "narrows"),
        ("interfaces = []", "interfaces = [\"reply-attachments\"]", "widens"),
        ("interfaces = []", "interfaces = [\"messaging\"]", "widens"),
        ("guest = \"/tmp\", access = \"read-only\"", "guest = \"/vault\", access = \"copy-out\"", "widens"),
    ] {
        let told = told_of_note(&PROFILE.replace(from, to), "\"value\"", "{ path = \"read\" }");
        let expected = format!("{direction}: t: argument note: \"value\" → {{ path = \"read\" }}");
        assert_eq!(told, [expected], "{to}");
    }
}

#[test]
fn what_is_asked_about_less_for_its_class_or_default_is_wider() {
    let told = |approval: &str, from: &str, to: &str| {
        let with = |line: &str| {
            let tool = TOOL.replace("note = \"value\"", &format!("note = {line}"));
            set(PROFILE, &tool.replace("[limits]", &format!("[approval]\n{approval}\n[limits]")))
        };
        diff(&with(from), &with(to)).iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let (value, path) = ("\"value\"", "{ path = \"read\" }");
    for (approval, direction) in [
        ("note = \"always\"", "narrows"),
        ("note = \"always\"\n\"/shared/a\" = \"always\"", "narrows"),
        ("note = \"always\"\n\"/shared/a\" = \"never\"", "widens"),
        ("\"*\" = \"always\"\n\"/shared\" = \"first-time-per-path\"", "widens"),
    ] {
        let expected = format!("{direction}: t: argument note: \"value\" → {path}");
        assert_eq!(told(approval, value, path), [expected], "{approval}");
    }
    let filled = "{ path = \"read\", default = \"/shared/a\" }";
    let expected = "widens: t: completion of argument note: default = \"/shared/a\" → none";
    assert_eq!(told("note = \"always\"", filled, path), [expected]);
}

#[test]
fn another_scratch_folder_is_told_with_its_name() {
    let with = |guest: &str, files: u32| {
        let line = format!("scratch = {{ guest = \"{guest}\", bytes = \"2 MiB\", files = {files} }}\n");
        set(&format!("{PROFILE}{line}"), TOOL)
    };
    let old = with("/scratch", 100);
    for (new, direction, shown) in [
        (with("/work", 100), "widens", "/work, 2 MiB, 100 files"),
        (with("/scratch", 101), "widens", "/scratch, 2 MiB, 101 files"),
        (with("/scratch", 99), "narrows", "/scratch, 2 MiB, 99 files"),
        (set(PROFILE, TOOL), "narrows", "none"),
    ] {
        let told: Vec<_> = diff(&old, &new).iter().map(ToString::to_string).collect();
        assert_eq!(told, [format!("{direction}: t: scratch: /scratch, 2 MiB, 100 files → {shown}")]);
    }
    assert!(diff(&old, &with("/scratch", 100)).is_empty());
}

#[test]
fn a_tool_that_is_called_harmless_is_wider() {
    let reading = |safety: &str| {
        let profile = "schema = 1\nprofile = \"p\"\nwhy = \"w\"\nmounts = []\n";
        set(profile, &super::TOOL.replace("side-effecting", safety))
    };
    let shown = |old: &str, new: &str| {
        diff(&reading(old), &reading(new)).iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(shown("side-effecting", "read-only"), ["widens: t: safety: side-effecting → read-only"]);
    assert_eq!(shown("privileged", "side-effecting"), ["widens: t: safety: privileged → side-effecting"]);
    assert_eq!(shown("read-only", "privileged"), ["narrows: t: safety: read-only → privileged"]);
}

#[test]
fn tools_come_and_go() {
    let one = set(PROFILE, TOOL);
    let other = TOOL.replace("tool = \"t\"", "tool = \"u\"");
    let two =
        PolicySet::parse([("profiles/p.toml", PROFILE), ("tools/t.toml", TOOL), ("tools/u.toml", &other)])
            .expect("sound");
    let shown = |old, new| diff(old, new).iter().map(ToString::to_string).collect::<Vec<_>>();
    let grants = "side-effecting, /shared (atomic-write), /tmp (read-only), profile p";
    assert_eq!(shown(&one, &two), [format!("widens: u: tool: none → {grants}")]);
    assert_eq!(shown(&two, &one), [format!("narrows: u: tool: {grants} → none")]);
    assert!(widens(&diff(&one, &two)) && !widens(&diff(&two, &one)));
}

#[test]
fn how_it_is_written_makes_no_difference() {
    for (from, to) in [
        ("interfaces = []\n", ""),
        ("memory = \"16 MiB\"", "memory = \"16384 KiB\"\ndeadline = \"30000ms\""),
        ("[arguments]", "# a remark\n\n[arguments]"),
        ("note = \"value\"\n", "'note' = 'value'\n"),
        ("body = \"content\"\nnote = \"value\"\n", "note = \"value\"\nbody = \"content\"\n"),
    ] {
        assert_eq!(told(from, to), [""; 0], "{from} → {to}");
    }
}

/// A profile and a tool from few choices.
#[derive(Clone, Debug)]
struct Parts {
    mounts: Vec<Option<&'static str>>,
    classes: Vec<Option<&'static str>>,
    safety: &'static str,
    mib: u32,
}

fn parts() -> impl Strategy<Value = Parts> {
    let access = prop::sample::select(vec![
        None,
        Some("copy-out"),
        Some("write-only"),
        Some("read-only"),
        Some("atomic-write"),
    ]);
    let class = prop::sample::select(vec![
        None,
        Some("\"value\""),
        Some("\"content\""),
        Some("{ path = \"read\" }"),
        Some("{ path = \"write\" }"),
        Some("{ path = \"write-below\" }"),
    ]);
    let safety = prop::sample::select(vec!["read-only", "side-effecting"]);
    let parts = (prop::collection::vec(access, 3), prop::collection::vec(class, 3), safety, 1..3_u32);
    parts.prop_map(|(mounts, classes, safety, mib)| Parts { mounts, classes, safety, mib })
}

/// Pairs that differ in one part: where more differs, one change hides that another went unnoticed.
fn neighbours() -> impl Strategy<Value = (Parts, Parts)> {
    (parts(), parts(), 0..8_usize).prop_map(|(old, other, which)| {
        let mut new = old.clone();
        match which {
            0..3 => new.mounts[which] = other.mounts[which],
            3..6 => new.classes[which - 3] = other.classes[which - 3],
            6 => new.safety = other.safety,
            _ => new.mib = other.mib,
        }
        (old, new)
    })
}

impl Parts {
    fn set(&self) -> PolicySet {
        // What would not load: writing under a profile that does not, and harmlessness under one
        // that does.
        let writes = ["atomic-write", "write-only"].iter().any(|access| self.mounts.contains(&Some(access)));
        let safety = if writes { "side-effecting" } else { self.safety };
        let allowed = |class: &str| match writes {
            true => class.to_owned(),
            false => class.replace("write-below", "read").replace("write", "read"),
        };
        let mount = |(guest, access): (&str, &Option<&str>)| {
            Some(format!("{{ guest = {guest:?}, access = {:?} }}, ", access.as_ref()?))
        };
        let class =
            |(at, class): (&str, &Option<&str>)| Some(format!("{at} = {}\n", allowed(class.as_ref()?)));
        let mounts: String =
            ["/shared", "/tmp", "/vault"].into_iter().zip(&self.mounts).filter_map(mount).collect();
        let classes: String =
            ["a", "\"b[]\"", "\"b[].c\""].into_iter().zip(&self.classes).filter_map(class).collect();
        let profile = format!("schema = 1\nprofile = \"p\"\nwhy = \"w\"\nmounts = [{mounts}]\n");
        let tool = super::TOOL.replace("side-effecting", safety);
        let tool = format!("{tool}[arguments]\n{classes}[limits]\narguments = \"{} MiB\"\n", self.mib);
        PolicySet::parse([("profiles/p.toml", &*profile), ("tools/t.toml", &*tool)]).expect("sound")
    }
}

/// Slow and obvious: calls that differ in every way that a rule could look at.
fn calls() -> Vec<Value> {
    let texts = ["/shared/x", "/shared", "/tmp/x", "/tmp", "/vault/x", "/vault", "/etc/x", "text"];
    let values: Vec<Value> = texts
        .iter()
        .map(|t| json!(t))
        .chain([json!(1), json!(null), json!([1]), json!({ "c": 1 })])
        .collect();
    let places =
        |v: &Value| [json!({ "a": v }), json!({ "b": [v] }), json!({ "b": [{ "c": v }] }), json!({ "b": v })];
    values.iter().flat_map(places).collect()
}

fn permit(set: &PolicySet, arguments: &Value) -> Option<Permit> {
    let tool = ToolName::parse("t").expect("a name");
    let call = JudgedCall { id: TurnId::new("turn").call(0), tool, arguments: arguments.clone() };
    match judge(call, set.get("t").expect("there")) {
        Verdict::Permit(permit) => Some(permit),
        // Not without a person.
        Verdict::Ask(_) | Verdict::Deny(_) => None,
    }
}

/// Paths that a permit may let a guest stage.
fn staged(permit: &Permit) -> Vec<&'static str> {
    let paths = ["/shared/x", "/shared/x/y", "/tmp/x", "/tmp/x/y", "/vault/x", "/vault/x/y"];
    let may = |path: &&str| permit.may_stage(&GuestPath::parse(path).expect("a path"));
    paths.into_iter().filter(may).collect()
}

/// What the audit shows of a call as it is.
fn audited(set: &PolicySet, arguments: &Value) -> Vec<&'static str> {
    let shown = redact(arguments, set.get("t")).to_string();
    ["/shared/x", "/etc/x", "text"].into_iter().filter(|text| shown.contains(text)).collect()
}

/// What is newly permitted, staged or shown must be told as a widening.
fn hold(old: &PolicySet, new: &PolicySet) -> Result<(), TestCaseError> {
    let found = diff(old, new);
    let more = |old: &[&str], new: &[&str]| new.iter().any(|path| !old.contains(path));
    for call in calls() {
        let (before, after) = (permit(old, &call), permit(new, &call));
        let permitted = before.is_none() && after.is_some();
        let staged = |permit: &Option<Permit>| permit.as_ref().map(staged).unwrap_or_default();
        let stages = more(&staged(&before), &staged(&after));
        let shows = more(&audited(old, &call), &audited(new, &call));
        if permitted || stages || shows {
            prop_assert!(widens(&found), "{call}: {permitted} {stages} {shows}: {found:?}");
        }
    }
    // Backwards every change is there again, and none is lost.
    prop_assert_eq!(diff(new, old).len(), found.len());
    Ok(())
}

proptest! {
    #[test]
    fn a_set_differs_from_itself_in_nothing(parts in parts()) {
        prop_assert_eq!(diff(&parts.set(), &parts.set()), []);
    }

    #[test]
    fn whatever_is_newly_permitted_staged_or_shown_is_told(old in parts(), new in parts()) {
        hold(&old.set(), &new.set())?;
    }

    #[test]
    fn one_changed_part_is_enough_to_be_told((old, new) in neighbours()) {
        hold(&old.set(), &new.set())?;
    }
}
