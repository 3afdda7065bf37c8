//! Each changing tool, with the end of its worker at every step of the call: the error is told and
//! nothing changed, or all of it was answered already; nothing is left behind; the audit has the
//! outcome; and the same gateway goes on, its next call with another worker and its ledger of the
//! quota right.
//!
//! The steps are the system calls by which a worker touches anything outside itself: its socket,
//! its mounts, the code in the cache. So the end comes before the first request, between each
//! request and its answer, between two requests, before the guest's own answer and after it. What
//! it does with its memory in between is left out: it differs from run to run, and nobody outside
//! can tell at which of those it ended.

use super::check::{Gateway, is_audited, leftovers, works};
use super::each_tool::{self, LEDGER, grants_what_is_left, terminal};
use super::tool_change::{Change, Files, change, files};
use super::tracer::{self, AtWorkers, Seen};
use crate::sandbox::chat::Chat;
use serde_json::Value;

/// A terminal in which a change is made again and again.
struct Stand {
    change: Change,
    gateway: Box<dyn Gateway>,
    chat: Chat,
    old: Files,
    new: Files,
}

impl Stand {
    fn of(name: &str) -> Self {
        let change = change(name);
        let (gateway, chat) = terminal(&change);
        let mut stand = Self { change, gateway, chat, old: Files::new(), new: Files::new() };
        stand.change.again(&stand.gateway);
        stand.old = files(&stand.gateway);
        assert!(stand.call().starts_with('{'));
        stand.new = files(&stand.gateway);
        assert_ne!(stand.old, stand.new, "{name} changes nothing");
        stand
    }

    /// The answer.
    fn call(&mut self) -> String {
        for file in self.change.call(&self.gateway).attached {
            self.chat.begin(&format!("/attach {file}"));
        }
        self.chat.say(&self.change.command())
    }

    /// The call under a tracer, from the state before, in a worker that has run it.
    fn traced(&mut self, met: Option<&str>) -> (AtWorkers, String) {
        self.change.again(&self.gateway);
        assert!(self.call().starts_with('{'), "the next call works");
        assert_eq!(files(&self.gateway), self.new);
        self.change.again(&self.gateway);
        // A second worker, of another tool: the tracer then says in each line whose it is.
        assert!(self.chat.say("/file_list path=/shared").starts_with('{'));
        let tracer = AtWorkers::of(&self.gateway, self.chat.id(), met);
        let said = self.call();
        (tracer, said)
    }

    /// What a worker does in this call, from the spec that it got to its wait for the next one.
    fn steps(&mut self) -> Vec<Seen> {
        let (tracer, said) = self.traced(None);
        assert!(said.starts_with('{'), "{said}");
        let mut seen = tracer.seen();
        // Its wait for this one.
        seen.remove(0);
        assert!(seen.iter().filter(|step| step.name == "sendto").count() >= 2, "{seen:#?}");
        seen
    }

    /// The worker ends before this step; `answered` if that is after its answer.
    fn ends_before(&mut self, step: &Seen, answered: bool) {
        let (tracer, said) = self.traced(Some(&step.meets("signal=KILL")));
        tracer.killed();
        let found = files(&self.gateway);
        let outcome = self.gateway.home().audit().pop().expect("audited");
        assert_eq!((&outcome["event"], &outcome["tool"]), (&"outcome".into(), &self.change.tool.into()));
        if answered {
            assert!(said.starts_with('{') && found == self.new, "{said} at {step:?}");
            assert_eq!(outcome["code"], Value::Null, "{outcome} at {step:?}");
        } else {
            let (start, end) = ("trapped: the tool's sandbox process died (", " and nothing was changed");
            assert!(said.starts_with(start) && said.ends_with(end), "{said} at {step:?}");
            assert_eq!(found, self.old, "{said} at {step:?}");
            assert_eq!(outcome["code"], "trapped", "{outcome} at {step:?}");
        }
        assert!(is_audited(&self.gateway), "at {step:?}");
        assert!(leftovers(&self.gateway).is_empty(), "{step:?}: {:?}", leftovers(&self.gateway));
        // What this test put there by itself is found when it measures again, which it does before
        // it refuses.
        assert!(self.chat.say(&each_tool::write("/tmp/over", LEDGER + 1)).starts_with("quota_exceeded"));
        grants_what_is_left(&self.gateway, &mut self.chat, &format!("{step:?} ({said})"));
    }
}

fn ends(name: &str) {
    let test = format!("files::each_worker::{name}");
    if !tracer::available_for_workers(&test) || !change(name).is_possible(&test) {
        return;
    }
    let mut stand = Stand::of(name);
    let steps = stand.steps();
    for (n, step) in steps.iter().enumerate() {
        stand.ends_before(step, n + 1 == steps.len());
    }
    stand.chat.end();
    works(&stand.gateway);
}

macro_rules! each_worker {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            ends(stringify!($name));
        })*
    };
}

each_worker!(write append write_bytes edit copy move_file move_folder move_across delete_file delete_folder save
    download download_three);
