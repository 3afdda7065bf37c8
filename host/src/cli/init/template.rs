//! The configuration that is written: every key with its default and its meaning, and a person's answers in place
//! of the defaults.

use anyhow::bail;

/// What is written where nobody is asked.
pub(super) const TEMPLATE: &str = include_str!("../init.toml");

/// A key of a section and its value as TOML writes it.
pub(super) type Setting = (&'static str, &'static str, toml::Value);

/// The template with these settings, each in the line that holds its key, commented out or not.
///
/// # Errors
/// For a key that the template lacks.
pub(super) fn filled(settings: &[Setting]) -> anyhow::Result<String> {
    let mut text = String::new();
    let mut section = "";
    let mut left: Vec<&Setting> = settings.iter().collect();
    for line in TEMPLATE.lines() {
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']');
        }
        let key = line.trim_start_matches("# ").split_once(" = ").map_or("", |(key, _)| key);
        match left.iter().position(|(at, name, _)| (*at, *name) == (section, key)) {
            Some(found) => {
                let (_, key, value) = left.remove(found);
                text.push_str(&format!("{key} = {value}\n"));
            }
            None => text.push_str(&format!("{line}\n")),
        }
    }
    if let Some((section, key, _)) = left.first() {
        bail!("the template has no line for [{section}] {key}");
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_takes_the_line_of_its_key_and_nothing_else_changes() {
        assert_eq!(filled(&[]).expect("the template"), TEMPLATE);
        let settings: [Setting; 3] = [
            ("workspace", "root", "/a \"b\"".into()),
            ("provider", "kind", "anthropic".into()),
            ("channels.telegram", "allowed_users", vec![7_i64].into()),
        ];
        let text = filled(&settings).expect("all are there");
        let changed: Vec<_> =
            text.lines().zip(TEMPLATE.lines()).filter(|(new, old)| new != old).map(|(new, _)| new).collect();
        assert_eq!(changed, ["root = '/a \"b\"'", "kind = \"anthropic\"", "allowed_users = [7]"]);
        assert_eq!(text.lines().count(), TEMPLATE.lines().count());
        assert!(filled(&[("workspace", "kind", "x".into())]).is_err(), "another section's key");
    }
}
