//! What an edit changes: the lines of both texts without those that they begin and end with alike.

/// The lines that go, and those that come. All that differs between the texts is in them, line ends
/// included.
pub(super) fn diff_lines<'a>(old: &'a str, new: &'a str) -> (Vec<&'a str>, Vec<&'a str>) {
    let (mut old, mut new) = (lines(old), lines(new));
    while old.len() > 1 && new.len() > 1 && old.last() == new.last() {
        old.pop();
        new.pop();
    }
    let same = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let same = same.min(old.len().saturating_sub(1)).min(new.len().saturating_sub(1));
    (old.split_off(same), new.split_off(same))
}

/// After a last line end comes an empty line; an empty text has none.
fn lines(text: &str) -> Vec<&str> {
    if text.is_empty() { Vec::new() } else { text.split('\n').collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_shows_the_lines_that_differ() {
        for (old, new, gone, come) in [
            ("a\nb\nc", "a\nX\nc", vec!["b"], vec!["X"]),
            ("a", "a", vec!["a"], vec!["a"]),
            ("", "new", vec![], vec!["new"]),
            ("a\nb", "a", vec!["a", "b"], vec!["a"]),
            ("same\nsame", "same\nsame", vec!["same"], vec!["same"]),
            ("one\ntwo\n", "one\n2\n", vec!["two"], vec!["2"]),
            // What line ends alone make different is seen.
            ("a\n", "a", vec!["a", ""], vec!["a"]),
            ("a\r\nb", "a\nb", vec!["a\r"], vec!["a"]),
        ] {
            assert_eq!(diff_lines(old, new), (gone, come), "{old:?} {new:?}");
        }
    }
}
