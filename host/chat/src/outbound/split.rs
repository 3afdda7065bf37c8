//! Splits text at a platform's message limit, which is counted in UTF-16 units. Nothing is lost:
//! the pieces put together are the text.

/// How many bytes of `text` its first piece has: at most `limit` UTF-16 units (a single character
/// may be longer than a limit of 1), and none only where there is no text.
///
/// A piece ends after a line, else after a word, else anywhere but within a character that people
/// see as one. Lines and words are looked for in the last three quarters of a piece: a short line
/// before a very long one does not become a message of its own.
pub(crate) fn first_piece(text: &str, limit: usize) -> usize {
    overflow(text, limit).map_or(text.len(), |full| cut_point(text, full))
}

/// The bytes that fit, at least one character; `None` if everything fits.
fn overflow(text: &str, limit: usize) -> Option<usize> {
    let mut units = 0;
    for (at, c) in text.char_indices() {
        units += c.len_utf16();
        if units > limit {
            return Some(if at == 0 { c.len_utf8() } else { at }).filter(|fits| *fits < text.len());
        }
    }
    None
}

/// Where to end a piece of at most `full` bytes.
fn cut_point(text: &str, full: usize) -> usize {
    let fits = &text[..full];
    let earliest = full / 4;
    let after = |found: Option<usize>| found.map(|at| at + 1).filter(|cut| *cut > earliest);
    after(fits.rfind('\n'))
        .or_else(|| after(fits.rfind(' ')))
        .or_else(|| last_cluster_end(text, full))
        .unwrap_or(full)
}

/// Characters that one visible character has at most, for the search backwards.
const CLUSTER_CHARS_MAX: usize = 32;

/// The last place up to `full` where no visible character is torn apart; `None` if there is none
/// near.
fn last_cluster_end(text: &str, full: usize) -> Option<usize> {
    let mut cut = full;
    for before in text[..full].chars().rev().take(CLUSTER_CHARS_MAX) {
        let after = text[cut..].chars().next()?;
        if !is_joined(before, after, &text[..cut]) {
            return Some(cut);
        }
        cut -= before.len_utf8();
    }
    None
}

/// Whether two neighbouring characters belong together: the common part of Unicode's UAX #29.
fn is_joined(before: char, after: char, up_to_here: &str) -> bool {
    const ZWJ: char = '\u{200D}';
    let extends = matches!(after,
        ZWJ | '\u{0300}'..='\u{036F}' | '\u{0483}'..='\u{0489}' | '\u{0591}'..='\u{05BD}'
        | '\u{064B}'..='\u{065F}' | '\u{093A}'..='\u{094F}' | '\u{0E31}' | '\u{0E34}'..='\u{0E3A}'
        | '\u{1AB0}'..='\u{1AFF}' | '\u{1DC0}'..='\u{1DFF}' | '\u{20D0}'..='\u{20FF}'
        | '\u{3099}' | '\u{309A}' | '\u{FE00}'..='\u{FE0F}' | '\u{FE20}'..='\u{FE2F}'
        | '\u{1F3FB}'..='\u{1F3FF}' | '\u{E0020}'..='\u{E007F}' | '\u{E0100}'..='\u{E01EF}');
    let flags = |c: char| matches!(c, '\u{1F1E6}'..='\u{1F1FF}');
    let half_a_flag = flags(before) && flags(after) && {
        let run = up_to_here.chars().rev().take(CLUSTER_CHARS_MAX).take_while(|c| flags(*c)).count();
        run % 2 == 1
    };
    extends || before == ZWJ || (before == '\r' && after == '\n') || half_a_flag
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// All pieces of a text.
    pub(in crate::outbound) fn split(text: &str, limit: usize) -> Vec<&str> {
        let (mut pieces, mut rest) = (Vec::new(), text);
        while !rest.is_empty() {
            let (piece, left) = rest.split_at(first_piece(rest, limit));
            pieces.push(piece);
            rest = left;
        }
        pieces
    }

    fn check(text: &str, limit: usize, pieces: &[&str]) {
        assert_eq!(split(text, limit), pieces, "{text:?} at {limit}");
    }

    #[test]
    fn lines_come_first_then_words_then_characters() {
        check("", 5, &[]);
        check("hello", 5, &["hello"]);
        check("hello!", 5, &["hello", "!"]);
        check("ab cd\nef gh", 8, &["ab cd\n", "ef gh"]);
        check("ab cd ef gh", 8, &["ab cd ", "ef gh"]);
        check("a\nbcdefghijkl", 8, &["a\nbcdefg", "hijkl"]);
        check("aaaa\n\n\nbb", 4, &["aaaa", "\n\n\n", "bb"]);
    }

    #[test]
    fn a_visible_character_stays_whole() {
        check("😀😀😀", 4, &["😀😀", "😀"]);
        check("😀😀", 3, &["😀", "😀"]);
        check("😀😀", 1, &["😀", "😀"]);
        check("abe\u{301}", 3, &["ab", "e\u{301}"]);
        check("xx👩\u{200D}👩\u{200D}👧", 8, &["xx", "👩\u{200D}👩\u{200D}👧"]);
        check("a🇩🇪🇫🇷", 7, &["a🇩🇪", "🇫🇷"]);
        check("a👍🏽", 4, &["a", "👍🏽"]);
        check("abc\r\nd", 4, &["abc", "\r\nd"]);
    }

    #[test]
    fn the_limit_counts_utf16_units() {
        let text = "😀".repeat(4096);
        assert_eq!(split(&text, 4096).iter().map(|p| p.chars().count()).collect::<Vec<_>>(), [2048, 2048]);
        assert_eq!(split(&"é".repeat(4096), 4096).len(), 1);
    }

    /// Every text of up to five of these, at every small limit: no random choice misses a case.
    #[test]
    fn nothing_is_lost_and_every_piece_fits() {
        const TOKENS: &[&str] = &["a", "b", " ", "\n", "\r\n", "😀", "e\u{301}", "\u{200D}", "🇩🇪", "🇫"];
        let mut texts = vec![String::new()];
        let mut longest = texts.clone();
        for _ in 0..5 {
            longest = longest
                .iter()
                .flat_map(|text| TOKENS.iter().map(move |token| format!("{text}{token}")))
                .collect();
            texts.extend(longest.iter().cloned());
        }
        for (text, limit) in texts.iter().flat_map(|text| (1..6).map(move |limit| (text, limit))) {
            let pieces = split(text, limit);
            assert_eq!(&pieces.concat(), text, "at {limit}");
            for piece in pieces {
                let units = piece.encode_utf16().count();
                assert!(units <= limit.max(2) && units > 0, "{piece:?} of {text:?} at {limit}");
            }
        }
    }
}
