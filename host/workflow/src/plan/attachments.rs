//! Attachments of an agent's task, from their declaration to one that is checked on paper.

use crate::attachment::{AttachmentItem, AttachmentSource, DeclaringScope as DeclaredIn, FolderPath, Origin};
use crate::file::{DeclaredAttachment, TemplateText, TemplateValue};
use crate::problem::FileFault;
use crate::template::{RenderScope, Template};
use serde_json::Value;

/// One attachment after phase one.
#[derive(Clone, Debug)]
pub struct PlannedAttachment {
    /// Who declares it.
    pub scope: DeclaredIn,
    /// The folder of the file that declares it, below that of the workflow's own.
    pub folder: FolderPath,
    /// The same for what one declaration stands for.
    pub group: usize,
    /// Its key.
    pub origin: Origin,
    /// What is known of it; none while it waits for tasks.
    pub item: Option<AttachmentItem>,
    /// With one source.
    pub(super) declared: DeclaredAttachment,
}

/// An attachment with everything put in.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadyAttachment {
    /// Who declares it.
    pub scope: DeclaredIn,
    /// The folder of the file that declares it, below that of the workflow's own.
    pub folder: FolderPath,
    /// The same for what one declaration stands for.
    pub group: usize,
    /// What it is.
    pub item: AttachmentItem,
}

impl DeclaredAttachment {
    /// Phase one of what one of its sources stands for.
    pub(super) fn settle(
        &self,
        source: &TemplateText,
        scope: &RenderScope,
        waits: &dyn Fn(&Template) -> bool,
    ) -> Result<Self, FileFault> {
        let line = |text: &TemplateText| text.settle(scope, waits);
        let meta = |tree: &TemplateValue| tree.settle(scope, waits, TemplateText::render_as_text);
        Ok(Self {
            mark: self.mark,
            kind: line(&self.kind)?,
            origin: self.origin,
            sources: vec![line(source)?],
            name: self.name.as_ref().map(line).transpose()?,
            mime: self.mime.as_ref().map(line).transpose()?,
            meta: self.meta.as_ref().map(meta).transpose()?,
            fetch: self.fetch,
        })
    }

    /// Whether nothing of it waits for tasks.
    pub(super) fn is_ready(&self) -> bool {
        let mut texts = Vec::new();
        self.texts(&mut texts);
        texts.into_iter().all(TemplateText::is_ready)
    }

    /// The attachment, checked on paper.
    pub(super) fn item(&self, scope: &RenderScope) -> Result<AttachmentItem, FileFault> {
        let kind = self.kind_of(&self.kind.render(scope)?)?;
        let source = AttachmentSource::parse(self.origin, &self.sources[0].render(scope)?)
            .map_err(|(code, problem)| FileFault::new(self.mark, problem).with_code(code))?;
        let text = |line: &Option<TemplateText>| line.as_ref().map(|line| line.render(scope)).transpose();
        let meta = match &self.meta {
            Some(tree) => match tree.finish(scope, TemplateText::render_as_text)? {
                Value::Object(meta) => Some(meta),
                _ => None,
            },
            None => None,
        };
        Ok(AttachmentItem {
            kind,
            source,
            name: text(&self.name)?,
            mime: text(&self.mime)?,
            meta,
            fetch: self.fetch,
        })
    }
}

impl PlannedAttachment {
    /// Its type, or as it is written.
    pub fn display_kind(&self) -> &str {
        self.declared.kind.display()
    }

    /// Its address or path, or as it is written.
    pub fn display_source(&self) -> &str {
        self.declared.sources[0].display()
    }

    /// Its name, or as it is written.
    pub fn display_name(&self) -> Option<&str> {
        self.declared.name.as_ref().map(TemplateText::display)
    }

    /// Its meta, or as it is written.
    pub fn display_meta(&self) -> Option<Value> {
        self.declared.meta.as_ref().map(TemplateValue::display)
    }
}
