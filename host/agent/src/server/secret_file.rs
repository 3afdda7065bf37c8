//! A file that holds one secret and nothing else, and that its owner alone can read; and what is a
//! key, and the name of a variable that may hold one. No message repeats any of it.

use cofferdam_core::secret::Secret;
use cofferdam_warden::files::open_regular;
use cofferdam_warden::shell::quote_path;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Longer texts are no secrets that anybody was given.
pub const SECRET_BYTES_MAX: usize = 4096;

/// Why there is no secret where one is looked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MissingSecret {
    /// This variable of the environment is not set, or empty.
    #[error("the environment variable {0} is not set")]
    Variable(String),
    /// The file did not open or read.
    #[error("cannot read {0}: {1}; put the secret into that file, and nothing else")]
    Unreadable(String, String),
    /// Others may read the file.
    #[error(
        "{0} can be read by others (mode {1:03o}); run `chmod 600 {quoted}`",
        quoted = quote_path(Path::new(.0))
    )]
    Exposed(String, u32),
}

/// What the file holds; one byte more than [`SECRET_BYTES_MAX`] at most, which shows that it is too
/// long.
///
/// # Errors
/// [`MissingSecret`], among others when anybody else has a permission on the file.
pub fn read_secret(path: &Path) -> Result<String, MissingSecret> {
    let file = path.display().to_string();
    match read(path) {
        Ok((mode, _)) if mode & 0o077 != 0 => Err(MissingSecret::Exposed(file, mode)),
        Ok((_, text)) => Ok(text),
        Err(cause) => Err(MissingSecret::Unreadable(file, cause.to_string())),
    }
}

/// A key without the blanks around it; none if it could not stand in a header.
pub fn check_key(text: &str) -> Option<Secret> {
    let text = text.trim();
    is_one_word(text, SECRET_BYTES_MAX).then(|| Secret::new(text))
}

/// Whether a text is visible ASCII without blanks: some of it, and at most so much.
pub fn is_one_word(text: &str, bytes_max: usize) -> bool {
    (1..=bytes_max).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic())
}

/// Whether a variable may have this name. Capital letters alone: a key that was put there by mistake
/// is not taken for a name, and repeated.
pub fn is_variable_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    !name.is_empty() && name.chars().all(plain) && !name.starts_with(|c: char| c.is_ascii_digit())
}

/// The permissions and the beginning of a file.
fn read(path: &Path) -> io::Result<(u32, String)> {
    let file = open_regular(path)?;
    let mut text = String::new();
    (&file).take(SECRET_BYTES_MAX as u64 + 1).read_to_string(&mut text)?;
    Ok((file.metadata()?.mode() & 0o777, text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn it_is_its_owners_alone() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("key");
        std::fs::write(&path, "sk-1\n").expect("writable");
        let mode = |mode| std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).expect("ours");
        for exposed in [0o640, 0o604, 0o601] {
            mode(exposed);
            let said = read_secret(&path).expect_err("refused").to_string();
            assert!(said.contains("chmod 600") && !said.contains("sk-1"), "{said}");
        }
        let said = MissingSecret::Exposed("/a b".to_owned(), 0o640).to_string();
        assert_eq!(said, "/a b can be read by others (mode 640); run `chmod 600 '/a b'`");
        mode(0o600);
        assert_eq!(read_secret(&path).as_deref(), Ok("sk-1\n"));
        assert!(read_secret(dir.path()).is_err() && read_secret(&dir.path().join("missing")).is_err());
        std::fs::write(&path, "k".repeat(2 * SECRET_BYTES_MAX)).expect("writable");
        assert_eq!(read_secret(&path).map(|text| text.len()), Ok(SECRET_BYTES_MAX + 1));
    }

    #[test]
    fn what_cannot_stand_in_a_header_is_no_key() {
        assert_eq!(check_key(" sk-a_1/+=\n").expect("a key").reveal(), "sk-a_1/+=");
        for text in ["", " ", "a b", "a\nb", "ä", "a\0", &"k".repeat(SECRET_BYTES_MAX + 1)] {
            assert!(check_key(text).is_none(), "{text:?}");
        }
    }
}
