//! Texts of a file that may be templates, alone or within values.

use crate::node::{Node, NodeContent};
use crate::problem::{FileFault, FileMark, quote};
use crate::template::{RenderScope, Template};
use serde_json::{Map, Value};

/// A text of a file.
#[derive(Clone, Debug)]
pub(crate) struct TemplateText {
    pub(crate) mark: FileMark,
    pub(crate) written: String,
    pub(crate) template: Template,
    /// What phase one made of it, which is data from there on; none while it waits for tasks.
    ready: Option<String>,
}

/// A value of a file in which texts may be templates.
#[derive(Clone, Debug)]
pub(crate) enum TemplateValue {
    /// Data, with no template in it.
    Value(Value),
    /// A template.
    Text(TemplateText),
    /// A list with a template somewhere in it.
    List(Vec<TemplateValue>),
    /// An object with a template somewhere in it.
    Map(Vec<(String, TemplateValue)>),
}

impl TemplateText {
    pub(crate) fn read(node: &Node, what: &str) -> Result<Self, FileFault> {
        let written = node.text(what)?;
        let template = Template::parse(written).map_err(|error| {
            let from = written.get(error.at..).unwrap_or_default();
            let near = from.lines().next().unwrap_or_default();
            let near = if near.is_empty() { "at its end".to_owned() } else { format!("at {}", quote(near)) };
            let mark = node.line_of(written, error.at);
            FileFault::new(mark, format!("{what}, {near}: {}", error.problem))
        })?;
        Ok(Self { mark: node.mark, written: written.to_owned(), template, ready: None })
    }

    pub(crate) fn refuse(&self, problem: impl AsRef<str>) -> FileFault {
        FileFault::new(self.mark, problem)
    }

    /// The text with everything put in.
    pub(crate) fn render(&self, scope: &RenderScope) -> Result<String, FileFault> {
        let render = || self.template.render_text(scope).map_err(|error| self.refuse(error.to_string()));
        self.ready.clone().map_or_else(render, Ok)
    }

    /// The value of its one expression, or the text: in `with` and `output`.
    pub(crate) fn render_value(&self, scope: &RenderScope) -> Result<Value, FileFault> {
        self.template.render_value(scope).map_err(|error| self.refuse(error.to_string()))
    }

    /// The text as a value: in `meta`.
    pub(crate) fn render_as_text(&self, scope: &RenderScope) -> Result<Value, FileFault> {
        self.render(scope).map(Value::String)
    }

    /// Phase one: the same as data, unless it waits.
    pub(crate) fn settle(
        &self,
        scope: &RenderScope,
        waits: &dyn Fn(&Template) -> bool,
    ) -> Result<Self, FileFault> {
        let ready = if waits(&self.template) { None } else { Some(self.render(scope)?) };
        Ok(Self { ready, ..self.clone() })
    }

    /// The text, or as it is written.
    pub(crate) fn display(&self) -> &str {
        self.ready.as_ref().unwrap_or(&self.written)
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.ready.is_some()
    }
}

impl TemplateValue {
    /// One that is a map.
    pub(crate) fn read_map(node: &Node, what: &str) -> Result<Self, FileFault> {
        node.map(what)?;
        Self::read(node, what)
    }

    pub(crate) fn read(node: &Node, what: &str) -> Result<Self, FileFault> {
        let tree = match &node.content {
            NodeContent::Text(_) => {
                let text = TemplateText::read(node, what)?;
                match text.template.literal() {
                    Some(_) => Self::Value(Value::String(text.written)),
                    None => Self::Text(text),
                }
            }
            NodeContent::List(items) => {
                let items: Result<Vec<_>, _> = items.iter().map(|item| Self::read(item, what)).collect();
                Self::List(items?)
            }
            NodeContent::Map(entries) => {
                let entry = |(key, node): &(crate::node::NodeKey, Node)| {
                    Ok((key.name.clone(), Self::read(node, what)?))
                };
                let entries: Result<Vec<_>, FileFault> = entries.iter().map(entry).collect();
                Self::Map(entries?)
            }
            _ => Self::Value(node.to_value()),
        };
        Ok(tree.fold_constants())
    }

    /// The same with what has no template in it as one value.
    fn fold_constants(self) -> Self {
        match self {
            Self::List(items) if items.iter().all(Self::is_ready) => {
                Self::Value(items.into_iter().filter_map(Self::into_ready).collect())
            }
            Self::Map(entries) if entries.iter().all(|(_, tree)| tree.is_ready()) => {
                let ready = entries.into_iter().filter_map(|(key, tree)| Some((key, tree.into_ready()?)));
                Self::Value(Value::Object(ready.collect::<Map<_, _>>()))
            }
            other => other,
        }
    }

    pub(crate) fn is_ready(&self) -> bool {
        matches!(self, Self::Value(_))
    }

    fn into_ready(self) -> Option<Value> {
        match self {
            Self::Value(value) => Some(value),
            Self::Text(_) | Self::List(_) | Self::Map(_) => None,
        }
    }

    /// The templates in it.
    pub(crate) fn texts<'a>(&'a self, found: &mut Vec<&'a TemplateText>) {
        match self {
            Self::Value(_) => {}
            Self::Text(text) => found.push(text),
            Self::List(items) => items.iter().for_each(|item| item.texts(found)),
            Self::Map(entries) => entries.iter().for_each(|(_, tree)| tree.texts(found)),
        }
    }

    /// Phase one: everything that does not wait is data from here on, as `render` makes it of a
    /// template.
    pub(crate) fn settle(
        &self,
        scope: &RenderScope,
        waits: &dyn Fn(&Template) -> bool,
        render: fn(&TemplateText, &RenderScope) -> Result<Value, FileFault>,
    ) -> Result<Self, FileFault> {
        let tree = match self {
            Self::Value(value) => Self::Value(value.clone()),
            Self::Text(text) if waits(&text.template) => Self::Text(text.clone()),
            Self::Text(text) => Self::Value(render(text, scope)?),
            Self::List(items) => {
                let items: Result<Vec<_>, _> =
                    items.iter().map(|item| item.settle(scope, waits, render)).collect();
                Self::List(items?)
            }
            Self::Map(entries) => {
                let entry =
                    |(key, tree): &(String, Self)| Ok((key.clone(), tree.settle(scope, waits, render)?));
                let entries: Result<Vec<_>, FileFault> = entries.iter().map(entry).collect();
                Self::Map(entries?)
            }
        };
        Ok(tree.fold_constants())
    }

    /// Phase two.
    pub(crate) fn finish(
        &self,
        scope: &RenderScope,
        render: fn(&TemplateText, &RenderScope) -> Result<Value, FileFault>,
    ) -> Result<Value, FileFault> {
        let settled = self.settle(scope, &|_| false, render)?;
        // Nothing waits any more, so it is one value.
        Ok(settled.into_ready().unwrap_or_default())
    }

    /// As it is written, for a listing.
    pub(crate) fn display(&self) -> Value {
        match self {
            Self::Value(value) => value.clone(),
            Self::Text(text) => Value::String(text.written.clone()),
            Self::List(items) => Value::Array(items.iter().map(Self::display).collect()),
            Self::Map(entries) => {
                Value::Object(entries.iter().map(|(key, tree)| (key.clone(), tree.display())).collect())
            }
        }
    }
}
