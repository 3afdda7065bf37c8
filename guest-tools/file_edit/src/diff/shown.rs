//! The text of a diff, as it may be shown: bounded, on lines of bounded length, without bytes that
//! are no text or would do something to the terminal or chat that shows them.

use super::Diff;

/// Length of a diff, after which it is cut, in bytes.
pub(super) const DIFF_BYTES_MAX: usize = 32 << 10;

/// Bytes shown of one line.
const LINE_BYTES_MAX: usize = 2 << 10;

/// A diff being written.
pub(super) struct Shown {
    text: String,
    is_full: bool,
    cut_a_line: bool,
}

impl Shown {
    pub(super) fn new(path: &str) -> Self {
        Self { text: format!("--- {path}\n+++ {path}\n"), is_full: false, cut_a_line: false }
    }

    /// Whether nothing more is taken.
    pub(super) fn is_full(&self) -> bool {
        self.is_full
    }

    /// One line of the diff's own.
    pub(super) fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Lines of the file, each with this mark.
    pub(super) fn lines(&mut self, mark: char, lines: &[&[u8]]) {
        for line in lines {
            if self.is_full || self.text.len() + line.len().min(LINE_BYTES_MAX) > DIFF_BYTES_MAX {
                self.is_full = true;
                return;
            }
            self.text.push(mark);
            self.content(line.strip_suffix(b"\n").unwrap_or(line));
            if !line.ends_with(b"\n") {
                self.line("\\ No newline at end of file");
            }
        }
    }

    fn content(&mut self, line: &[u8]) {
        let cut = line.len() > LINE_BYTES_MAX;
        // A character that this cuts lies behind the length.
        let visible = String::from_utf8_lossy(&line[..line.len().min(LINE_BYTES_MAX + 3)]);
        let end = if cut { visible.floor_char_boundary(LINE_BYTES_MAX) } else { visible.len() };
        let harmless = |found: char| !found.is_control() || matches!(found, '\t' | '\x0C' | '\r');
        self.text.extend(
            visible[..end]
                .chars()
                .map(|found| if harmless(found) { found } else { char::REPLACEMENT_CHARACTER }),
        );
        if cut {
            self.text.push_str(&format!("… [{} bytes in this line]", line.len()));
            self.cut_a_line = true;
        }
        self.text.push('\n');
    }

    pub(super) fn finish(mut self) -> Diff {
        if self.is_full {
            self.line("[The diff goes on, and was cut here; read the file to see the rest.]");
        }
        Diff { text: self.text, truncated: self.is_full || self.cut_a_line }
    }
}
