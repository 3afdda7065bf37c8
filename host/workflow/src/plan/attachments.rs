//! Attachments of an agent's task, from their declaration to one that is checked on paper.

use crate::attachment::{AttachmentItem, AttachmentSource, DeclaringScope as DeclaredIn, FolderPath, Origin};
use crate::file::{DeclaredAttachment, META, RenderedText, TemplateText, TemplateValue};
use crate::problem::FileFault;
use crate::template::{RenderScope, Template};
use serde_json::Value;
use std::sync::Arc;

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
    pub(super) declared: Arc<DeclaredAttachment>,
    pub(super) lines: AttachmentTexts,
}

/// The texts of one attachment.
#[derive(Clone, Debug)]
pub(super) struct AttachmentTexts {
    kind: RenderedText,
    source: RenderedText,
    name: Option<RenderedText>,
    mime: Option<RenderedText>,
    meta: Option<TemplateValue>,
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

impl AttachmentTexts {
    pub(super) fn settle(
        declared: &DeclaredAttachment,
        source: &TemplateText,
        scope: &RenderScope,
        waits: &dyn Fn(&Template) -> bool,
    ) -> Result<Self, FileFault> {
        let line = |text: &TemplateText| text.settle(scope, waits);
        Ok(Self {
            kind: line(&declared.kind)?,
            source: line(source)?,
            name: declared.name.as_ref().map(line).transpose()?,
            mime: declared.mime.as_ref().map(line).transpose()?,
            meta: declared.meta.as_ref().map(|meta| meta.settle(scope, waits, META)).transpose()?,
        })
    }

    pub(super) fn are_ready(&self) -> bool {
        let lines = [&self.kind, &self.source].into_iter().chain(&self.name).chain(&self.mime);
        lines.into_iter().all(RenderedText::is_ready)
            && self.meta.as_ref().is_none_or(TemplateValue::is_ready)
    }

    /// The attachment, checked on paper.
    pub(super) fn item(
        &self,
        declared: &DeclaredAttachment,
        scope: &RenderScope,
    ) -> Result<AttachmentItem, FileFault> {
        let kind = declared.kind_of(&self.kind.finish(scope)?)?;
        let source = AttachmentSource::parse(declared.origin, &self.source.finish(scope)?)
            .map_err(|(code, problem)| FileFault::new(declared.mark, problem).with_code(code))?;
        let text = |line: &Option<RenderedText>| line.as_ref().map(|line| line.finish(scope)).transpose();
        let meta = match &self.meta {
            Some(tree) => match tree.finish(scope, META)? {
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
            fetch: declared.fetch,
        })
    }
}

impl PlannedAttachment {
    /// Its type, or as it is written.
    pub fn display_kind(&self) -> &str {
        self.lines.kind.display()
    }

    /// Its address or path, or as it is written.
    pub fn display_source(&self) -> &str {
        self.lines.source.display()
    }

    /// Its name, or as it is written.
    pub fn display_name(&self) -> Option<&str> {
        self.lines.name.as_ref().map(RenderedText::display)
    }

    /// Its meta, or as it is written.
    pub fn display_meta(&self) -> Option<Value> {
        self.lines.meta.as_ref().map(TemplateValue::display)
    }
}
