//! A path in a command that a message gives to be run: a name in it must not become another
//! command.

use std::path::Path;

/// A path as one word of a shell's command.
pub fn quote_path(path: &Path) -> String {
    let text = path.display().to_string();
    shlex::try_quote(&text).map_or(text.clone(), |quoted| quoted.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_word_of_a_command() {
        for path in ["/a/b", "/a b", "/a'b", "/$(x)"] {
            assert_eq!(shlex::split(&quote_path(Path::new(path))), Some(vec![path.to_owned()]), "{path}");
        }
    }
}
