//! The page as HTML: one file without scripts, styles or pictures from elsewhere. Every text is
//! escaped.

use super::{ReportPage, ReportTable};
use cofferdam_core::text::is_deceptive;
use std::fmt::Write;

/// Plain enough for paper: no colour carries meaning, and a table is not cut where it need not be.
const HEAD: &str = r#"<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Cofferdam policies</title>
<style>
body { font: 15px/1.45 sans-serif; color: #000; background: #fff; max-width: 60em; margin: 2em auto; padding: 0 1em }
h2 { border-top: 2px solid #000; padding-top: .4em; margin-top: 2em }
h3 { font-size: 1em; margin: 1em 0 .3em }
table { border-collapse: collapse; width: 100%; break-inside: avoid }
th, td { border: 1px solid #888; padding: .2em .5em; text-align: left; vertical-align: top; overflow-wrap: anywhere }
code { font: 13px monospace; overflow-wrap: anywhere }
.problems { border: 3px solid #000; padding: .5em 1em }
@media print { body { margin: 0; max-width: none } h2, h3 { break-after: avoid } }
</style>
</head>
<body>
<h1>Cofferdam policies</h1>
"#;

/// The page as HTML that runs nothing and loads nothing.
pub fn page(page: &ReportPage) -> String {
    let mut html = HEAD.to_owned();
    write_page(page, &mut html).expect("a string takes everything");
    html
}

fn write_page(page: &ReportPage, html: &mut String) -> std::fmt::Result {
    if !page.problems.is_empty() {
        writeln!(html, "<div class=\"problems\">\n<h2>Problems: {}</h2>\n<ul>", page.problems.len())?;
        for problem in &page.problems {
            writeln!(html, "<li>{}</li>", escape(&problem.to_string()))?;
        }
        writeln!(html, "</ul>\n</div>")?;
    }
    match &page.policies_sha256 {
        Some(sha256) => {
            let tools = page.tools.len();
            writeln!(html, "<p>Tools: {tools}. All policy files: sha256 <code>{sha256}</code></p>")?;
        }
        None => writeln!(html, "<p>The policies do not load, so there is nothing to show.</p>")?,
    }
    for tool in &page.tools {
        let (name, why) = (escape(&tool.name), escape(&tool.why));
        writeln!(html, "<h2>{name}</h2>\n<p><strong>Why:</strong> {why}</p>")?;
        if let Some(summary) = &tool.summary {
            writeln!(html, "<p><strong>It says of itself:</strong> {}</p>", escape(summary))?;
        }
        for table in &tool.tables {
            write_table(table, html)?;
        }
    }
    writeln!(html, "</body>\n</html>")
}

fn write_table(table: &ReportTable, html: &mut String) -> std::fmt::Result {
    writeln!(html, "<h3>{}</h3>", escape(table.title))?;
    if table.rows.is_empty() {
        return writeln!(html, "<p>Nothing.</p>");
    }
    writeln!(html, "<table>")?;
    let cells = |tag: &str, cells: &mut dyn Iterator<Item = &str>| -> String {
        cells.map(|cell| format!("<{tag}>{}</{tag}>", escape(cell))).collect()
    };
    writeln!(html, "<tr>{}</tr>", cells("th", &mut table.head.iter().copied()))?;
    for row in &table.rows {
        writeln!(html, "<tr>{}</tr>", cells("td", &mut row.iter().map(String::as_str)))?;
    }
    writeln!(html, "</table>")
}

/// Text that stays text wherever it stands, with what would hide or reorder it made visible.
fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            c if is_deceptive(c) => safe.push_str(&format!("[U+{:04X}]", u32::from(c))),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_becomes_markup() {
        for (text, expected) in [
            ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
            ("\" onload='x' a=\"", "&quot; onload=&#39;x&#39; a=&quot;"),
            ("&lt;", "&amp;lt;"),
            ("a\u{202e}b\nc\u{0}", "a[U+202E]b[U+000A]c[U+0000]"),
            ("plain ü", "plain ü"),
        ] {
            assert_eq!(escape(text), expected);
        }
    }
}
