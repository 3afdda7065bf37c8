//! Policy files: any text is read or refused with a plain problem; what loads is consistent in
//! itself.
//!
//! The bytes are files one after the other, each after a line `#@ NAME`, which is a comment of
//! TOML.

use crate::assert_plain;
use cofferdam_core::capability::MOUNTS;
use cofferdam_core::id::TurnId;
use cofferdam_core::limits::Limits;
use cofferdam_policy::{
    ArgumentClass, JudgedCall, PathUse, PolicyProblem, PolicySet, Safety, ToolPolicy, Verdict, judge,
};
use cofferdam_review::diff::{Direction, diff, widens};
use cofferdam_review::explain::explain;
use cofferdam_review::mend;
use serde_json::{Map, Value, json};

/// Loads the files; holds the problems, or the policies, to what they promise.
pub fn policy_files(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let files = files(text);
    match PolicySet::parse(files.iter().copied()) {
        Err(problems) => {
            assert!(!problems.is_empty(), "refused without a word");
            problems.iter().for_each(|problem| told(problem, &files));
        }
        Ok(set) => {
            assert!(set.iter().next().is_some(), "no policy at all loads");
            set.iter().for_each(|policy| consistent(policy, &files));
            compared(&set, &files);
            // Mending reads every file again for each suggestion.
            set.iter().take(2).for_each(|policy| mended(&set, policy));
        }
    }
}

fn files(text: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    for part in text.split("#@ ").skip(1).take(8) {
        let (name, text) = part.split_once('\n').unwrap_or((part, ""));
        // Of two files of one name a folder holds the last.
        found.retain(|(other, _)| *other != name);
        found.push((name, text));
    }
    found
}

fn told(problem: &PolicyProblem, files: &[(&str, &str)]) {
    assert_plain(&problem.to_string());
    assert!(!problem.problem.is_empty());
    if let (Some(line), Some((_, text))) =
        (problem.line, files.iter().find(|(name, _)| *name == problem.file))
    {
        let lines = text.split('\n').count();
        assert!((1..=lines).contains(&line), "{problem} of {lines} lines");
    }
}

fn consistent(policy: &ToolPolicy, files: &[(&str, &str)]) {
    let lines = files.iter().find(|(name, _)| *name == policy.file).map(|(_, text)| text.split('\n').count());
    let lines = lines.expect("a policy comes from one of the files");
    assert!(!policy.why.trim().is_empty() && policy.sha256.len() == 64);
    for (limit, ceiling) in policy.limits.rows().into_iter().zip(Limits::CEILING.rows()) {
        assert!(limit.amount <= ceiling.amount, "{}: {} above {}", policy.tool, limit.shown, ceiling.shown);
    }
    for (at, mount) in policy.grants.mounts.iter().enumerate() {
        assert!(MOUNTS.contains(&mount.guest.as_str()), "{mount:?}");
        assert!(
            policy.grants.mounts[..at].iter().all(|other| other.guest != mount.guest),
            "twice: {mount:?}"
        );
    }
    assert!(policy.safety != Safety::ReadOnly || !policy.grants.may_write(), "reads only, and may write");
    for (at, class) in &policy.arguments {
        assert!(policy.argument_line(at).is_some_and(|line| (1..=lines).contains(&line)), "{at:?}");
        let writes = matches!(class, ArgumentClass::Path(PathUse::Write | PathUse::WriteBelow));
        assert!(!writes || policy.grants.may_write(), "{at:?} is written where nothing may be");
        assert!(!class.spell().is_empty());
    }
    for (at, completion) in &policy.completions {
        assert!(matches!(policy.class(at), Some(ArgumentClass::Path(_))), "{at:?} is completed and no path");
        assert!(!completion.spell().is_empty());
    }
    let printed = serde_json::to_value(policy).expect("it can be printed");
    assert_eq!(printed["tool"], json!(policy.tool.as_str()));
    defaults_pass(policy);
}

/// A call without arguments is completed to one that is permitted: a default is a path that the
/// judge takes.
fn defaults_pass(policy: &ToolPolicy) {
    let mut arguments = json!({});
    policy.complete(&mut arguments);
    let call = JudgedCall { id: TurnId::new("fuzz").call(0), tool: policy.tool.clone(), arguments };
    let verdict = judge(call, policy);
    assert!(
        !matches!(verdict, Verdict::Deny(_)),
        "{}: its own defaults are denied: {verdict:?}",
        policy.tool
    );
}

fn compared(set: &PolicySet, files: &[(&str, &str)]) {
    assert_eq!(diff(set, set), [], "a set differs from itself");
    let backwards = PolicySet::parse(files.iter().rev().copied()).expect("the order of files means nothing");
    assert_eq!(diff(set, &backwards), []);
    assert_eq!(set.sha256(), backwards.sha256());
    let none = PolicySet::default();
    assert!(widens(&diff(&none, set)), "a new tool widens");
    let gone = diff(set, &none);
    assert!(!gone.is_empty() && gone.iter().all(|change| change.direction == Direction::Narrows));
    for change in diff(&none, set).iter().chain(&gone) {
        assert_plain(&change.to_string());
    }
}

/// Every way out that is suggested for a denied call permits it.
fn mended(set: &PolicySet, policy: &ToolPolicy) {
    let path = |class: &ArgumentClass| matches!(class, ArgumentClass::Path(_));
    let named = policy.arguments.iter().filter(|(at, class)| path(class) && !at.contains(['[', '.']));
    let arguments: Map<String, Value> = named.map(|(at, _)| (at.clone(), json!("/vault/key"))).collect();
    let arguments = Value::Object(arguments);
    let denials: Vec<_> = explain(policy, &arguments)
        .into_iter()
        .flat_map(|place| place.denials)
        .map(|told| told.denial)
        .collect();
    if denials.is_empty() {
        return;
    }
    for suggestion in mend::suggest_for_call(set, policy, &arguments, &denials) {
        let edited = suggestion.edits.iter().try_fold(set.clone(), |set, edit| edit.apply(&set));
        let edited = edited.expect("an edit that is suggested can be made");
        let policy = edited.get(policy.tool.as_str()).expect("the tool is still there");
        let call = JudgedCall {
            id: TurnId::new("fuzz").call(0),
            tool: policy.tool.clone(),
            arguments: arguments.clone(),
        };
        assert!(!matches!(judge(call, policy), Verdict::Deny(_)), "a suggestion does not help");
        assert!(widens(&suggestion.changes));
    }
}
