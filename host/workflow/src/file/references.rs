//! What templates name must be there: earlier tasks, agents, and the fields of each root.

use super::Workflow;
use super::text::TemplateText;
use crate::problem::{FileFault, list_names, quote};
use crate::template::{ValuePath, ValueRoot};

const OF_WORKFLOW: [&str; 3] = ["id", "run", "input"];
const OF_TRIGGER: [&str; 7] = ["kind", "channel", "sender", "session", "request", "text", "files"];

pub(super) fn check(workflow: &Workflow) -> Result<(), FileFault> {
    for (at, task) in workflow.tasks.iter().enumerate() {
        check_all(workflow, at, &workflow.texts_of_task(&task.work))?;
    }
    let mut texts = Vec::new();
    if let Some(output) = &workflow.output {
        output.texts(&mut texts);
    }
    // Actions that no task asks for are held to the tasks that there are.
    workflow.texts_of_agents(&mut texts);
    check_all(workflow, workflow.tasks.len(), &texts)
}

/// Texts that are rendered when the tasks before `at` are done.
fn check_all(workflow: &Workflow, at: usize, texts: &[&TemplateText]) -> Result<(), FileFault> {
    for text in texts {
        for expression in text.template.expressions() {
            if let Err(problem) = check_path(workflow, at, &expression.path) {
                return Err(text.refuse(format!("`{}`: {problem}", expression.path)));
            }
        }
    }
    Ok(())
}

fn check_path(workflow: &Workflow, at: usize, path: &ValuePath) -> Result<(), String> {
    let Some(name) = path.key(0) else {
        return Err(format!("after {} comes a name", path.root.name()));
    };
    let one_of = |names: &[&str]| match names.contains(&name) {
        true => Ok(()),
        false => Err(format!("{} has no {}; there is {}", path.root.name(), quote(name), list_names(names))),
    };
    let described = || match (path.key(1), path.steps.len()) {
        (Some("description"), 2) => Ok(()),
        _ => Err(format!("write {}.description", quote(&format!("{}.{name}", path.root.name())))),
    };
    match path.root {
        ValueRoot::Input => Ok(()),
        ValueRoot::Workflow => one_of(&OF_WORKFLOW),
        ValueRoot::Trigger => one_of(&OF_TRIGGER),
        ValueRoot::Env if path.steps.len() == 1 => Ok(()),
        ValueRoot::Env => Err(format!("a variable is a text; write env.{name}")),
        ValueRoot::Tools => described(),
        ValueRoot::Agents => {
            let ids: Vec<&str> = workflow.agents.iter().map(|agent| agent.id.as_str()).collect();
            one_of(&ids)?;
            described()
        }
        ValueRoot::Tasks => {
            let before: Vec<&str> = workflow.tasks[..at].iter().map(|task| task.id.as_str()).collect();
            if !before.contains(&name) {
                let (there, later) = (list_names(&before), workflow.tasks.iter().any(|task| task.id == name));
                let what = if later { "is not an earlier task" } else { "is no task" };
                let earlier = if before.is_empty() {
                    "this is the first".to_owned()
                } else {
                    format!("earlier ones are {there}")
                };
                return Err(format!("{} {what}; {earlier}", quote(name)));
            }
            match path.key(1) {
                Some("output") => Ok(()),
                _ => Err(format!("a task has only its output; write tasks.{name}.output")),
            }
        }
    }
}
