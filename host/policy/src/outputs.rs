//! `[outputs]` of a command's policy: which files of its scratch folder are published, and at which
//! judged path; and the scratch folder that a profile grants.

use super::classes::{ArgumentClass, Classified, PathUse};
use super::command::CommandOutputRule;
use super::effective::EntryPolicy;
use super::source::{CheckedPart, PolicySource};
use cofferdam_core::capability::{MOUNTS, SCRATCH_BYTES_MAX, SCRATCH_FILES_MAX, ScratchGrant};
use cofferdam_core::text::{is_deceptive, one_line};
use std::collections::BTreeMap;
use toml::Spanned;

/// What is wrong with a scratch folder, if anything.
pub(super) fn scratch_problem(scratch: &ScratchGrant) -> Option<String> {
    let ScratchGrant { guest, bytes, files } = scratch;
    let name = guest.strip_prefix('/').unwrap_or_default();
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-';
    if name.is_empty() || !name.bytes().all(plain) || MOUNTS.contains(&guest.as_str()) {
        let shown = one_line(guest, 80);
        return Some(format!("scratch: {shown:?} is no name of its own; write guest = \"/scratch\""));
    }
    if *bytes > SCRATCH_BYTES_MAX || *files > SCRATCH_FILES_MAX {
        return Some(format!(
            "scratch: write at most bytes = \"{SCRATCH_BYTES_MAX}\" and files = {SCRATCH_FILES_MAX}"
        ));
    }
    None
}

/// The entry with what it publishes, or all that is wrong with that.
pub(super) fn add(
    lines: BTreeMap<String, Spanned<CommandOutputRule>>,
    entry: EntryPolicy,
    arguments: &BTreeMap<String, Spanned<Classified>>,
    has_scratch: bool,
    source: &PolicySource<'_>,
) -> CheckedPart<EntryPolicy> {
    let Some(at) = lines.values().next().map(|line| line.span().start) else { return Ok(entry) };
    let refused = |said: &str| Err(vec![source.problem_at(at, &format!("[outputs] {said}"))]);
    let EntryPolicy::Command(mut command) = entry else {
        return refused("is for a [command]; remove it");
    };
    if !has_scratch {
        let grant = "scratch = { guest = \"/scratch\", bytes = \"2 MiB\", files = 100 }";
        return refused(&format!("needs a scratch folder; write in the profile: {grant}"));
    }
    let mut problems = Vec::new();
    for (name, line) in lines {
        let span = line.span().start;
        let rule = CommandOutputRule { name, ..line.into_inner() };
        let class = arguments.get(&rule.to).map(|classified| classified.get_ref().class);
        let found = problem(&rule.name, &rule.to, class).or_else(|| {
            let replace = rule.replace.as_ref()?;
            let is_flag = command.schema["properties"][replace]["type"] == "boolean";
            (!is_flag).then(|| format!("replace = {:?} is no boolean argument", one_line(replace, 80)))
        });
        match found {
            Some(said) => problems.push(source.problem_at(span, &format!("[outputs] {said}"))),
            None => command.outputs.push(rule),
        }
    }
    if problems.is_empty() { Ok(EntryPolicy::Command(command)) } else { Err(problems) }
}

fn problem(name: &str, to: &str, class: Option<ArgumentClass>) -> Option<String> {
    let (shown, argument) = (one_line(name, 80), one_line(to, 80));
    let below = name.strip_suffix('/').unwrap_or(name);
    let odd = |part: &str| part.is_empty() || part == "." || part == ".." || part.len() > 255;
    if below.split('/').any(odd) || below.chars().any(is_deceptive) {
        return Some(format!(
            "{shown:?} is no path below the scratch folder; write e.g. \"out.txt\" or \"out/\""
        ));
    }
    let wanted = if name.ends_with('/') { PathUse::WriteBelow } else { PathUse::Write };
    let word = if name.ends_with('/') { "write-below" } else { "write" };
    (class != Some(ArgumentClass::Path(wanted)))
        .then(|| format!("{shown:?}: argument {argument:?} must be {{ path = \"{word}\" }} in [arguments]"))
}
