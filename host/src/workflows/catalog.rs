//! The workflows of `[workflows] dir`: what `serve` offers, and what `run ID` finds.

use super::download::check_address;
use super::executor::NO_MODEL;
use super::load::{LoadError, load};
use super::types::AttachmentLimits;
use cofferdam_agent::llm::ProviderKind;
use cofferdam_core::command::split_command;
use cofferdam_core::tool::wire_name;
use cofferdam_workflow::Workflow;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Files of the folder.
pub const OFFERED_FILES_MAX: usize = 200;

/// A workflow that is offered.
pub struct OfferedWorkflow {
    /// The workflow.
    pub workflow: Arc<Workflow>,
    /// Its folder's path, absolute.
    pub dir: PathBuf,
    /// Its file.
    pub file: PathBuf,
}

/// Those of a folder, by the names of their files.
#[derive(Default)]
pub struct Catalog {
    /// In order.
    pub offered: Vec<OfferedWorkflow>,
}

impl OfferedWorkflow {
    fn unfit(&self, problem: impl Into<String>) -> LoadError {
        LoadError::Unfit { file: self.file.display().to_string(), problem: problem.into() }
    }

    fn name_taken(&self, name: &str, whose: &str) -> LoadError {
        self.unfit(format!("/{name} is {whose}; choose another name for the command of `on`"))
    }
}

