//! What an expression names: a root and at least one name.

use serde_json::Value;
use std::fmt;

/// Where a path begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ValueRoot {
    /// The workflow's `id`, `run` and `input`.
    Workflow,
    /// The `with` of an agent task, else the workflow's input.
    Input,
    /// Variables that the operator lists.
    Env,
    /// Who or what began the run.
    Trigger,
    /// Descriptions of agents.
    Agents,
    /// Descriptions of tools.
    Tools,
    /// Outputs of tasks that are done.
    Tasks,
}

impl ValueRoot {
    /// Each with its name.
    pub const ALL: [(&'static str, Self); 7] = [
        ("workflow", Self::Workflow),
        ("input", Self::Input),
        ("env", Self::Env),
        ("trigger", Self::Trigger),
        ("agents", Self::Agents),
        ("tools", Self::Tools),
        ("tasks", Self::Tasks),
    ];

    /// The name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, root)| *root == self).map_or("", |(name, _)| name)
    }
}

/// One step of a path below its root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathStep {
    /// `.name` or `["any key"]`.
    Key(String),
    /// `[0]`.
    Index(usize),
}

/// A root and at least one step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValuePath {
    /// Where it begins.
    pub root: ValueRoot,
    /// What follows; never empty.
    pub steps: Vec<PathStep>,
}

impl ValuePath {
    /// The name at step `n`, if it is one.
    pub fn key(&self, n: usize) -> Option<&str> {
        match self.steps.get(n) {
            Some(PathStep::Key(key)) => Some(key),
            Some(PathStep::Index(_)) | None => None,
        }
    }

    /// What is there; none where something is missing on the way, or null.
    pub(super) fn find<'a>(&self, root: &'a Value) -> Option<&'a Value> {
        let step = |value: &'a Value, step: &PathStep| match step {
            PathStep::Key(key) => value.as_object()?.get(key),
            PathStep::Index(index) => value.as_array()?.get(*index),
        };
        self.steps.iter().try_fold(root, step).filter(|value| !value.is_null())
    }
}

impl fmt::Display for ValuePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.root.name())?;
        for step in &self.steps {
            match step {
                PathStep::Key(key) if is_name(key) => write!(f, ".{key}")?,
                PathStep::Key(key) => write!(f, "[{}]", Value::from(key.as_str()))?,
                PathStep::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

/// What may follow a dot.
pub(super) fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
}
