//! Markdown, as models write it, becomes text with styles. Every text comes out as something sound:
//! what is not finished, or no Markdown, is shown as it stands, and so is HTML. A link leads only
//! to where a browser goes without doing anything else.

mod table;

use super::{Style, StyledSpan, StyledText};
use cofferdam_core::text::one_line;
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use table::TextTable;
use url::Url;

/// Schemes that a link may have.
const SCHEMES: [&str; 3] = ["http", "https", "mailto"];
/// A longer address is no link.
const URL_BYTES_MAX: usize = 2048;
/// So much of an address that is no link is shown.
const SHOWN_BYTES_MAX: usize = 200;
/// Lists inside each other that are indented further.
const INDENTED_MAX: usize = 8;
/// A longer name of a language is cut.
const LANGUAGE_BYTES_MAX: usize = 32;
/// A horizontal line.
const RULE: &str = "———";

/// The text that this Markdown means. Tables are laid out as text of a fixed width, headings are
/// bold.
pub fn markdown(source: &str) -> StyledText {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut writer = Writer::default();
    for event in Parser::new_ext(source, options) {
        writer.take(event);
    }
    writer.finish()
}

/// What has been written, and what it stands in.
#[derive(Default)]
struct Writer {
    rich: StyledText,
    /// Line ends before what is written next.
    gap: usize,
    /// Whether something is written since the block began: before that no gap is wanted.
    begun: bool,
    /// The styles that are open, by their place among the spans; none where a style changes
    /// nothing.
    open: Vec<Option<usize>>,
    /// The lists that are open, with the next number of those that count.
    lists: Vec<Option<u64>>,
    links: Vec<OpenLink>,
    table: Option<TextTable>,
}

/// A link or picture that is open.
struct OpenLink {
    /// Where its text begins.
    start: usize,
    to: String,
    /// Whether it can be followed.
    leads: bool,
}

