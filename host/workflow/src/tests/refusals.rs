//! What is no workflow: each with file, line, column and what to write instead.

use super::{load, load_with, with_task};
use crate::{AGENT_FILES_MAX, FILE_BYTES_MAX, NODE_DEPTH_MAX, NODES_MAX, TASKS_MAX};

fn check(text: &str, said: &str) {
    let found = load(text).map_or_else(|problem| problem, |_| "accepted".to_owned());
    let found_place = found.split_once(' ').map_or("", |(place, _)| place);
    let (place, words) = said.split_once(' ').expect("a place and words");
    let shown: String = text.chars().take(400).collect();
    assert!(
        found_place.starts_with(&format!("w.yaml:{place}:")) && found.contains(words),
        "{shown}\n{found}\n{said}"
    );
}

#[test]
fn what_is_no_plain_yaml_is_refused() {
    for (text, said) in [
        ("", "1:1 the file is empty"),
        ("# nothing\n", "1:1 the file is empty"),
        ("workflow: [", "2:1 this is no YAML"),
        ("workflow: w\n\ttasks: []", "1:11 this is no YAML"),
        ("workflow: w\nworkflow: x\n", "2:1 the key `workflow` is here twice, first in line 1"),
        ("{workflow: w, \"workflow\": x}", "1:15 here twice"),
        ("workflow: &a w\ntasks: []", "1:11 an anchor"),
        ("workflow: w\ndescription: *a\n", "2:14 unknown anchor"),
        ("a: &a { b: 1 }\nc: *a\n", "1:4 an anchor"),
        ("workflow: w\ninput:\n  <<: { type: object }\n", "3:3 a merge key"),
        ("workflow: !!str w\n", "1:11 the tag `tag:yaml.org,2002:str` is not taken"),
        ("workflow: !include w.yaml\n", "1:11 the tag `!include`"),
        ("workflow: !!binary aGk=\n", "1:11 the tag"),
        ("workflow: w\n---\nworkflow: x\n", "2:1 a second document"),
        ("workflow: w\n...\n---\nx\n", "3:1 a second document"),
        ("1: a\n", "1:1 a key must be a text, and this is a number"),
        ("true: a\n", "1:1 a key must be a text, and this is true or false"),
        ("? [a]\n: b\n", "1:3 a key must be a text, and this is a list"),
        ("workflow: w\ninput: { default: .inf }\n", "2:19 `.inf` has no equal in JSON"),
        ("workflow: w\ninput: { default: 99999999999999999999 }\n", "2:19 too large for a number"),
        ("workflow: w\u{1}\n", "1:1 the file holds the character U+0001"),
        ("[a]", "1:1 a workflow must be a map, and this is a list"),
        ("text", "1:1 a workflow must be a map, and this is a text"),
    ] {
        check(text, said);
    }
}

#[test]
fn bounds_of_a_file_are_told() {
    check(&"#".repeat(FILE_BYTES_MAX + 1), "1 at most 256 KiB");
    let deep = format!("a: {}{}", "[".repeat(NODE_DEPTH_MAX), "]".repeat(NODE_DEPTH_MAX));
    let column = 4 + NODE_DEPTH_MAX - 1;
    check(&deep, &format!("1:{column} nest deeper than 32"));
    check(&format!("a: [{}]", "1,".repeat(NODES_MAX)), "1 more than 20000 values");
    let named = |n: usize| format!("workflow: w\ntasks: [{{ id: {}, tool: x }}]\n", "a".repeat(n));
    assert!(load(&named(64)).is_ok());
    check(&named(65), "2 at most 64");
    let tasks = |n: usize| {
        let tasks: String = (0..n).map(|n| format!("  - {{ id: t{n}, tool: file_list }}\n")).collect();
        format!("workflow: w\ntasks:\n{tasks}")
    };
    assert!(load(&tasks(TASKS_MAX)).is_ok());
    check(&tasks(TASKS_MAX + 1), "3 `tasks` has 101 tasks; write 1 to 100");
    let agents: String = (0..=AGENT_FILES_MAX).map(|n| format!("  - {{ file: a{n}.yaml }}\n")).collect();
    let files: Vec<_> = (0..=AGENT_FILES_MAX)
        .map(|n| (format!("a{n}.yaml"), format!("id: a{n}\nactions: [{{ id: x, prompt: y }}]\n")))
        .collect();
    let files: Vec<_> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let text = with_task(&format!("agents:\n{agents}"));
    let problem = load_with("w.yaml", &text, &files).expect_err("too many");
    assert!(problem.contains("more than 32 files of agents"), "{problem}");
    assert!(load_with("w.yaml", &text.replace("  - { file: a32.yaml }\n", ""), &files).is_ok());
}

