//! The page as markdown, for a pull request or a wiki. Every text is escaped, so that none becomes
//! a heading, a cell, a link, an image or HTML.

use super::{ReportPage, ReportTable};
use cofferdam_core::text::is_deceptive;
use std::fmt::Write;

/// The page as Markdown in which no text is markup.
pub fn page(page: &ReportPage) -> String {
    let mut text = "# Cofferdam policies\n\n".to_owned();
    write_page(page, &mut text).expect("a string takes everything");
    text
}

fn write_page(page: &ReportPage, text: &mut String) -> std::fmt::Result {
    if !page.problems.is_empty() {
        writeln!(text, "## Problems: {}\n", page.problems.len())?;
        for problem in &page.problems {
            writeln!(text, "- {}", escape(&problem.to_string()))?;
        }
        writeln!(text)?;
    }
    match &page.policies_sha256 {
        Some(sha256) => writeln!(text, "Tools: {}. All policy files: sha256 {sha256}", page.tools.len())?,
        None => writeln!(text, "The policies do not load, so there is nothing to show.")?,
    }
    for tool in &page.tools {
        writeln!(text, "\n## {}\n\n**Why:** {}", escape(&tool.name), escape(&tool.why))?;
        if let Some(summary) = &tool.summary {
            writeln!(text, "\n**It says of itself:** {}", escape(summary))?;
        }
        for table in &tool.tables {
            write_table(table, text)?;
        }
    }
    Ok(())
}

fn write_table(table: &ReportTable, text: &mut String) -> std::fmt::Result {
    writeln!(text, "\n### {}\n", table.title)?;
    if table.rows.is_empty() {
        return writeln!(text, "Nothing.");
    }
    writeln!(text, "| {} |", table.head.join(" | "))?;
    writeln!(text, "|{}", "---|".repeat(table.head.len()))?;
    for row in &table.rows {
        let cells: Vec<_> = row.iter().map(|cell| escape(cell)).collect();
        writeln!(text, "| {} |", cells.join(" | "))?;
    }
    Ok(())
}

/// Text that stays text: every character that markdown or HTML could read is escaped, and what
/// would hide or reorder text, or end its line, is made visible.
fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '\\' | '`' | '*' | '_' | '{' | '}' | '[' | ']' | '(' | ')' | '#' | '+' | '!' | '|' | '~'
            | '$' | '@' => {
                safe.push('\\');
                safe.push(c);
            }
            c if is_deceptive(c) => safe.push_str(&format!("\\[U+{:04X}\\]", u32::from(c))),
            c => safe.push(c),
        }
    }
    // Some readers make links of bare addresses.
    safe.replace("://", ":\\/\\/").replace("www.", "www\\.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_becomes_markup() {
        for (text, expected) in [
            ("a | b", "a \\| b"),
            ("`code`", "\\`code\\`"),
            ("line\n# heading", "line\\[U+000A\\]\\# heading"),
            ("<script>", "&lt;script&gt;"),
            ("![x](y)", "\\!\\[x\\]\\(y\\)"),
            ("a\\|b", "a\\\\\\|b"),
            ("see http://www.x.example", "see http:\\/\\/www\\.x.example"),
        ] {
            assert_eq!(escape(text), expected);
        }
    }
}
