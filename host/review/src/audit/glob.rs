//! Which virtual paths a reviewer means: a path with everything below it, or a pattern.
//!
//! Matching takes at most pattern × path steps.

/// Paths that are meant. Without `*` and `?` it is a path and all below it; with them, `?` is one
/// character, `*` any number of characters of one component, and `**` any number of any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathPattern(Vec<GlobToken>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GlobToken {
    Char(char),
    AnyChar,
    AnyInComponent,
    Any,
}

/// A virtual path is at most this long.
const PATTERN_BYTES_MAX: usize = 4096;

impl PathPattern {
    /// The pattern that a text names.
    ///
    /// # Errors
    /// When it does not start with `/` or `*`, or is longer than a path can be.
    pub fn parse(text: &str) -> Result<Self, String> {
        if !text.starts_with(['/', '*']) || text.len() > PATTERN_BYTES_MAX {
            let shown = cofferdam_core::text::one_line(text, 100);
            return Err(format!(
                "{shown:?} is not a virtual path or pattern; write e.g. /shared/reports or '/shared/**/*.pdf'"
            ));
        }
        let mut tokens = Vec::new();
        for c in text.chars() {
            let token = match (c, tokens.last()) {
                ('?', _) => GlobToken::AnyChar,
                ('*', Some(GlobToken::AnyInComponent | GlobToken::Any)) => {
                    tokens.pop();
                    GlobToken::Any
                }
                ('*', _) => GlobToken::AnyInComponent,
                (c, _) => GlobToken::Char(c),
            };
            tokens.push(token);
        }
        if tokens.iter().all(|token| matches!(token, GlobToken::Char(_))) {
            while tokens.last() == Some(&GlobToken::Char('/')) {
                tokens.pop();
            }
        }
        Ok(Self(tokens))
    }

    /// Whether the path is meant.
    pub fn matches(&self, path: &str) -> bool {
        // Which prefixes of the pattern match what was read of the path.
        let mut reached = vec![false; self.0.len() + 1];
        reached[0] = true;
        self.pass_stars(&mut reached, '/');
        let below = self.is_below();
        for c in path.chars() {
            if below && reached[self.0.len()] && c == '/' {
                return true;
            }
            let mut next = vec![false; self.0.len() + 1];
            for (at, token) in self.0.iter().enumerate().filter(|(at, _)| reached[*at]) {
                match token {
                    GlobToken::Char(wanted) if *wanted == c => next[at + 1] = true,
                    GlobToken::AnyChar if c != '/' => next[at + 1] = true,
                    GlobToken::AnyInComponent if c != '/' => next[at] = true,
                    GlobToken::Any => next[at] = true,
                    _ => {}
                }
            }
            self.pass_stars(&mut next, c);
            reached = next;
        }
        reached[self.0.len()]
    }

    /// Whether it is a path that means all below it too.
    fn is_below(&self) -> bool {
        self.0.iter().all(|token| matches!(token, GlobToken::Char(_)))
    }

    /// Stars match nothing, too; and `**/` matches no component at all, where one would start:
    /// after a `/`, and at the beginning.
    fn pass_stars(&self, reached: &mut [bool], previous: char) {
        for (at, token) in self.0.iter().enumerate() {
            if reached[at] && matches!(token, GlobToken::AnyInComponent | GlobToken::Any) {
                reached[at + 1] = true;
                if *token == GlobToken::Any
                    && previous == '/'
                    && self.0.get(at + 1) == Some(&GlobToken::Char('/'))
                {
                    reached[at + 2] = true;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_means_what_people_expect() {
        let check = |pattern: &str, path: &str, expected: bool| {
            let pattern = PathPattern::parse(pattern).expect("a pattern");
            assert_eq!(pattern.matches(path), expected, "{pattern:?} {path}");
        };
        for (pattern, yes, no) in [
            (
                "/shared",
                &["/shared", "/shared/a", "/shared/a/b"][..],
                &["/share", "/shared2", "/tmp", ""][..],
            ),
            ("/shared/", &["/shared", "/shared/a"], &["/shared2"]),
            ("/", &["/shared", "/tmp/a"], &["shared"]),
            ("/shared/*.txt", &["/shared/a.txt", "/shared/.txt"], &["/shared/a/b.txt", "/shared/a.txt2"]),
            ("/shared/**", &["/shared/a", "/shared/a/b"], &["/tmp/a"]),
            ("/**/*.pdf", &["/shared/a/b.pdf", "/a.pdf"], &["/shared/a.pdf/b"]),
            ("/shared/**/x", &["/shared/x", "/shared/a/x", "/shared/a/b/x"], &["/shared/ax"]),
            ("**/x", &["x", "/a/x"], &["/ax"]),
            ("*", &["x"], &["/x"]),
            ("/shared/?", &["/shared/ä"], &["/shared/", "/shared/ab"]),
            ("/shared/a*b*c", &["/shared/abc", "/shared/axxbyyc"], &["/shared/ab", "/shared/a/b/c"]),
            ("/shared/[a]", &["/shared/[a]"], &["/shared/a"]),
        ] {
            yes.iter().for_each(|path| check(pattern, path, true));
            no.iter().for_each(|path| check(pattern, path, false));
        }
    }

    #[test]
    fn what_is_no_path_is_refused() {
        for text in ["", "shared", "./a", "~", &"/a".repeat(PATTERN_BYTES_MAX)] {
            assert!(PathPattern::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_worst_pattern_takes_bounded_steps() {
        let pattern = PathPattern::parse(&"/*".repeat(400)).expect("a pattern");
        assert!(!pattern.matches(&("/".repeat(399) + &"a".repeat(2000))));
        let pattern = PathPattern::parse(&("*a".repeat(300) + "b")).expect("a pattern");
        assert!(!pattern.matches(&"a".repeat(2000)));
    }
}
