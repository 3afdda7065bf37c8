//! Text with styles as every channel can show it: the text that people read, and spans of it that
//! are bold, code, a link. What a channel's limits count is the text; a channel writes the spans in
//! its own markup, or leaves them out.

use cofferdam_store::{NewPart, PartKind};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Styled spans of one message. Telegram shows no more; what is beyond is plain.
pub const SPANS_MAX: usize = 100;

/// Text with styles.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StyledText {
    /// What people read.
    pub text: String,
    /// In the order of their starts; of two with a common part one holds the other and comes first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spans: Vec<StyledSpan>,
}

/// A part of a text that is shown in a style.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StyledSpan {
    /// Where it begins, in bytes.
    pub start: usize,
    /// Where it ends; never where it begins.
    pub end: usize,
    /// How it is shown.
    pub style: Style,
}

/// How a part of a text is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Style {
    /// Heavy.
    Bold,
    /// Slanted.
    Italic,
    /// Struck through.
    Strike,
    /// As code, within a line.
    Code,
    /// As code, in lines of its own.
    Pre {
        /// The language that it is in: letters, digits and `+#-_.`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        language: Option<String>,
    },
    /// Leads to an address of a scheme that is safe.
    Link {
        /// The address.
        url: String,
    },
    /// As somebody else's words.
    Quote,
}

impl StyledText {
    /// Text without styles.
    pub fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), spans: Vec::new() }
    }

    /// Adds a text at the end.
    pub fn push(&mut self, other: Self) {
        let at = self.text.len();
        self.text.push_str(&other.text);
        let moved = other.spans.into_iter().map(|span| StyledSpan {
            start: span.start + at,
            end: span.end + at,
            style: span.style,
        });
        self.spans.extend(moved);
    }

    /// Adds a plain line at the end.
    pub(super) fn push_line(&mut self, line: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(line);
    }

    /// A part of it, between two characters. What a style covered of it is in that style: a block
    /// of code that is cut ends here, and begins anew, in its language, where the text goes on.
    pub fn slice(&self, range: Range<usize>) -> Self {
        let within = |span: &StyledSpan| {
            let (start, end) = (span.start.max(range.start), span.end.min(range.end));
            (start < end).then(|| StyledSpan {
                start: start - range.start,
                end: end - range.start,
                style: span.style.clone(),
            })
        };
        Self {
            text: self.text[range.clone()].to_owned(),
            spans: self.spans.iter().filter_map(within).collect(),
        }
    }

    /// With as many spans as a message may have.
    pub fn truncate_spans(mut self) -> Self {
        self.spans.truncate(SPANS_MAX);
        self
    }

    /// For the store; without styles it is plain text.
    pub(super) fn part(self) -> NewPart {
        match self.spans.is_empty() {
            true => NewPart { kind: PartKind::Text, body: self.text },
            false => {
                NewPart { kind: PartKind::Rich, body: serde_json::to_string(&self).expect("plain data") }
            }
        }
    }

    /// From the store: the body of a part of this kind. None for what `part` never writes.
    pub fn read(kind: PartKind, body: &str) -> Option<Self> {
        match kind {
            PartKind::Text => Some(Self::plain(body)),
            PartKind::Rich => serde_json::from_str(body).ok().filter(Self::is_sound),
            PartKind::Voice | PartKind::Attachment => None,
        }
    }

    /// Whether the spans are as they must be for a channel to write them.
    pub(super) fn is_sound(&self) -> bool {
        let (mut open, mut last): (Vec<usize>, usize) = (Vec::new(), 0);
        self.spans.iter().all(|span| {
            while open.last().is_some_and(|end| *end <= span.start) {
                open.pop();
            }
            let nested = open.last().is_none_or(|end| span.end <= *end);
            let sound = self.text.get(span.start..span.end).is_some_and(|text| !text.is_empty());
            let ordered = last <= span.start;
            open.push(span.end);
            last = span.start;
            nested && sound && ordered
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rich(text: &str, spans: &[(usize, usize, Style)]) -> StyledText {
        let span = |(start, end, style): &(usize, usize, Style)| StyledSpan {
            start: *start,
            end: *end,
            style: style.clone(),
        };
        StyledText { text: text.into(), spans: spans.iter().map(span).collect() }
    }

    #[test]
    fn a_part_keeps_the_styles_that_covered_it() {
        let pre = || Style::Pre { language: Some("rust".into()) };
        let whole = rich("ab\ncd", &[(0, 5, pre()), (1, 2, Style::Bold)]);
        assert_eq!(whole.slice(0..3), rich("ab\n", &[(0, 3, pre()), (1, 2, Style::Bold)]));
        assert_eq!(whole.slice(3..5), rich("cd", &[(0, 2, pre())]));
        let mut both = StyledText::plain("x ");
        both.push(whole.slice(3..5));
        both.push_line("y");
        assert_eq!(both, rich("x cd\ny", &[(2, 4, pre())]));
    }

    #[test]
    fn the_store_gives_back_what_it_was_given_and_nothing_unsound() {
        for kept in [StyledText::plain("{\"text\":1}"), rich("é!", &[(0, 2, Style::Code)])] {
            let part = kept.clone().part();
            assert_eq!(StyledText::read(part.kind, &part.body), Some(kept));
        }
        for (start, end, more) in
            [(0, 1, None), (2, 2, None), (0, 9, None), (0, 2, Some((1, 3))), (2, 3, Some((0, 2)))]
        {
            let spans = [(start, end)].into_iter().chain(more);
            let spans: Vec<_> = spans.map(|(start, end)| (start, end, Style::Bold)).collect();
            let unsound = rich("é!", &spans).part();
            assert_eq!(StyledText::read(unsound.kind, &unsound.body), None, "{spans:?}");
        }
        assert_eq!(StyledText::read(PartKind::Rich, "no"), None);
        let many = rich("x", &vec![(0, 1, Style::Bold); SPANS_MAX + 1]).truncate_spans();
        assert_eq!(many.spans.len(), SPANS_MAX);
    }
}
