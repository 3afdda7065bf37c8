//! The key of a model's server, from a variable or a file of the operator's alone. No message
//! repeats any of it.

use super::config::refuse;
use crate::server::{UnusableKey, check_key, read_secret};
use cofferdam_core::secret::Secret;
use std::path::Path;

/// The key in an environment variable.
///
/// # Errors
/// [`UnusableKey`], which names the variable.
pub(super) fn from_environment(name: &str, value: Option<String>) -> Result<Secret, UnusableKey> {
    let Some(value) = value.filter(|value| !value.trim().is_empty()) else {
        let said = format!(
            "the environment variable {name} is not set; put the key into it, or name another variable in api_key_env"
        );
        return Err(UnusableKey::of_variable("provider", "api_key_env", name, said));
    };
    check_key(&value).ok_or_else(|| malformed(format!("the environment variable {name}")))
}

/// The key in a file that its owner alone can read.
///
/// # Errors
/// [`UnusableKey`], among others when anybody else has a permission on the file.
pub(super) fn from_file(path: &Path) -> Result<Secret, UnusableKey> {
    let text = read_secret(path).map_err(|error| UnusableKey::of_file("provider", "api_key_file", error))?;
    check_key(&text).ok_or_else(|| malformed(path.display().to_string()))
}

fn malformed(place: String) -> UnusableKey {
    let said = format!("{place} does not hold a key; a key is one word without blanks, so copy it again");
    refuse("api_key_file", said)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::SECRET_BYTES_MAX;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn what_is_wrong_with_a_variable_is_told_without_what_it_holds() {
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
