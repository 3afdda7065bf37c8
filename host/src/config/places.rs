//! Where each key was written: the line of the file, or the variable. For refusals of what is
//! understood and does not make sense, or does not work.

use super::{ConfigError, keys};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use toml::de::{DeTable, DeValue};

/// Where keys were written.
#[derive(Clone, Debug, Default)]
pub(super) struct KeyPositions {
    file: Option<String>,
    /// By key such as `channels.telegram.groups.-100.members`, and by section: its line, from 1.
    lines: BTreeMap<String, usize>,
    /// The keys that a variable decides.
    variables: BTreeSet<&'static str>,
}

impl KeyPositions {
    /// Of a file with this text, which is TOML.
    pub(super) fn from_file(file: String, text: &str) -> Self {
        let mut lines = BTreeMap::new();
        if let Ok(table) = DeTable::parse(text) {
            collect(table.get_ref(), "", text, &mut lines);
        }
        Self { file: Some(file), lines, variables: BTreeSet::new() }
    }

    /// And of these variables.
    pub(super) fn with_environment(self, environment: &BTreeMap<String, String>) -> Self {
        let variables = keys::all().filter(|key| environment.contains_key(&keys::variable(key))).collect();
        Self { variables, ..self }
    }

    /// A refusal of what the key says.
    pub(super) fn refuse(&self, key: &str, problem: impl Display) -> ConfigError {
        let section = key.rsplit_once('.').map_or("", |(section, _)| section);
        let problem = format!("[{section}] {problem}");
        match (self.variable(key), self.line(key)) {
            (Some(name), _) => ConfigError::Environment(name, problem),
            (None, Some((file, line))) => ConfigError::Invalid(format!("{file}:{line}: {problem}")),
            (None, None) => ConfigError::Invalid(problem),
        }
    }

    /// The place in words: `cofferdam.toml:12`, or the variable; none where nobody wrote the key or
    /// its section.
    pub(super) fn get(&self, key: &str) -> Option<String> {
        self.variable(key).or_else(|| self.line(key).map(|(file, line)| format!("{file}:{line}")))
    }

    fn variable(&self, key: &str) -> Option<String> {
        // What a table holds is written where the table is.
        let known = self.variables.iter().find(|known| {
            key.strip_prefix(**known).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        });
        known.map(|known| keys::variable(known))
    }

    /// The line of the key, or of what it would be in.
    fn line(&self, key: &str) -> Option<(&str, usize)> {
        let mut around = std::iter::successors(Some(key), |key| Some(key.rsplit_once('.')?.0));
        let line = around.find_map(|key| self.lines.get(key))?;
        Some((self.file.as_deref()?, *line))
    }
}

fn collect(table: &DeTable<'_>, within: &str, text: &str, lines: &mut BTreeMap<String, usize>) {
    for (name, value) in table {
        let key = format!("{within}{}", name.get_ref());
        if let DeValue::Table(inner) = value.get_ref() {
            collect(inner, &format!("{key}."), text, lines);
        }
        lines.insert(key, line_of(text, name.span().start));
    }
}

/// The line in which the byte is, from 1.
pub(super) fn line_of(text: &str, byte: usize) -> usize {
    1 + text.as_bytes().iter().take(byte).filter(|b| **b == b'\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_found_where_it_is_or_would_be() {
        let text = "[turns]\nrounds = 1\n\n[channels.telegram]\ngroups = { \"-5\" = { members = \"all\" } }\n\
                    [channels.telegram.timing]\n";
        let environment = [("COFFERDAM_TURNS_CALLS".to_owned(), "0".to_owned())].into();
        let places = KeyPositions::from_file("c.toml".into(), text).with_environment(&environment);
        for (key, place) in [
            ("turns.rounds", Some("c.toml:2")),
            ("turns.deadline", Some("c.toml:1")),
            ("turns.calls", Some("COFFERDAM_TURNS_CALLS")),
            ("channels.telegram.groups.-5.members", Some("c.toml:5")),
            ("channels.telegram.groups.-6.members", Some("c.toml:5")),
            ("channels.telegram.token_env", Some("c.toml:4")),
            ("provider.model", None),
        ] {
            assert_eq!(places.get(key).as_deref(), place, "{key}");
        }
        assert_eq!(places.refuse("turns.rounds", "x").to_string(), "c.toml:2: [turns] x");
        assert_eq!(places.refuse("turns.calls", "x").to_string(), "COFFERDAM_TURNS_CALLS: [turns] x");
        assert_eq!(places.refuse("log.filter", "x").to_string(), "[log] x");
    }
}
