//! An explanation for people: the verdict, each argument with its rule, and the lines to write.

use super::Explanation;
use cofferdam_core::text::one_line;
use cofferdam_policy::spell_word;
use cofferdam_review::edit::Action;
use cofferdam_review::explain::Explained;
use cofferdam_review::mend::Suggestion;
use std::io::{self, Write};

pub(super) fn write(answer: &Explanation<'_>, embedded: bool, out: &mut dyn Write) -> io::Result<()> {
    let verdict = answer.verdict();
    match answer.policy {
        Some(policy) => {
            let (tool, profile) = (&answer.tool, one_line(&policy.profile, 80));
            writeln!(out, "{verdict}: {tool} under profile {profile} ({})", policy.file)?;
        }
        None => writeln!(out, "{verdict}: {:?}", one_line(&answer.tool, 80))?,
    }
    if let Some(refusal) = &answer.refusal {
        writeln!(out, "  {refusal}")?;
    }
    for reason in &answer.asks {
        let about = one_line(&reason.about, 200);
        let path = reason.path.as_ref().map(ToString::to_string);
        let whom = path.or_else(|| reason.recipient.clone());
        let whom = whom.map_or_else(String::new, |whom| format!(" for {whom}"));
        writeln!(out, "  asks {}{whom}: {about}  {}", spell_word(&reason.when), reason.at)?;
    }
    for problem in &answer.problems {
        writeln!(out, "  problem: {problem}")?;
    }
    for place in &answer.places {
        argument(answer, place, out)?;
    }
    for how in &answer.change_call {
        writeln!(out, "Change the call: {how}.")?;
    }
    for (n, suggestion) in answer.suggestions.iter().enumerate() {
        writeln!(
            out,
            "{} the policy, and this call is permitted:",
            if n == 0 { "Change" } else { "Or change" }
        )?;
        write_suggestion(suggestion, out)?;
    }
    if embedded && !answer.suggestions.is_empty() {
        writeln!(
            out,
            "These policies are embedded: write them out with `cofferdam policy export policies`, change them there, and \
             name the folder: [policies] dir = \"policies\"."
        )?;
    }
    Ok(())
}

fn argument(answer: &Explanation<'_>, place: &Explained, out: &mut dyn Write) -> io::Result<()> {
    let class = place.class.map_or_else(|| "no text, so no rule is needed".to_owned(), |c| c.spell());
    let rule =
        answer.policy.zip(place.line).map_or_else(String::new, |(p, line)| format!("  {}:{line}", p.file));
    writeln!(out, "  argument {} = {class}{rule}", one_line(&place.at, 200))?;
    for (guest, (access, at)) in &place.mounts {
        writeln!(out, "    in {guest}, {}  {at}", access.as_str())?;
    }
    for (host, at) in &place.hosts {
        writeln!(out, "    at {host}  {at}")?;
    }
    for told in &place.denials {
        let at = told.decided_at.as_ref().map_or_else(String::new, |at| format!("  {at}"));
        writeln!(out, "    denied: {}{at}", told.denial.reason)?;
    }
    Ok(())
}

fn write_suggestion(suggestion: &Suggestion, out: &mut dyn Write) -> io::Result<()> {
    for edit in &suggestion.edits {
        let what = match edit.action {
            Action::Replace => "replace this line",
            Action::Insert => "insert before this line",
        };
        writeln!(out, "  {}:{}: {what}", edit.file, edit.line)?;
        for (sign, text) in [("-", edit.old.as_deref()), ("+", Some(&edit.text))] {
            for line in text.into_iter().flat_map(str::lines) {
                writeln!(out, "    {sign} {}", one_line(line, 1000))?;
            }
        }
    }
    writeln!(out, "  which changes:")?;
    for change in &suggestion.changes {
        writeln!(out, "    {change}")?;
    }
    Ok(())
}
