//! Patterns of attachments: any text is read or refused, and a slow matcher by the words of the
//! contract agrees.
//!
//! The bytes are lines: a pattern, then paths.

use crate::assert_plain;
use cofferdam_workflow::attachment::{AttachmentSource, FolderPath, Pattern, PatternSegment};

/// Reads the pattern and matches the paths both ways.
pub fn workflow_patterns(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut lines = text.split('\n');
    let written = lines.next().unwrap_or_default();
    match AttachmentSource::parse_paths(written) {
        Err(error) => assert_plain(&error.to_string()),
        Ok(AttachmentSource::Url(url)) => panic!("{url:?} is no path"),
        Ok(AttachmentSource::File(path)) => {
            assert!(!path.names().is_empty() && !Pattern::is_pattern(written));
            assert!(path.names().iter().all(|name| name != ".." && name != "." && !name.contains('/')));
        }
        Ok(AttachmentSource::Workspace(path)) => assert!(["/shared", "/tmp"].contains(&path.mount())),
        Ok(AttachmentSource::Pattern(pattern)) => {
            for path in lines.take(8).filter_map(|line| FolderPath::parse(line).ok()) {
                matched(&pattern, written, &path);
            }
        }
    }
}

fn matched(pattern: &Pattern, written: &str, path: &FolderPath) {
    let found = lead_to(pattern.segments(), path.names());
    if found {
        let hidden = |name: &String| name.starts_with('.');
        let segments = || written.split('/').filter(|part| !matches!(*part, "." | ".."));
        let may = segments().any(|part| part.split(['{', ',']).any(|one| one.starts_with('.')));
        assert!(may || !path.names().iter().any(hidden), "{written} matches what is hidden: {path}");
    }
    // Exponential, so for small ones; and classes have corners that the contract does not speak of.
    if written.len() > 40 || path.to_string().len() > 24 || written.contains(['[', ']']) {
        return;
    }
    let parts: Vec<&str> = written.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    if parts.contains(&"..") {
        return;
    }
    assert_eq!(
        pattern.segments().iter().filter(|s| matches!(s, PatternSegment::AnyDepth)).count() > 0,
        parts.contains(&"**")
    );
    let names: Vec<&str> = path.names().iter().map(String::as_str).collect();
    assert_eq!(found, path_matches(&parts, &names), "{written} {path}");
}

/// Whether a walk by these levels comes to the path. Each state is a segment that comes next: as
/// many steps as names times segments at most.
fn lead_to(segments: &[PatternSegment], names: &[String]) -> bool {
    let mut next = vec![false; segments.len() + 1];
    next[0] = true;
    let skip = |states: &mut Vec<bool>| {
        for (at, segment) in segments.iter().enumerate() {
            if states[at] && matches!(segment, PatternSegment::AnyDepth) {
                states[at + 1] = true;
            }
        }
    };
    for name in names {
        skip(&mut next);
        let mut after = vec![false; segments.len() + 1];
        for (at, segment) in segments.iter().enumerate().filter(|(at, _)| next[*at]) {
            let goes_on = !matches!(segment, PatternSegment::AnyDepth);
            after[at + usize::from(goes_on)] |= segment.matches_name(name);
        }
        next = after;
    }
    next[segments.len()]
}

fn path_matches(parts: &[&str], names: &[&str]) -> bool {
    match (parts, names) {
        ([], []) => true,
        (["**", rest @ ..], _) => {
            path_matches(rest, names)
                || matches!(names, [name, deeper @ ..] if !name.starts_with('.') && path_matches(parts, deeper))
        }
        ([part, rest @ ..], [name, deeper @ ..]) => {
            let alternatives = expanded(part);
            let fits = |one: &String| {
                (one.starts_with('.') || !name.starts_with('.') || !one.contains(['*', '?']))
                    && name_matches(&one.chars().collect::<Vec<_>>(), &name.chars().collect::<Vec<_>>())
            };
            alternatives.iter().any(fits) && path_matches(rest, deeper)
        }
        _ => false,
    }
}

/// Every text that the braces stand for.
fn expanded(part: &str) -> Vec<String> {
    let Some(open) = part.find('{') else { return vec![part.to_owned()] };
    let (mut depth, mut cuts) = (0, vec![open]);
    for (at, c) in part.char_indices().skip_while(|(at, _)| *at < open) {
        match c {
            '{' => depth += 1,
            '}' if depth == 1 => {
                cuts.push(at);
                break;
            }
            '}' => depth -= 1,
            ',' if depth == 1 => cuts.push(at),
            _ => {}
        }
    }
    let end = *cuts.last().expect("at least the first");
    let one =
        |pair: &[usize]| format!("{}{}{}", &part[..open], &part[pair[0] + 1..pair[1]], &part[end + 1..]);
    cuts.windows(2).flat_map(|pair| expanded(&one(pair))).collect()
}

fn name_matches(pattern: &[char], name: &[char]) -> bool {
    match (pattern, name) {
        ([], []) => true,
        (['*', rest @ ..], _) => {
            name_matches(rest, name) || matches!(name, [_, more @ ..] if name_matches(pattern, more))
        }
        (['?', rest @ ..], [_, more @ ..]) => name_matches(rest, more),
        ([c, rest @ ..], [d, more @ ..]) => c == d && name_matches(rest, more),
        _ => false,
    }
}
