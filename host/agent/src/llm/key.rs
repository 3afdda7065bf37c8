//! The key of a model's server, from a variable or a file of the operator's alone. No message
//! repeats any of it.

use super::config::ProviderConfigError;
use crate::server::{SECRET_BYTES_MAX, read_secret};
use cofferdam_core::secret::Secret;
use std::path::Path;

/// The key in an environment variable.
///
/// # Errors
/// [`ProviderConfigError`], which names the variable.
pub(super) fn from_environment(name: &str, value: Option<String>) -> Result<Secret, ProviderConfigError> {
    let value = value.filter(|value| !value.trim().is_empty());
    let value = value.ok_or_else(|| ProviderConfigError::KeyVariable(name.to_owned()))?;
    check_key(&value)
        .ok_or_else(|| ProviderConfigError::KeyMalformed(format!("the environment variable {name}")))
}

/// The key in a file that its owner alone can read.
///
/// # Errors
/// [`ProviderConfigError`], among others when anybody else has a permission on the file.
pub(super) fn from_file(path: &Path) -> Result<Secret, ProviderConfigError> {
    let text = read_secret(path)?;
    check_key(&text).ok_or_else(|| ProviderConfigError::KeyMalformed(path.display().to_string()))
}

/// A key without the blanks around it; none if it could not stand in a header.
pub fn check_key(text: &str) -> Option<Secret> {
    let text = text.trim();
    let sound = (1..=SECRET_BYTES_MAX).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
    sound.then(|| Secret::new(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn what_cannot_stand_in_a_header_is_no_key() {
        assert_eq!(check_key(" sk-a_1/+=\n").expect("a key").reveal(), "sk-a_1/+=");
        for text in ["", " ", "a b", "a\nb", "ä", "a\0", &"k".repeat(SECRET_BYTES_MAX + 1)] {
            assert!(check_key(text).is_none(), "{text:?}");
        }
        let said = from_environment("MY_KEY", Some("sk 1234".into())).expect_err("refused").to_string();
        assert!(said.contains("MY_KEY") && !said.contains("1234"), "{said}");
        let said = from_environment("MY_KEY", None).expect_err("refused").to_string();
        assert!(said.contains("the environment variable MY_KEY is not set"), "{said}");
    }

    #[test]
    fn a_file_is_its_owners_alone() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("key");
        std::fs::write(&path, "sk-1\n").expect("writable");
        let mode = |mode| std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).expect("ours");
        mode(0o640);
        let said = from_file(&path).expect_err("refused").to_string();
        assert!(said.starts_with("api_key_file: ") && said.contains("chmod 600"), "{said}");
        mode(0o600);
        assert_eq!(from_file(&path).expect("a key").reveal(), "sk-1");
        assert!(from_file(dir.path()).is_err() && from_file(&dir.path().join("missing")).is_err());
        std::fs::write(&path, "k".repeat(SECRET_BYTES_MAX + 1)).expect("writable");
        assert!(from_file(&path).is_err(), "too long");
    }
}
