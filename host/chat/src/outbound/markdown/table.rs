//! A table as text of a fixed width: columns below each other, a line below the head.

/// A wider cell stands out of its column, so that one long cell does not widen all.
const WIDTH_MAX: usize = 40;
/// Between two columns.
const GAP: usize = 2;

/// The rows so far; the first is the head.
#[derive(Default)]
pub(super) struct TextTable(Vec<Vec<String>>);

impl TextTable {
    /// Begins a row.
    pub(super) fn row(&mut self) {
        self.0.push(Vec::new());
    }

    /// Begins a cell.
    pub(super) fn cell(&mut self) {
        if let Some(row) = self.0.last_mut() {
            row.push(String::new());
        }
    }

    /// Adds to the cell, on one line.
    pub(super) fn write(&mut self, text: &str) {
        if let Some(cell) = self.0.last_mut().and_then(|row| row.last_mut()) {
            cell.extend(text.chars().map(|c| if c.is_control() { ' ' } else { c }));
        }
    }

    /// What is in the cell so far.
    pub(super) fn text(&self) -> &str {
        self.0.last().and_then(|row| row.last()).map_or("", String::as_str)
    }

    /// The rows as lines.
    pub(super) fn into_lines(self) -> String {
        let columns = self.0.iter().map(Vec::len).max().unwrap_or(0);
        let mut widths = vec![0; columns];
        for (n, cell) in self.0.iter().flat_map(|row| row.iter().enumerate()) {
            widths[n] = widths[n].max(cell.chars().count()).min(WIDTH_MAX);
        }
        let mut lines: Vec<String> = self.0.iter().map(|row| line(row, &widths)).collect();
        if !lines.is_empty() {
            let dashes: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
            lines.insert(1, line(&dashes, &widths));
        }
        lines.join("\n")
    }
}

/// One line; nothing is padded but for a cell that follows.
fn line(row: &[String], widths: &[usize]) -> String {
    let (mut line, mut owed) = (String::new(), 0);
    for (cell, width) in row.iter().zip(widths) {
        if !cell.is_empty() {
            line.extend(std::iter::repeat_n(' ', std::mem::take(&mut owed)));
            line.push_str(cell);
        }
        owed += width.saturating_sub(cell.chars().count()) + GAP;
    }
    line
}
