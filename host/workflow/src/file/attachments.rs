//! Attachments as they are declared: which keys go together.

use super::text::{Rendering, Text, Tree};
use crate::attachment::{Item, Kind, Origin, Source, Url};
use crate::node::{Fields, Node};
use crate::problem::{Fault, Mark, listed, quoted};

/// The keys of an attachment.
const KEYS: [&str; 9] = ["type", "url", "path", "urls", "paths", "name", "mime", "meta", "fetch"];

/// An attachment of a file, its templates not rendered.
#[derive(Clone, Debug)]
pub(crate) struct Declared {
    pub(crate) mark: Mark,
    pub(crate) kind: Text,
    pub(crate) origin: Origin,
    /// One, or as many as `urls` and `paths` have.
    pub(crate) sources: Vec<Text>,
    pub(crate) name: Option<Text>,
    pub(crate) mime: Option<Text>,
    pub(crate) meta: Option<Tree>,
    pub(crate) fetch: bool,
}

/// How texts of `meta` are rendered.
pub(crate) const META: Rendering = Rendering::Text;

pub(super) fn read(node: &Node) -> Result<Vec<Declared>, Fault> {
    node.list("`attachments`")?.iter().map(declared).collect()
}

fn declared(node: &Node) -> Result<Declared, Fault> {
    let fields = Fields::of(node, "an attachment", &KEYS)?;
    let kind = Text::read(fields.need("type", "image")?, "`type`")?;
    let (key, value) = fields.one_of(&Origin::ALL.map(|(key, _)| key))?;
    let origin =
        Origin::ALL.iter().find(|(known, _)| *known == key).map_or(Origin::Url, |(_, origin)| *origin);
    let sources = match origin {
        Origin::Url | Origin::Path => vec![Text::read(value, &format!("`{key}`"))?],
        Origin::Urls | Origin::Paths => {
            let list = value.list(&format!("`{key}`"))?;
            if list.is_empty() {
                return Err(Fault::new(value.mark, format!("`{key}` is empty; write at least one")));
            }
            let read = |node: &Node| Text::read(node, &format!("an entry of `{key}`"));
            list.iter().map(read).collect::<Result<_, _>>()?
        }
    };
    let meta = match fields.get("meta") {
        Some(node) => {
            node.map("`meta`")?;
            Some(Tree::read(node, "`meta`")?)
        }
        None => None,
    };
    let text = |key: &str| fields.get(key).map(|node| Text::read(node, &format!("`{key}`"))).transpose();
    let declared = Declared {
        mark: node.mark,
        kind,
        origin,
        sources,
        name: text("name")?,
        mime: text("mime")?,
        meta,
        fetch: fields.get("fetch").map_or(Ok(false), |node| node.flag("`fetch`"))?,
    };
    declared.check_on_paper()?;
    Ok(declared)
}

impl Declared {
    /// The type that a text names, if it may come from here.
    pub(crate) fn kind_of(&self, name: &str) -> Result<Kind, Fault> {
        let kind = Kind::of(name).ok_or_else(|| {
            let said =
                format!("{} is no type of attachment; there is {}", quoted(name), listed(&Kind::NAMES));
            self.kind.refuse(said)
        })?;
        kind.check(self.origin, self.fetch).map_err(|problem| Fault::new(self.mark, problem))?;
        Ok(kind)
    }

    /// What is no template is checked when the file is read.
    fn check_on_paper(&self) -> Result<(), Fault> {
        if let Some(name) = self.kind.template.literal() {
            self.kind_of(name)?;
        }
        for source in &self.sources {
            if let Some(text) = source.template.literal() {
                Source::parse(self.origin, text).map_err(|(_, problem)| source.refuse(problem))?;
            }
        }
        Ok(())
    }

    /// The addresses in it that are downloaded, of those that are no templates.
    pub(crate) fn addresses(&self, found: &mut Vec<Url>) {
        let kind = self.kind.template.literal().and_then(|name| self.kind_of(name).ok());
        let Some(kind) = kind else { return };
        let texts = self.sources.iter().filter_map(|source| source.template.literal());
        for source in texts.filter_map(|text| Source::parse(self.origin, text).ok()) {
            let item = Item { kind, source, name: None, mime: None, meta: None, fetch: self.fetch };
            match item {
                item if !item.is_downloaded() => {}
                Item { source: Source::Url(url), .. } => found.push(url),
                Item { source: Source::Local(_), .. } => {}
            }
        }
    }

    /// The templates in it.
    pub(crate) fn texts<'a>(&'a self, found: &mut Vec<&'a Text>) {
        found.push(&self.kind);
        found.extend(&self.sources);
        found.extend(&self.name);
        found.extend(&self.mime);
        if let Some(meta) = &self.meta {
            meta.texts(found);
        }
    }
}
