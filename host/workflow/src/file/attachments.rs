//! Attachments as they are declared: which keys go together.

use super::text::{TemplateText, TemplateValue};
use crate::attachment::{AttachmentItem, AttachmentSource, Kind, Origin, Url};
use crate::node::{Node, NodeFields};
use crate::problem::{FileFault, FileMark, list_names, quote};

/// The keys of an attachment.
const KEYS: [&str; 9] = ["type", "url", "path", "urls", "paths", "name", "mime", "meta", "fetch"];

/// An attachment of a file, its templates not rendered.
#[derive(Clone, Debug)]
pub(crate) struct DeclaredAttachment {
    pub(crate) mark: FileMark,
    pub(crate) kind: TemplateText,
    pub(crate) origin: Origin,
    /// One, or as many as `urls` and `paths` have.
    pub(crate) sources: Vec<TemplateText>,
    pub(crate) name: Option<TemplateText>,
    pub(crate) mime: Option<TemplateText>,
    pub(crate) meta: Option<TemplateValue>,
    pub(crate) fetch: bool,
}

/// Those of a task, an agent or an action; none without the key.
pub(super) fn read(fields: &NodeFields<'_>) -> Result<Vec<DeclaredAttachment>, FileFault> {
    let Some(node) = fields.get("attachments") else { return Ok(Vec::new()) };
    node.list("`attachments`")?.iter().map(read_declared).collect()
}

fn read_declared(node: &Node) -> Result<DeclaredAttachment, FileFault> {
    let fields = NodeFields::new(node, "an attachment", &KEYS)?;
    let kind = TemplateText::read(fields.need("type", "image")?, "`type`")?;
    let (key, value) = fields.take_one_of(&Origin::ALL.map(|(key, _)| key))?;
    let origin =
        Origin::ALL.iter().find(|(known, _)| *known == key).map_or(Origin::Url, |(_, origin)| *origin);
    let sources = match origin {
        Origin::Url | Origin::Path => vec![TemplateText::read(value, &format!("`{key}`"))?],
        Origin::Urls | Origin::Paths => {
            let list = value.list(&format!("`{key}`"))?;
            if list.is_empty() {
                return Err(FileFault::new(value.mark, format!("`{key}` is empty; write at least one")));
            }
            let read = |node: &Node| TemplateText::read(node, &format!("an entry of `{key}`"));
            list.iter().map(read).collect::<Result<_, _>>()?
        }
    };
    let meta = fields.read("meta", TemplateValue::read_map)?;
    let declared = DeclaredAttachment {
        mark: node.mark,
        kind,
        origin,
        sources,
        name: fields.read("name", TemplateText::read)?,
        mime: fields.read("mime", TemplateText::read)?,
        meta,
        fetch: fields.read("fetch", Node::flag)?.unwrap_or(false),
    };
    declared.check_on_paper()?;
    Ok(declared)
}

impl DeclaredAttachment {
    /// The type that a text names, if it may come from here.
    pub(crate) fn kind_of(&self, name: &str) -> Result<Kind, FileFault> {
        let kind = Kind::from_name(name).ok_or_else(|| {
            let names = list_names(&Kind::ALL.map(|(name, _)| name));
            let said = format!("{} is no type of attachment; there is {names}", quote(name));
            self.kind.refuse(said)
        })?;
        kind.check(self.origin, self.fetch).map_err(|problem| FileFault::new(self.mark, problem))?;
        Ok(kind)
    }

    /// What is no template is checked when the file is read.
    fn check_on_paper(&self) -> Result<(), FileFault> {
        if let Some(name) = self.kind.template.literal() {
            self.kind_of(name)?;
        }
        for source in &self.sources {
            if let Some(text) = source.template.literal() {
                AttachmentSource::parse(self.origin, text).map_err(|(_, problem)| source.refuse(problem))?;
            }
        }
        Ok(())
    }

    /// The addresses in it that are downloaded, of those that are no templates.
    pub(crate) fn addresses(&self, found: &mut Vec<Url>) {
        let kind = self.kind.template.literal().and_then(|name| self.kind_of(name).ok());
        let Some(kind) = kind else { return };
        let texts = self.sources.iter().filter_map(|source| source.template.literal());
        for source in texts.filter_map(|text| AttachmentSource::parse(self.origin, text).ok()) {
            let item = AttachmentItem { kind, source, name: None, mime: None, meta: None, fetch: self.fetch };
            if item.is_downloaded()
                && let AttachmentSource::Url(url) = item.source
            {
                found.push(url);
            }
        }
    }

    /// The templates in it.
    pub(crate) fn texts<'a>(&'a self, found: &mut Vec<&'a TemplateText>) {
        found.push(&self.kind);
        found.extend(&self.sources);
        found.extend(&self.name);
        found.extend(&self.mime);
        if let Some(meta) = &self.meta {
            meta.texts(found);
        }
    }
}