#[test]
fn keys_and_values_are_held_to_the_contract() {
    for (lines, said) in [
        ("", "1 a workflow needs `tasks`"),
        ("tasks: []\n", "2 write 1 to 100"),
        ("task: []\n", "2 `task` is no key of a workflow; there is workflow, description"),
        ("tasks: { id: a }\n", "2 `tasks` must be a list"),
        ("tasks: [{ tool: file_list }]\n", "2 a task needs `id`"),
        ("tasks: [{ id: A, tool: file_list }]\n", "2 must be an id"),
        ("tasks: [{ id: 1, tool: file_list }]\n", "2 write it in quotes: \"1\""),
        ("tasks: [{ id: a }]\n", "2 a task needs one of agent, tool, send, wait and approve"),
        ("tasks: [{ id: a, tool: x, agent: y }]\n", "2 a task has agent and tool; write one"),
        ("tasks: [{ id: a, tool: File }]\n", "2 is not a tool name"),
        ("tasks: [{ id: a, tool: x, action: y }]\n", "2 `action` is for tasks that ask an agent"),
        ("tasks: [{ id: a, tool: x, attachments: [] }]\n", "2 `attachments` is for tasks that ask"),
        ("tasks: [{ id: a, tool: x, with: [1] }]\n", "2 `with` must be a map"),
        ("tasks: [{ id: a, send: { to: \"x:1\", text: t }, with: {} }]\n", "2 `with` is for tasks"),
        ("tasks: [{ id: a, agent: b, action: c }]\n", "2 there is no agent `b`; there is nothing"),
        ("tasks: [{ id: a, tool: x }, { id: a, tool: y }]\n", "2 two tasks `a`"),
        ("tasks: [{ id: a, send: { to: bob, text: t } }]\n", "2 is no person; write CHANNEL:USER"),
        ("tasks: [{ id: a, wait: { reply_to: b, timeout: 1h } }]\n", "2 is no earlier task that sends"),
        ("tasks: [{ id: a, approve: { text: t, timeout: soon } }]\n", "2 is not a duration"),
        ("tasks: [{ id: a, approve: { text: t } }]\n", "2 needs `timeout`"),
        ("on: {}\ntasks: [{ id: a, tool: x }]\n", "2 `on` needs `command` or `schedule`"),
        ("on: { command: cancel }\ntasks: [{ id: a, tool: x }]\n", "2 a word to the gateway"),
        ("on: { command: start }\ntasks: [{ id: a, tool: x }]\n", "2 a word to the gateway"),
        ("on: { command: voice }\ntasks: [{ id: a, tool: x }]\n", "2 a word to the gateway"),
        ("on: { schedule: \"0 7 * *\", to: \"telegram:1\" }\n", "2 has 4 fields"),
        ("on: { schedule: \"60 7 * * *\", to: \"telegram:1\" }\n", "2 `60` is no minute"),
        ("on: { schedule: \"0 7 * * 1\" }\n", "2 `on` needs `to`"),
        ("on: { command: x, to: \"telegram:1\" }\n", "2 `to` is who a schedule answers"),
        ("on: yes\n", "2 `on` must be a map, and this is a text"),
        ("input: []\n", "2 `input` must be a JSON Schema"),
        ("input: { type: string }\n", "2 the schema of an object"),
        ("input: { typ: object }\n", "2 no usable JSON Schema"),
        ("description: ~\n", "2 is empty"),
        ("description: \"a\\nb\"\n", "2 one line of plain text"),
    ] {
        check(&format!("workflow: w\n{lines}"), said);
    }
}

