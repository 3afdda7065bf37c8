//! A text that must not be shown, such as a token or a key: it prints as `***`, and is taken out of whatever
//! might repeat it.

use std::fmt;

/// What stands in for a secret wherever text is shown.
const HIDDEN: &str = "***";

/// A secret. Only [`Secret::reveal`] gives it away.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    /// Takes the text as it is.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The secret itself, for the one place that sends it.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// `text` without the secret: for what a server or a library says.
    pub fn scrub(&self, text: &str) -> String {
        if self.0.is_empty() {
            return text.to_owned();
        }
        text.replace(&self.0, HIDDEN)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HIDDEN)
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HIDDEN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_never_prints_and_is_taken_out() {
        let secret = Secret::new("sk-1");
        assert_eq!(secret.reveal(), "sk-1");
        assert_eq!(format!("{secret} {secret:?} {:?}", Some(&secret)), "*** *** Some(***)");
        assert_eq!(secret.scrub("no sk-1, sk-12"), "no ***, ***2");
        assert_eq!(Secret::new("").scrub("as it is"), "as it is");
    }
}