impl Writer {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text)
            | Event::Html(text)
            | Event::InlineHtml(text)
            | Event::InlineMath(text)
            | Event::DisplayMath(text)
            | Event::FootnoteReference(text) => self.write(&text),
            Event::Code(text) => {
                self.open(Style::Code);
                self.write(&text);
                self.close();
            }
            Event::SoftBreak | Event::HardBreak => self.write("\n"),
            Event::Rule => {
                self.block(2);
                self.write(RULE);
                self.block(1);
            }
            Event::TaskListMarker(done) => self.write(if done { "☑ " } else { "☐ " }),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { .. } => {
                self.block(2);
                self.open(Style::Bold);
            }
            Tag::BlockQuote(_) => {
                self.block(2);
                self.open(Style::Quote);
                self.begun = false;
            }
            Tag::CodeBlock(kind) => {
                self.block(2);
                let language = match &kind {
                    CodeBlockKind::Fenced(info) => language(info),
                    CodeBlockKind::Indented => None,
                };
                self.open(Style::Pre { language });
            }
            Tag::List(first) => {
                self.block(if self.lists.is_empty() { 2 } else { 1 });
                self.lists.push(first);
            }
            Tag::Item => self.item(),
            Tag::Table(_) => {
                self.block(2);
                self.flush();
                self.table = Some(TextTable::default());
            }
            Tag::TableHead | Tag::TableRow => self.write_cell(TextTable::row),
            Tag::TableCell => self.write_cell(TextTable::cell),
            Tag::Emphasis => self.open(Style::Italic),
            Tag::Strong => self.open(Style::Bold),
            Tag::Strikethrough => self.open(Style::Strike),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => self.link(&dest_url),
            Tag::Paragraph
            | Tag::HtmlBlock
            | Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::MetadataBlock(_) => self.block(2),
            Tag::Superscript | Tag::Subscript => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => self.close(),
            TagEnd::Heading(_) | TagEnd::BlockQuote(_) => {
                self.close();
                self.block(1);
            }
            TagEnd::CodeBlock => {
                self.drop_line_end();
                self.close();
                self.block(1);
            }
            TagEnd::HtmlBlock => {
                self.drop_line_end();
                self.block(1);
            }
            TagEnd::List(_) => {
                self.lists.pop();
                self.block(1);
            }
            TagEnd::Table => {
                let laid_out = self.table.take().map(|table| table.into_lines()).unwrap_or_default();
                self.open(Style::Pre { language: None });
                self.write(&laid_out);
                self.close();
                self.block(1);
            }
            TagEnd::Link | TagEnd::Image => self.link_ends(),
            TagEnd::TableHead
            | TagEnd::TableRow
            | TagEnd::TableCell
            | TagEnd::Superscript
            | TagEnd::Subscript => {}
            TagEnd::Paragraph
            | TagEnd::Item
            | TagEnd::FootnoteDefinition
            | TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::MetadataBlock(_) => self.block(1),
        }
    }

    /// So many line ends come before what is next, unless it is the first of what it stands in.
    fn block(&mut self, gap: usize) {
        if self.begun {
            self.gap = self.gap.max(gap);
        }
    }

    fn flush(&mut self) {
        self.rich.text.extend(std::iter::repeat_n('\n', std::mem::take(&mut self.gap)));
    }

    fn write(&mut self, text: &str) {
        if let Some(table) = &mut self.table {
            return table.write(text);
        }
        self.flush();
        self.rich.text.push_str(text);
        self.begun = true;
    }

    fn item(&mut self) {
        self.block(1);
        let indent = "  ".repeat(self.lists.len().saturating_sub(1).min(INDENTED_MAX));
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                *number = number.saturating_add(1);
                format!("{}. ", *number - 1)
            }
            _ => "• ".to_owned(),
        };
        self.write(&format!("{indent}{mark}"));
        self.begun = false;
    }

    /// A style begins here. Within itself, in a table and around code's own it changes nothing.
    fn open(&mut self, style: Style) {
        let same = |other: usize| {
            std::mem::discriminant(&self.rich.spans[other].style) == std::mem::discriminant(&style)
        };
        if self.table.is_some() || self.open.iter().flatten().any(|other| same(*other)) {
            return self.open.push(None);
        }
        self.flush();
        let start = self.rich.text.len();
        self.open.push(Some(self.rich.spans.len()));
        self.rich.spans.push(StyledSpan { start, end: start, style });
    }

    fn close(&mut self) {
        if let Some(Some(span)) = self.open.pop() {
            self.rich.spans[span].end = self.rich.text.len();
        }
    }

    /// Blocks of code and HTML end with a line end, which stands before the next block anyway.
    fn drop_line_end(&mut self) {
        let begin = self.open.iter().flatten().map(|span| self.rich.spans[*span].start).max().unwrap_or(0);
        if self.rich.text.len() > begin && self.rich.text.ends_with('\n') {
            self.rich.text.pop();
        }
    }

    fn write_cell(&mut self, act: impl FnOnce(&mut TextTable)) {
        if let Some(table) = &mut self.table {
            act(table);
        }
    }

    /// The text that is being written.
    fn target(&self) -> &str {
        self.table.as_ref().map_or(&self.rich.text, TextTable::text)
    }

    fn link(&mut self, to: &str) {
        let url = safe(to).filter(|_| self.table.is_none());
        let leads = url.is_some();
        match url {
            Some(url) => self.open(Style::Link { url }),
            None => {
                self.flush();
                self.open.push(None);
            }
        }
        self.links.push(OpenLink { start: self.target().len(), to: to.to_owned(), leads });
    }

    fn link_ends(&mut self) {
        if let Some(OpenLink { start, to, leads }) = self.links.pop() {
            let said = self.target().get(start..).unwrap_or_default();
            let to_show = one_line(&to, SHOWN_BYTES_MAX);
            if said.is_empty() {
                self.write(&to_show);
            } else if !leads && said != to && !to.is_empty() {
                self.write(&format!(" ({to_show})"));
            }
        }
        self.close();
    }

    fn finish(mut self) -> StyledText {
        while !self.open.is_empty() {
            self.close();
        }
        self.rich.spans.retain(|span| span.start < span.end);
        self.rich
    }
}

/// The address, if following it does nothing but show something.
fn safe(to: &str) -> Option<String> {
    let url = Url::parse(to).ok()?;
    let plain = url.username().is_empty() && url.password().is_none();
    let safe = plain && SCHEMES.contains(&url.scheme()) && url.as_str().len() <= URL_BYTES_MAX;
    safe.then(|| url.into())
}

/// The language that a fence names.
fn language(info: &str) -> Option<String> {
    let word = info.split_whitespace().next()?;
    let plain = |c: &char| c.is_ascii_alphanumeric() || "+#-_.".contains(*c);
    let name: String = word.chars().take_while(plain).take(LANGUAGE_BYTES_MAX).collect();
    Some(name).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests;