#[test]
fn agents_are_held_to_the_contract() {
    for (lines, said) in [
        ("agents: [{ id: a }]\n", "2 an agent needs `actions`"),
        ("agents: [{ actions: [] }]\n", "2 an agent needs `id`"),
        ("agents: [{ id: a, actions: [], model: x }]\n", "2 `model` is no key of an agent"),
        ("agents: [{ id: a, actions: [{ id: b }] }]\n", "2 an action needs `prompt`"),
        ("agents: [{ id: a, actions: [{ id: b, prompt: \" \" }] }]\n", "2 `prompt` is empty"),
        ("agents: [{ id: a, actions: [{ id: b, prompt: c, output: 1 }] }]\n", "2 must be a JSON Schema"),
        ("agents: [{ id: a, actions: [{ id: b, prompt: c }, { id: b, prompt: c }] }]\n", "2 two actions `b`"),
        ("agents: [{ id: a, actions: [] }, { id: a, actions: [] }]\n", "2 two agents `a`"),
        ("agents: [{ id: a, tools: [x, x], actions: [] }]\n", "2 in `tools` twice"),
        ("agents: [{ id: a, tools: all, actions: [] }]\n", "2 `tools` must be a list"),
        ("agents: [{ file: ../a.yaml }]\n", "2 leads above the folder"),
        ("agents: [{ file: /a.yaml }]\n", "2 is an absolute path"),
        ("agents: [{ file: a.yaml }]\n", "2 cannot read the agent's file `a.yaml`: it is not there"),
        ("agents: [{ file: a.yaml, id: a }]\n", "2 an agent needs `actions`"),
    ] {
        let text = with_task(lines);
        if said.ends_with("needs `actions`") && lines.contains("file:") {
            // A file is the whole of an agent.
            check(&text, "2 `file` is no key of an agent");
        } else {
            check(&text, said);
        }
    }
    let files = [("team/a.yaml", "id: a\nactions:\n  - { id: b, prompt: \"{{ tasks.x.output }}\" }\n")];
    let problem = load_with("flows/w.yaml", &with_task("agents: [{ file: ./team/a.yaml }]\n"), &files);
    let problem = problem.expect_err("no such task");
    assert!(problem.starts_with("flows/team/a.yaml:3:22: `tasks.x.output`: `x` is no task"), "{problem}");
}

#[test]
fn attachments_are_held_to_the_contract() {
    for (attachment, said) in [
        ("{}", "2 an attachment needs `type`"),
        ("{ type: image }", "2 needs one of url, path, urls and paths"),
        ("{ type: image, url: \"https://e/a\", path: a }", "2 has url and path; write one"),
        ("{ type: movie, path: a }", "2 `movie` is no type of attachment; there is image"),
        ("{ type: file, url: \"https://e/a\" }", "2 takes `path` and not `url`"),
        ("{ type: file, paths: [a] }", "2 takes `path` and not `paths`"),
        ("{ type: url, path: a }", "2 takes `url` and not `path`"),
        ("{ type: url, urls: [\"https://e/a\"] }", "2 takes `url` and not `urls`"),
        ("{ type: pdf, path: a, fetch: true }", "2 `fetch: true` is for images"),
        ("{ type: pdf, url: \"https://e/a\", fetch: true }", "2 `fetch: true` is for images"),
        ("{ type: image, path: a, fetch: true }", "2 `fetch: true` is for images"),
        ("{ type: image, path: a, fetch: 1 }", "2 must be true or false"),
        ("{ type: image, path: a, size: 1 }", "2 `size` is no key of an attachment"),
        ("{ type: image, path: a, meta: [1] }", "2 `meta` must be a map"),
        ("{ type: image, paths: [] }", "2 `paths` is empty"),
        ("{ type: image, paths: a }", "2 `paths` must be a list"),
        ("{ type: image, path: ../a }", "2 leads above the folder"),
        ("{ type: image, paths: [\"a[\"] }", "2 is no pattern"),
        ("{ type: image, url: \"ftp://e/a\" }", "2 the scheme `ftp`"),
        ("{ type: image, url: \"{{ input.\" }", "2 after a dot comes a name"),
    ] {
        check(
            &with_task(&format!("agents: [{{ id: a, attachments: [{attachment}], actions: [] }}]\n")),
            said,
        );
    }
}

