//! The configuration that is written: every key with its default and its meaning, and a person's
//! answers in place of the defaults.

use anyhow::bail;

/// What is written where nobody is asked.
pub(super) const TEMPLATE: &str = include_str!("../init.toml");

/// A key of a section and its value as TOML writes it.
pub(super) type Setting = (&'static str, &'static str, toml::Value);

/// The template with these settings, each in the line that holds its key, commented out or not. Of
/// the sections of channels these are there, and the others are commented out.
///
/// # Errors
/// For a key that the template lacks.
pub(super) fn fill_template(settings: &[Setting], channels: &[&str]) -> anyhow::Result<String> {
    let mut text = String::new();
    let (mut section, mut is_there) = ("", true);
    let mut left: Vec<&Setting> = settings.iter().collect();
    for line in TEMPLATE.lines() {
        let bare = line.trim_start_matches("# ");
        let name = bare.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
        if let Some(name) = name {
            (section, is_there) = (name, !name.starts_with("channels.") || channels.contains(&name));
            let mark = if is_there { "" } else { "# " };
            text.push_str(&format!("{mark}{bare}\n"));
            continue;
        }
        let key = bare.split_once(" = ").map_or("", |(key, _)| key);
        match left.iter().position(|(at, name, _)| (*at, *name) == (section, key)) {
            Some(found) => {
                let (_, key, value) = left.remove(found);
                text.push_str(&format!("{key} = {value}\n"));
            }
            None if is_there || line.is_empty() || line.starts_with('#') => {
                text.push_str(&format!("{line}\n"));
            }
            None => text.push_str(&format!("# {line}\n")),
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
        let telegram = ["channels.telegram"];
        let filled = |settings: &[Setting]| fill_template(settings, &telegram);
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
    #[test]
    fn a_section_is_there_or_commented_out_with_its_keys() {
        let user: Setting = ("channels.discord", "allowed_users", vec![7_i64].into());
        let text = fill_template(&[user], &["channels.discord"]).expect("all are there");
        let parsed: toml::Table = text.parse().expect("TOML");
        let channels = parsed["channels"].as_table().expect("a section");
        assert_eq!(channels.keys().collect::<Vec<_>>(), ["discord"]);
        assert_eq!(channels["discord"].to_string(), "{ allowed_users = [7] }");
        let both = fill_template(&[], &["channels.discord", "channels.telegram"]).expect("all are there");
        let parsed: toml::Table = both.parse().expect("TOML");
        assert_eq!(parsed["channels"].as_table().expect("a section").len(), 2);
        assert_eq!(text.lines().count(), TEMPLATE.lines().count());
    }
}