impl Catalog {
    /// The workflows of a folder: each .yaml, .yml and .json file right in it that no other one
    /// names as an agent's. Without a folder there is none.
    ///
    /// # Errors
    /// [`LoadError`]: the first thing that is wrong.
    pub fn load(dir: Option<&Path>) -> Result<Self, LoadError> {
        let Some(dir) = dir else { return Ok(Self::default()) };
        let unreadable = |cause| LoadError::Folder { dir: dir.to_owned(), cause };
        let mut files = Vec::new();
        for entry in std::fs::read_dir(dir).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            let is_hidden = path.file_name().is_none_or(|name| name.to_string_lossy().starts_with('.'));
            let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
            if !is_hidden && matches!(ending, "yaml" | "yml" | "json") {
                files.push(path);
            }
            if files.len() > OFFERED_FILES_MAX {
                return Err(LoadError::TooMany(dir.to_owned()));
            }
        }
        files.sort();
        let (mut offered, mut wrong, mut agents) = (Vec::new(), Vec::new(), BTreeSet::new());
        for file in files {
            match load(&file) {
                Ok(loaded) => {
                    agents.extend(loaded.workflow.sources[1..].iter().map(|source| source.path.to_string()));
                    offered.push(OfferedWorkflow { workflow: loaded.workflow, dir: loaded.dir, file });
                }
                Err(error) => wrong.push((file, error)),
            }
        }
        let is_agents =
            |file: &Path| file.file_name().is_some_and(|name| agents.contains(&*name.to_string_lossy()));
        if let Some((_, error)) = wrong.into_iter().find(|(file, _)| !is_agents(file)) {
            return Err(error);
        }
        let catalog = Self { offered };
        catalog.check_ids()?;
        Ok(catalog)
    }

    fn check_ids(&self) -> Result<(), LoadError> {
        for (at, one) in self.offered.iter().enumerate() {
            let before = &self.offered[..at];
            let same = before.iter().find(|other| other.workflow.id == one.workflow.id);
            if let Some(first) = same {
                let (id, first) = (&one.workflow.id, first.file.display());
                let said =
                    format!("there is a workflow {id} already, in {first}; give each an id of its own");
                return Err(one.unfit(said));
            }
            let Some(name) = &one.workflow.on.command else { continue };
            let same = before.iter().find(|other| other.workflow.on.command.as_ref() == Some(name));
            if let Some(first) = same {
                return Err(one.name_taken(name, &format!("the command of {} already", first.workflow.id)));
            }
        }
        Ok(())
    }

    /// Refuses addresses that are wrong on paper, of those that the files say in full.
    ///
    /// # Errors
    /// [`LoadError::Unfit`].
    pub fn check_addresses(&self, limits: &AttachmentLimits) -> Result<(), LoadError> {
        for one in &self.offered {
            for url in one.workflow.addresses() {
                check_address(&url, limits).map_err(|refused| one.unfit(refused.to_string()))?;
            }
        }
        Ok(())
    }

    /// Refuses commands that are tools', schedules that begin nothing or answer on channels that
    /// are not there, and tasks of agents without a model.
    ///
    /// # Errors
    /// [`LoadError`].
    pub fn check_beside<'t>(
        &self,
        tools: impl Iterator<Item = &'t str>,
        channels: &[&'static str],
        provider: ProviderKind,
    ) -> Result<(), LoadError> {
        let tools: BTreeSet<&str> = tools.collect();
        for one in &self.offered {
            if provider == ProviderKind::Commands && one.workflow.has_agent_tasks() {
                return Err(one.unfit(NO_MODEL));
            }
            if let Some(why) = one.workflow.schedule_problem() {
                return Err(one.unfit(why));
            }
            if let Some(name) = &one.workflow.on.command
                && tools.contains(&*wire_name(name))
            {
                return Err(one.name_taken(name, "a tool"));
            }
            if let Some((_, to)) = &one.workflow.on.schedule
                && !channels.iter().any(|channel| *channel == to.channel)
            {
                let channel = &to.channel;
                let said = format!("the schedule answers {to}, and [channels.{channel}] is not configured");
                return Err(one.unfit(said));
            }
        }
        Ok(())
    }

    /// The workflow of this id.
    pub fn by_id(&self, id: &str) -> Option<&OfferedWorkflow> {
        self.offered.iter().find(|one| one.workflow.id == id)
    }

    /// The workflow that a message's command begins, and what follows the command.
    pub fn by_command<'t>(&self, text: &'t str) -> Option<(&OfferedWorkflow, &'t str)> {
        let typed = split_command(text)?;
        let is_it = |one: &&OfferedWorkflow| {
            one.workflow.on.command.as_ref().is_some_and(|name| name.eq_ignore_ascii_case(typed.name))
        };
        Some((self.offered.iter().find(is_it)?, typed.arguments()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORKFLOW: &str =
        "workflow: ID\nagents: [{ file: agent.yaml }]\ntasks: [{ id: a, tool: file_list }]\n";
    const AGENT: &str = "id: reader\nactions: [{ id: look, prompt: look }]\n";

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().expect("a folder");
        for (name, text) in files {
            std::fs::write(dir.path().join(name), text).expect("writable");
        }
        dir
    }

    #[test]
    fn a_folder_offers_its_workflows_and_not_the_files_of_their_agents() {
        let (one, two) = (WORKFLOW.replace("ID", "one"), WORKFLOW.replace("ID", "two"));
        let dir = folder(&[
            ("1.yaml", &one),
            ("2.json.txt", "x"),
            (".3.yaml", "x"),
            ("4.yml", &two),
            ("agent.yaml", AGENT),
        ]);
        let catalog = Catalog::load(Some(dir.path())).expect("sound");
        let ids: Vec<&str> = catalog.offered.iter().map(|one| one.workflow.id.as_str()).collect();
        assert_eq!(ids, ["one", "two"]);
        assert!(catalog.by_id("two").is_some() && catalog.by_id("reader").is_none());
        assert!(Catalog::load(None).expect("nothing").offered.is_empty());
        // What nobody names as an agent's is a workflow, or wrong.
        let alone = folder(&[("agent.yaml", AGENT)]);
        assert!(matches!(Catalog::load(Some(alone.path())), Err(LoadError::Problem(_))));
    }

    #[test]
    fn a_folder_has_so_many_files_and_no_more() {
        let dir = folder(&[]);
        let text = |n: usize| format!("workflow: w{n}\ntasks: [{{ id: a, tool: file_list }}]\n");
        for n in 0..OFFERED_FILES_MAX {
            std::fs::write(dir.path().join(format!("{n}.yaml")), text(n)).expect("writable");
        }
        assert_eq!(Catalog::load(Some(dir.path())).expect("sound").offered.len(), OFFERED_FILES_MAX);
        std::fs::write(dir.path().join("more.yaml"), text(OFFERED_FILES_MAX)).expect("writable");
        assert!(matches!(Catalog::load(Some(dir.path())), Err(LoadError::TooMany(_))));
    }

    #[test]
    fn what_could_never_run_is_not_offered() {
        let agent = WORKFLOW.replace("ID", "one").replace("tool: file_list", "agent: reader, action: look");
        let needing = "input: { properties: { q: { type: string } }, required: [q] }\n";
        let tasks = "agents: [{ file: agent.yaml }]\ntasks: [{ id: a, tool: file_list }]\n";
        let asking = |on: &str| format!("workflow: two\non: {{ {on} }}\n{needing}{tasks}");
        let check = |text: &str, provider: ProviderKind| {
            let dir = folder(&[("1.yaml", text), ("agent.yaml", AGENT)]);
            let catalog = Catalog::load(Some(dir.path())).expect("sound");
            catalog.check_beside(std::iter::empty(), &["telegram"], provider).map_err(|e| e.to_string())
        };
        let model = ProviderKind::OpenaiChat;
        let said = check(&agent, ProviderKind::Commands).expect_err("nobody answers");
        assert!(said.contains("1.yaml: its agents need a model"), "{said}");
        check(&agent, model).expect("somebody answers");
        let schedule = "schedule: \"0 7 * * *\", to: \"telegram:1\"";
        let said = check(&asking(schedule), model).expect_err("nobody gives it an input");
        assert!(said.contains("1.yaml: its schedule begins nothing: the input does not fit: "), "{said}");
        check(&asking(schedule).replace("type: string", "type: string, default: x"), model)
            .expect("a default");
        check(&asking("command: ask"), model).expect("a person gives it");
    }
}