#[test]
fn what_templates_name_must_be_there() {
    for (text, said) in [
        ("{{ tasks.later.output }}", "`later` is not an earlier task; earlier ones are first"),
        ("{{ tasks.me.output }}", "`me` is not an earlier task"),
        ("{{ tasks.none.output }}", "`none` is no task"),
        ("{{ tasks.first.state }}", "a task has only its output; write tasks.first.output"),
        ("{{ tasks.first }}", "a task has only its output"),
        ("{{ tasks[0].output }}", "after tasks comes a name"),
        ("{{ agents.a.description }}", "agents has no `a`; there is nothing"),
        ("{{ tools.file_read.name }}", "write `tools.file_read`.description"),
        ("{{ workflow.name }}", "workflow has no `name`; there is id, run and input"),
        ("{{ trigger.user }}", "trigger has no `user`"),
        ("{{ env.A.b }}", "write env.A"),
        ("{{ input.a + 1 }}", "no arithmetic"),
    ] {
        let tasks = format!(
            "workflow: w\ntasks:\n  - {{ id: first, tool: x }}\n  - id: me\n    tool: x\n    with:\n      deep:\n        - '{text}'\n  - {{ id: later, tool: x }}\n"
        );
        check(&tasks, &format!("8 {said}"));
    }
    // An action is held to the tasks before each task that asks for it.
    let text = "workflow: w\nagents:\n  - id: a\n    actions:\n      - { id: x, prompt: \"{{ tasks.one.output }}\" }\n\
                tasks:\n  - { id: zero, agent: a, action: x }\n  - { id: one, tool: x }\n";
    check(text, "5 `one` is not an earlier task; this is the first");
}

#[test]
fn a_problem_in_a_block_is_told_by_its_own_line() {
    for (block, line) in [
        ("|\n          One\n          two {{ input.a | nope }}\n", 8),
        ("|\n\n\n          One\n\n          two {{ input.a | nope }}\n", 11),
        ("|-\n          {{ input.a | nope }}", 7),
        (">\n          One\n          two {{ input.a | nope }}\n", 7),
        ("\"One\n\n          two {{ input.a | nope }}\"", 6),
    ] {
        let text = format!(
            "workflow: w\nagents:\n  - id: a\n    actions:\n      - id: x\n        prompt: {block}\ntasks: [{{ id: t, tool: x }}]\n"
        );
        let problem = load(&text).expect_err("no such filter");
        let place = format!("w.yaml:{line}:");
        assert!(
            problem.starts_with(&place) && problem.contains("there is no filter `nope`"),
            "{text}{problem}"
        );
    }
}

#[test]
fn json_is_read_strictly_and_placed() {
    for (text, said) in [
        ("", "w.json:1:"),
        ("{\"workflow\": \"w\",}", "w.json:1:18: this is no JSON"),
        ("{\"workflow\": \"w\",\n \"workflow\": \"x\"}", "duplicate key"),
        ("{\"workflow\": \"w\"} x", "this is no JSON"),
        ("{\n  \"workflow\": \"w\",\n  \"steps\": []\n}", "w.json:3:12: `steps` is no key of a workflow"),
        (
            "{\"workflow\": \"w\", \"tasks\": [\n {\"id\": \"A\", \"tool\": \"x\"}]}",
            "w.json:2:9: `id` of a task",
        ),
    ] {
        let problem = load_with("w.json", text, &[]).expect_err(text);
        assert!(problem.contains(said), "{text}: {problem}");
    }
    let text = "{\"workflow\": \"w\\u002d1\", \"tasks\": [{\"id\": \"a\", \"tool\": \"x\", \"with\": {\"n\": [1, 2.5, null, true, \"\\ud83d\\ude00\"]}}]}";
    assert_eq!(load_with("w.json", text, &[]).expect("a workflow").id, "w-1");
}
