//! Cases of policies: each changes one text in a sound policy, and the change is refused with its
//! line, or holds. A gateway does not start under what `policy check` refuses.

use serde::Deserialize;
use serde_json::Value;
use std::fs;
use support::home::Home;

/// A file of cases.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Table {
    /// The sound policy.
    pub(super) profile: String,
    pub(super) tool: String,
    pub(super) case: Vec<Case>,
}

/// One change.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Case {
    pub(super) name: String,
    /// `profile` or `tool`.
    file: File,
    /// What is replaced, at its first place; absent: all of it.
    replace: Option<String>,
    by: String,
    /// The line of the problem, 0 for the file as a whole; absent: the policy is sound.
    line: Option<u64>,
    /// Where the problem is told, if not in the file that was changed.
    told_in: Option<File>,
    /// Parts of the problem, or of what the gateway says to `path`.
    #[serde(default)]
    says: Vec<String>,
    /// A path that `file_write` is given under a policy that is sound, and the code.
    path: Option<String>,
    expect: Option<String>,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum File {
    Profile,
    Tool,
}

/// Runs the cases.
pub(super) fn run(table: &Table) {
    let home = Home::new().own_policies();
    let dir = home.policies_dir();
    for folder in ["tools", "profiles"] {
        for entry in fs::read_dir(dir.join(folder)).expect("there") {
            fs::remove_file(entry.expect("readable").path()).expect("ours");
        }
    }
    fs::create_dir_all(home.host("/vault")).expect("writable");
    fs::write(home.host("/vault/secret"), "CANARY").expect("writable");
    let put = |profile: &str, tool: &str| {
        fs::write(dir.join("profiles/p.toml"), profile).expect("writable");
        fs::write(dir.join("tools/t.toml"), tool).expect("writable");
    };
    let mut wrong = Vec::new();
    for case in &table.case {
        let (mut profile, mut tool) = (table.profile.clone(), table.tool.clone());
        let text = if case.file == File::Profile { &mut profile } else { &mut tool };
        match &case.replace {
            Some(from) => {
                assert!(text.contains(from.as_str()), "{}: {from:?} is not in the policy", case.name);
                *text = text.replacen(from.as_str(), &case.by, 1);
            }
            None => text.clone_from(&case.by),
        }
        put(&profile, &tool);
        let found = match case.line {
            Some(line) => refused(&home, case, line),
            None => holds(&home, case),
        };
        if let Err(said) = found {
            wrong.push(format!("{}: {said}", case.name));
        }
        put(&table.profile, &table.tool);
        let ran = home.call(&["file_write", "path=/tmp/next", "content=next", "overwrite=true"]);
        assert_eq!(ran.code, Some(0), "after {}: {ran:?}", case.name);
        assert_eq!(fs::read(home.host("/vault/secret")).expect("there"), b"CANARY");
        assert!(home.leftovers().is_empty(), "after {}", case.name);
    }
    assert_eq!(home.run(&["audit", "verify"]).code, Some(0));
    assert!(wrong.is_empty(), "{} are not as the table says:\n{}", wrong.len(), wrong.join("\n"));
}

/// The check tells the line, and nothing starts.
fn refused(home: &Home, case: &Case, line: u64) -> Result<(), String> {
    let ran = home.run(&["policy", "check", "policies", "--json"]);
    let report: Value = serde_json::from_str(&ran.stdout).map_err(|e| format!("{e}: {ran:?}"))?;
    let file =
        if case.told_in.unwrap_or(case.file) == File::Profile { "profiles/p.toml" } else { "tools/t.toml" };
    let problems = report["problems"].as_array().ok_or("no problems")?;
    let placed = |problem: &&Value| problem["file"] == file && problem["line"].as_u64().unwrap_or(0) == line;
    let problem = problems.iter().find(placed).and_then(|problem| problem["problem"].as_str());
    let Some(problem) = problem.filter(|_| ran.code == Some(3)) else {
        return Err(format!("no problem in line {line}: {ran:?}"));
    };
    if let Some(part) = case.says.iter().find(|part| !problem.contains(part.as_str())) {
        return Err(format!("{part:?} is not said: {problem}"));
    }
    let before = home.audit().len();
    let ran = home.call(&["file_write", "path=/tmp/never", "content=x"]);
    let started = ran.code == Some(0) || home.host("/tmp/never").exists();
    // What concerns the text alone stops everything; what a component's schema shows, that tool
    // alone.
    let stopped = ran.code == Some(2) && home.audit().len() == before;
    let unavailable = ran.code == Some(1) && ["tool_unavailable", "unknown_tool"].contains(&&*ran.error());
    if started || !(stopped || unavailable) {
        return Err(format!("a call under it: {ran:?}"));
    }
    Ok(())
}

/// The policy is sound, and holds.
fn holds(home: &Home, case: &Case) -> Result<(), String> {
    let ran = home.run(&["policy", "check", "policies"]);
    if ran.code != Some(0) {
        return Err(format!("it is refused: {ran:?}"));
    }
    let Some(path) = &case.path else { return Ok(()) };
    let ran = home.call(&["file_write", &format!("path={path}"), "content=x", "overwrite=true"]);
    let expected = case.expect.as_deref().unwrap_or("ok");
    let code = if ran.code == Some(0) { "ok".to_owned() } else { ran.error() };
    if code != expected || case.says.iter().any(|part| !ran.stdout.contains(part.as_str())) {
        return Err(format!("{path} is not {expected}: {ran:?}"));
    }
    Ok(())
}
