//! A name stands for one thing and needs no file to be opened (`docs/glossary.md`).

use super::{Source, crates, sources};
use std::collections::{BTreeMap, BTreeSet};

/// Types that each of many crates may have. Guests, each of which has its `Arguments`, are not
/// looked at.
const IN_MANY: [&str; 1] = ["Config"];

/// Words that say how something came to be, or nothing, and not what it is.
const NO_TYPES: [&str; 12] = [
    "Asked", "Came", "Found", "Held", "Known", "Place", "Said", "Shown", "Taken", "Told", "Wanted", "Written",
];
/// The same of functions, which are verbs, or nouns for what they return.
const NO_FUNCTIONS: [&str; 10] =
    ["asked", "beside", "came", "held", "here", "of", "said", "shown", "told", "whence"];

/// The items of a file that begin a line with one of these words, tests apart.
fn items(source: &Source, words: &[&str]) -> BTreeSet<String> {
    let code = source.code();
    let code = code.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let name_of = |line: &str| {
        let mut parts = line.split_whitespace().skip_while(|word| {
            word.starts_with("pub") || word.ends_with(')') || ["const", "async", "unsafe"].contains(word)
        });
        let is_item = parts.next().is_some_and(|word| words.contains(&word));
        let name = is_item.then(|| parts.next()).flatten()?;
        Some(name.split(|c: char| !c.is_alphanumeric() && c != '_').next()?.to_owned())
    };
    code.lines().filter_map(name_of).collect()
}

fn product() -> impl Iterator<Item = Source> {
    crates()
        .flat_map(sources)
        .filter(|source| !source.path.contains("/tests") && !source.path.contains("/template/"))
}

#[test]
fn no_type_name_is_in_more_than_two_crates() {
    let mut crates: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for source in product() {
        let krate = source.room().split("::").next().unwrap_or_default().to_owned();
        // What a trait asks its types for is one name for all who implement it.
        let outside: String = source
            .text
            .lines()
            .filter(|line| !line.starts_with("    type "))
            .fold(String::new(), |text, line| text + line + "\n");
        let source = Source { text: outside, ..source };
        for name in items(&source, &["struct", "enum", "trait", "type", "union"]) {
            crates.entry(name).or_default().insert(krate.clone());
        }
    }
    assert!(crates.len() > 800, "{} types: this test reads sources wrongly", crates.len());
    crates.retain(|name, crates| crates.len() > 2 && !IN_MANY.contains(&name.as_str()));
    assert!(crates.is_empty(), "{crates:#?}");
}

#[test]
fn names_say_what_a_thing_is_and_what_a_function_does() {
    let mut wrong = Vec::new();
    for source in product() {
        let types = items(&source, &["struct", "enum", "trait", "type", "union"]);
        let functions = items(&source, &["fn"]);
        let found = types.iter().filter(|name| NO_TYPES.contains(&name.as_str()));
        let found = found.chain(functions.iter().filter(|name| NO_FUNCTIONS.contains(&name.as_str())));
        wrong.extend(found.map(|name| format!("{}: {name}", source.path)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
