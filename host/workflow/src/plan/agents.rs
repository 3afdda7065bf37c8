//! What an agent's task is asked, and what is known of it before.

use super::{AgentWork, ReadyAgent, ReadyAttachment, RunPlan};
use crate::file::{TemplateText, TemplateValue};
use crate::problem::FileProblem;
use crate::template::{Expression, ValueRoot};
use serde_json::{Map, Value};

/// What is known of a `with` before its tasks are done.
pub(super) fn known_value(with: &TemplateValue) -> Value {
    match with {
        TemplateValue::Value(value) => value.clone(),
        TemplateValue::Map(entries) => {
            let known = |(key, tree): &(String, TemplateValue)| match tree {
                TemplateValue::Value(value) => Some((key.clone(), value.clone())),
                TemplateValue::Text(_) | TemplateValue::List(_) | TemplateValue::Map(_) => None,
            };
            Value::Object(entries.iter().filter_map(known).collect())
        }
        TemplateValue::Text(_) | TemplateValue::List(_) => Value::Null,
    }
}

/// Whether an expression names what a `with` has after its tasks alone.
pub(super) fn depends_on_outputs(with: &TemplateValue, expression: &Expression) -> bool {
    let (TemplateValue::Map(entries), ValueRoot::Input) = (with, expression.path.root) else { return false };
    let name = expression.path.key(0);
    entries.iter().any(|(key, tree)| Some(key.as_str()) == name && !tree.is_ready())
}

impl RunPlan {
    /// What an agent is asked.
    ///
    /// # Errors
    /// [`FileProblem`].
    pub fn ready(&self, work: &AgentWork, outputs: &Map<String, Value>) -> Result<ReadyAgent, FileProblem> {
        self.finish(outputs, |mut scope| {
            if let Some(with) = &work.with {
                let input = with.finish(&scope, TemplateText::render_value)?;
                scope = scope.with(ValueRoot::Input, input);
            }
            let mut attachments = Vec::new();
            for planned in &work.attachments {
                let item = match &planned.item {
                    Some(item) => item.clone(),
                    None => planned.declared.item(&scope)?,
                };
                let (folder, group) = (planned.folder.clone(), planned.group);
                attachments.push(ReadyAttachment { scope: planned.scope, folder, group, item });
            }
            Ok(ReadyAgent {
                instructions: work
                    .instructions
                    .as_ref()
                    .map_or(Ok(String::new()), |line| line.render(&scope))?,
                prompt: work.prompt.render(&scope)?,
                attachments,
            })
        })
    }
}
