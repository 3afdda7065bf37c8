//! Where a channel's token is: a variable of the environment, or a file that its owner alone can
//! read. No message repeats any of it.

use cofferdam_agent::server::{UnusableKey, read_secret};
use std::ffi::OsStr;
use std::path::Path;

/// The keys that say where a token is.
#[derive(Clone, Copy, Debug)]
pub struct TokenAt<'a> {
    /// `token_env`.
    pub variable: &'a str,
    /// `token_file`.
    pub file: Option<&'a Path>,
    /// Of whose bot it is.
    pub platform: PlatformNames,
}

/// A platform as people know it, and what its tokens are like, in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlatformNames {
    /// Its name.
    pub name: &'static str,
    /// `channels.…`, its section of the configuration.
    pub section: &'static str,
    /// The variable when nobody names one: then a file stands for it.
    pub variable: &'static str,
    /// Where people get one.
    pub source: &'static str,
    /// What one looks like.
    pub form: &'static str,
}

impl TokenAt<'_> {
    /// Whether the keys make sense.
    ///
    /// # Errors
    /// [`UnusableKey`], which says what to write instead.
    pub fn check(&self) -> Result<(), UnusableKey> {
        let PlatformNames { section, variable, .. } = self.platform;
        let said = if !is_variable_name(self.variable) {
            // Perhaps the token itself, so it is not repeated.
            format!(
                "token_env is not the name of an environment variable; write a name there, such as {variable}, and put the token into that variable"
            )
        } else if self.file.is_some() && self.variable != variable {
            "token_env and token_file are both written; take one of them out".to_owned()
        } else {
            return Ok(());
        };
        Err(UnusableKey::new(section, "token_env", said))
    }

    /// What is there, in the file or this process's environment, as `parse` reads it.
    ///
    /// # Errors
    /// [`UnusableKey`], which names the file or variable.
    pub fn read<T>(&self, parse: impl Fn(&str) -> Option<T>) -> Result<T, UnusableKey> {
        self.read_in(|name| std::env::var(name).ok(), parse)
    }

    fn read_in<T>(
        &self,
        env: impl Fn(&str) -> Option<String>,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<T, UnusableKey> {
        let PlatformNames { section, source, form, .. } = self.platform;
        let malformed = |key: &str, place: String| {
            let said =
                format!("{place} does not hold a bot token, which is {form}; copy it again from {source}");
            UnusableKey::new(section, key, said)
        };
        if let Some(file) = self.file {
            let key = "token_file";
            let text = read_secret(file).map_err(|error| {
                // The token itself: it is not repeated, and nothing says it from here on.
                let name = file.file_name().and_then(OsStr::to_str).filter(|_| !file.exists());
                if name.is_some_and(|name| parse(name).is_some()) {
                    let said = format!(
                        "{key} looks like a bot token, and no file is called so; put the token into a file that only its owner can read, and write its path there"
                    );
                    return UnusableKey::new(section, key, said);
                }
                UnusableKey::of_file(section, key, error)
            })?;
            return parse(&text).ok_or_else(|| malformed(key, format!("{key}: {}", file.display())));
        }
        self.check()?;
        let (key, name) = ("token_env", self.variable);
        let Some(value) = env(name).filter(|value| !value.trim().is_empty()) else {
            let said = format!(
                "the environment variable {name} is not set; put the bot's token ({form}) from {source} into it, or name another variable in [{section}] token_env"
            );
            return Err(UnusableKey::of_variable(section, key, name, said));
        };
        parse(&value).ok_or_else(|| malformed(key, format!("the environment variable {name}")))
    }

    /// In words: the file or the variable.
    pub fn place(&self) -> String {
        self.file.map_or_else(|| self.variable.to_owned(), |file| file.display().to_string())
    }
}

fn is_variable_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !name.is_empty() && name.chars().all(plain) && !name.starts_with(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    const OF: PlatformNames = PlatformNames {
        name: "X",
        section: "channels.x",
        variable: "X_TOKEN",
        source: "X",
        form: "one word",
    };

    /// Tokens of tests have no blanks.
    fn parse(text: &str) -> Option<String> {
        let text = text.trim();
        (!text.contains(' ')).then(|| text.to_owned())
    }

    #[test]
    fn a_missing_token_names_the_variable_and_a_misplaced_one_is_not_repeated() {
        let said = |variable: &str, value: Option<&str>| {
            let at = TokenAt { variable, file: None, platform: OF };
            at.read_in(|_| value.map(Into::into), parse).expect_err("refused").to_string()
        };
        assert!(said("MY_TOKEN", None).starts_with("the environment variable MY_TOKEN "));
        assert!(said("MY_TOKEN", Some(" ")).contains("is not set"));
        let malformed = said("MY_TOKEN", Some("12 34"));
        assert!(malformed.contains("which is one word; ") && !malformed.contains("12 34"), "{malformed}");
        for token in ["123:abcdefgh", "a.abcdefgh.c"] {
            assert!(!said(token, None).contains("abcdefgh"));
        }
    }

    #[test]
    fn a_token_in_the_place_of_its_file_is_not_repeated() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().expect("a folder");
        let said = |name: &str| {
            let file = dir.path().join(name);
            let at = TokenAt { variable: OF.variable, file: Some(&file), platform: OF };
            at.read(parse).expect_err("refused").to_string()
        };
        let misplaced = said("12:abcdefgh");
        assert!(misplaced.starts_with("token_file looks like a bot token"), "{misplaced}");
        assert!(!misplaced.contains("abcdefgh"), "{misplaced}");
        assert!(said("my token").starts_with("token_file: cannot read "));
        // A file may be called so.
        let file = dir.path().join("my.bot.token");
        std::fs::write(&file, "12:abcdefgh").expect("writable");
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).expect("ours");
        assert!(said("my.bot.token").contains("chmod 600"));
    }

    #[test]
    fn a_file_holds_the_token_instead() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("token");
        let at = TokenAt { variable: OF.variable, file: Some(&file), platform: OF };
        assert_eq!((at.check(), at.place()), (Ok(()), file.display().to_string()));
        let put = |text: &str, mode| {
            std::fs::write(&file, text).expect("writable");
            std::fs::set_permissions(&file, PermissionsExt::from_mode(mode)).expect("ours");
            at.read(parse).map_err(|error| error.to_string())
        };
        assert_eq!(put("12:abcdefgh\n", 0o600), Ok("12:abcdefgh".to_owned()));
        let said = put("12:abcdefgh", 0o644).expect_err("refused");
        assert!(said.starts_with("token_file: ") && said.contains("chmod 600"), "{said}");
        let said = put("12 abcdefgh", 0o600).expect_err("refused");
        assert!(said.contains("does not hold a bot token") && !said.contains("abcdefgh"), "{said}");
        let twice = TokenAt { variable: "MY_TOKEN", ..at }.check().expect_err("refused");
        assert_eq!(twice.key, "channels.x.token_env");
        assert_eq!(twice.said, "token_env and token_file are both written; take one of them out");
    }
}
