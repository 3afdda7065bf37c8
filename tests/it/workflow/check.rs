//! `workflow check`: exit codes, the line that it prints, and that it begins nothing.

use super::{PDF, PNG, put, refused_on_paper};
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, Instant};
use support::home::Home;

const ANALYZE: &str = r#"workflow: analyze
input: { type: object, properties: { dir: { type: string, default: assets } } }
agents:
  - id: reader
    instructions: You are a careful reader.
    attachments: [{ type: pdf, path: ./handbook.pdf, name: Handbook }]
    actions:
      - id: compare
        prompt: "Compare the pictures with the handbook. Topic: {{ input.topic }}"
        attachments: [{ type: image, url: "https://example.com/reference.png" }]
        output: { type: object, properties: { verdict: { type: string } }, required: [verdict] }
tasks:
  - id: look
    agent: reader
    action: compare
    with: { topic: harbours }
    attachments: [{ type: image, paths: ["{{ workflow.input.dir }}/**/*.png", ./cover.jpg], meta: { source: local } }]
  - { id: keep, tool: file_write, with: { path: /shared/verdict.txt, content: "{{ tasks.look.output.verdict }}" } }
"#;

fn analyze(home: &Home) -> String {
    put(home, "assets/b.png", PNG);
    put(home, "assets/deep/a.png", &[PNG, b"a"].concat());
    put(home, "assets/.hidden/c.png", PNG);
    put(home, "cover.jpg", &[PNG, b"cover"].concat());
    put(home, "handbook.pdf", PDF);
    put(home, "analyze.yaml", ANALYZE.as_bytes())
}

#[test]
fn what_a_run_would_begin_with_is_told() {
    let home = Home::new();
    let file = analyze(&home);
    let before = home.leftovers();
    let ran = home.run(&["workflow", "check", &file]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let image = |path: &str| {
        json!({ "type": "image", "path": path, "meta": { "source": "local" }, "mime_type": "image/png",
            "deferred": false, "scopes": ["task"] })
    };
    let expected = json!({
        "workflow": "analyze",
        "tasks": [
            { "id": "look", "attachments": [
                image("assets/b.png"),
                image("assets/deep/a.png"),
                image("cover.jpg"),
                { "type": "pdf", "path": "handbook.pdf", "name": "Handbook", "mime_type": "application/pdf",
                  "deferred": false, "scopes": ["agent"] },
                { "type": "image", "url": "https://example.com/reference.png", "deferred": false, "scopes": ["action"] },
            ]},
            { "id": "keep", "attachments": [] },
        ],
    });
    assert_eq!(ran.json(), expected);
    assert_eq!(home.leftovers(), before, "nothing began");
    assert!(!home.state().join("cofferdam.db").exists() && !home.host("/shared/verdict.txt").exists());
}

#[test]
fn a_sound_file_whose_agents_have_no_model_is_told_of() {
    let model = "[provider]\nkind = \"openai-chat\"\nbase_url = \"http://localhost:1/v1\"\nmodel = \"m\"\n";
    let alone = "workflow: w\ntasks: [{ id: t, tool: file_list }]\n";
    for (lines, text, is_told) in [("", ANALYZE, true), (model, ANALYZE, false), ("", alone, false)] {
        let home = Home::new().config(lines);
        analyze(&home);
        let file = put(&home, "one.yaml", text.as_bytes());
        let ran = home.run(&["workflow", "check", &file]);
        assert_eq!((ran.code, &ran.json()["problems"]), (Some(0), &Value::Null), "{ran:?}");
        let told = ran.stderr.contains("one.yaml: its agents need a model, and [provider] kind is");
        assert_eq!(told, is_told, "{ran:?}");
    }
}

#[test]
fn what_is_wrong_on_paper_begins_nothing() {
    let home = Home::new();
    let check = |text: &str, more: &[&str], said: &str| {
        let file = put(&home, "w.yaml", text.as_bytes());
        let arguments = [&["workflow", "check", &file], more].concat();
        refused_on_paper(&home.run(&arguments), said);
    };
    let tasks = "tasks: [{ id: t, tool: file_list }]\n";
    check("workflow: w\n", &[], "w.yaml:1:1: a workflow needs `tasks`");
    check(&format!("workflow: w\nsteps: []\n{tasks}"), &[], "w.yaml:2:1: `steps` is no key");
    check(&format!("workflow: w\n{tasks}"), &["--input", "a=1"], "the input does not fit: a ");
    check(&format!("workflow: w\n{tasks}"), &["--input", "a"], "is not key=value");
    check(&format!("workflow: w\n{tasks}"), &["--args", "[1,"], "--args is no JSON");
    check(
        "workflow: w\ntasks: [{ id: t, tool: x, with: { a: \"{{ input.a }}\" } }]\n",
        &[],
        "w.yaml:2:38: `{{ input.a }}`",
    );
    check(
        "workflow: w\ntasks: [{ id: t, tool: x, with: { a: \"{{ env.HOME }}\" } }]\n",
        &[],
        "the variable HOME is not listed",
    );
    for path in ["../x.png", "/etc/passwd", "a/../../x.png", "**.png", "[a"] {
        let text = format!(
            "workflow: w\nagents: [{{ id: a, actions: [{{ id: b, prompt: c, attachments: [{{ type: image, paths: [\"{path}\"] }}] }}] }}]\n{tasks}"
        );
        check(&text, &[], "w.yaml:2:");
    }
    refused_on_paper(&home.run(&["workflow", "check", "/nowhere/w.yaml"]), "cannot read /nowhere/w.yaml");
    let named = put(&home, "w.txt", b"workflow: w\n");
    refused_on_paper(&home.run(&["workflow", "check", &named]), "ends with .yaml, .yml or .json");
    let large = put(&home, "large.yaml", &vec![b'#'; (256 << 10) + 1]);
    refused_on_paper(&home.run(&["workflow", "check", &large]), "at most 256 KiB");
    let latin = put(&home, "latin.yaml", b"workflow: w\xe9\n");
    refused_on_paper(
        &home.run(&["workflow", "check", &latin]),
        "latin.yaml: stream did not contain valid UTF-8",
    );
    let sound = put(&home, "sound.yaml", format!("workflow: w\n{tasks}").as_bytes());
    refused_on_paper(&home.run(&["workflow", "check", &sound, &large]), "large.yaml:1:1");
}

/// A workflow whose agent has these attachments.
fn with(home: &Home, attachments: &str) -> String {
    let text = format!(
        "workflow: w\nagents: [{{ id: a, actions: [{{ id: b, prompt: c, attachments: [{attachments}] }}] }}]\n\
         tasks: [{{ id: t, agent: a, action: b }}]\n"
    );
    put(home, "w.yaml", text.as_bytes())
}

fn problems(home: &Home, attachments: &str, more: &[&str]) -> Vec<String> {
    let file = with(home, attachments);
    let ran = home.run(&[&["workflow", "check", &file], more].concat());
    let line = ran.json();
    let problems = line["problems"].as_array().cloned().unwrap_or_default();
    assert_eq!(ran.code, Some(if problems.is_empty() { 0 } else { 3 }), "{ran:?}");
    let told = |problem: &Value| {
        assert_eq!(problem["task"], "t");
        format!(
            "{}: {}",
            problem["code"].as_str().expect("a code"),
            problem["message"].as_str().expect("words")
        )
    };
    problems.iter().map(told).collect()
}

#[test]
fn files_are_looked_at_where_they_are() {
    let home = Home::new();
    put(&home, "a.png", PNG);
    put(&home, "text.png", b"just words");
    put(&home, "sub/x.png", PNG);
    let flows = home.dir().join("flows");
    std::os::unix::fs::symlink("a.png", flows.join("inside.png")).expect("linked");
    std::os::unix::fs::symlink("/etc/passwd", flows.join("outside.txt")).expect("linked");
    std::os::unix::fs::symlink("../model-key", flows.join("above.txt")).expect("linked");
    std::os::unix::fs::symlink("sub", flows.join("linked")).expect("linked");
    std::fs::create_dir(flows.join("folder.png")).expect("a folder");
    let fifo = std::process::Command::new("mkfifo").arg(flows.join("pipe")).status().expect("mkfifo");
    assert!(fifo.success());
    for (attachment, said) in [
        ("{ type: image, path: a.png }", ""),
        ("{ type: image, path: inside.png }", ""),
        ("{ type: image, path: linked/x.png }", ""),
        ("{ type: image, path: none.png }", "not_found: `none.png` is not there"),
        ("{ type: image, path: a.png/x }", "not_found: "),
        ("{ type: file, path: outside.txt }", "path_denied: `outside.txt` leads out"),
        ("{ type: file, path: above.txt }", "path_denied: `above.txt` leads out"),
        ("{ type: file, path: sub }", "not_a_regular_file: `sub`"),
        ("{ type: file, path: pipe }", "not_a_regular_file: `pipe`"),
        (
            "{ type: image, path: text.png }",
            "attachment_unavailable: `text.png` is text/plain, and an attachment of type image may be image/*",
        ),
        ("{ type: file, path: text.png, mime: image/png }", ""),
        ("{ type: image, paths: [\"*.jpg\"] }", "not_found: no file matches `*.jpg`"),
        ("{ type: image, paths: [\"*.jpg\", \"*.gif\"] }", "not_found: no file matches `*.jpg`, `*.gif`"),
        ("{ type: image, paths: [\"*.jpg\", a.png] }", ""),
        ("{ type: image, paths: [\"*.jpg\", none.png] }", "not_found: `none.png`"),
        ("{ type: image, paths: [\"**/x.png\"] }", ""),
        ("{ type: file, paths: [] }", "exit 2"),
        ("{ type: file, path: /shared/later.txt }", ""),
    ] {
        if said == "exit 2" {
            refused_on_paper(&home.run(&["workflow", "check", &with(&home, attachment)]), "w.yaml:2:");
            continue;
        }
        let found = problems(&home, attachment, &[]);
        match said {
            "" => assert_eq!(found, Vec::<String>::new(), "{attachment}"),
            said => assert!(found.len() == 1 && found[0].starts_with(said), "{attachment}: {found:?}"),
        }
    }
    // A wildcard enters no linked folder, and matches no folder.
    let line = home
        .run(&[
            "workflow",
            "check",
            &with(&home, "{ type: image, paths: [\"*/*.png\", \"fold*.png\", \"[ai]*.png\"] }"),
        ])
        .json();
    let paths: Vec<_> = line["tasks"][0]["attachments"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| one["path"].clone())
        .collect();
    assert_eq!(paths, ["sub/x.png", "a.png"], "the link to a file is the file");
}

/// Links with plain names to files whose own names are no text.
#[test]
fn two_files_whose_names_are_not_utf8_are_two() {
    let home = Home::new();
    let flows = home.dir().join("flows");
    std::fs::create_dir_all(&flows).expect("a folder");
    for (name, links) in [(&b"\xff.png"[..], &["a.png", "c.png"][..]), (b"\xfe.png", &["b.png"])] {
        let name = OsStr::from_bytes(name);
        std::fs::write(flows.join(name), PNG).expect("writable");
        for link in links {
            std::os::unix::fs::symlink(name, flows.join(link)).expect("linked");
        }
    }
    let attachments =
        ["a.png", "b.png", "c.png"].map(|path| format!("{{ type: image, path: {path} }}")).join(", ");
    let ran = home.run(&["workflow", "check", &with(&home, &attachments)]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let line = ran.json();
    let paths: Vec<_> = line["tasks"][0]["attachments"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| one["path"].clone())
        .collect();
    assert_eq!(paths, ["a.png", "b.png"], "c.png is the same file as a.png");
}

#[test]
fn a_match_that_no_path_can_name_is_told_and_not_left_out() {
    let home = Home::new();
    put(&home, "a.png", PNG);
    put(&home, "deep/photo \u{2764}\u{FE0F}.png", PNG);
    let found = problems(&home, "{ type: image, paths: [\"**/*.png\"] }", &[]);
    let said = "attachment_unavailable: `deep/photo \u{2764} .png` matches a pattern and cannot be attached; rename it";
    assert!(found.len() == 1 && found[0].starts_with(said) && found[0].contains("U+FE0F"), "{found:?}");
    let without = problems(&home, "{ type: image, paths: [\"**/[a-o]*.png\"] }", &[]);
    assert_eq!(without, Vec::<String>::new());
}

#[test]
fn limits_are_set_by_file_environment_and_flag() {
    let home = Home::new().config(
        "[attachments]\nmax_download_size_bytes = 50\nallowed_mime_types = { image = [\"image/jpeg\"] }\n",
    );
    put(&home, "a.png", PNG);
    let image = "{ type: image, path: a.png }";
    let found = problems(&home, image, &[]);
    assert!(
        found[0].starts_with("too_large: `a.png` has ") && found[0].contains("max_download_size_bytes is 50"),
        "{found:?}"
    );
    let found = problems(&home, image, &["--attachments-max-download-size-bytes", "1000"]);
    assert!(found[0].contains("may be image/jpeg"), "{found:?}");
    let flags = [
        "--attachments-max-download-size-bytes",
        "1000",
        "--attachments-allowed-mime-types-image",
        "image/png,image/gif",
    ];
    assert_eq!(problems(&home, image, &flags), Vec::<String>::new());
    let file = with(&home, image);
    let mut command = home.command(&["workflow", "check", &file]);
    command.env("COFFERDAM_ATTACHMENTS_MAX_DOWNLOAD_SIZE_BYTES", "1000");
    command.env("COFFERDAM_ATTACHMENTS_ALLOWED_MIME_TYPES_IMAGE", "image/*");
    assert_eq!(command.output().expect("it runs").status.code(), Some(0));
    refused_on_paper(
        &home.run(&["workflow", "check", &file, "--attachments-download-timeout", "11m"]),
        "--attachments-download-timeout: [attachments] download_timeout = \"11m\" is not from 1ms to 10m",
    );
    for (lines, said) in [
        ("[attachments]\ndownload_timeout = \"0s\"\n", "is not from 1ms to 10m"),
        ("[attachments]\nmax_redirects = 21\n", "max_redirects = 21 is not from 0 to 20"),
        ("[attachments]\nmax_redirects = -1\n", "invalid value: integer `-1`"),
        (
            "[attachments]\ntemp_dir_quota_bytes = 9999999\n",
            "temp_dir_quota_bytes = 9999999 is less than max_download_size_bytes = 10000000",
        ),
        ("[attachments]\nallowed_private_hosts = [\"10.0.0.1\"]\n", "write e.g. \"files.internal:443\""),
        ("[attachments]\nallowed_private_hosts = [\"Files.internal:80\"]\n", "write \"files.internal:80\""),
        (
            "[attachments]\nmax_download_size_bytes = 0\n",
            "max_download_size_bytes = 0 is not from 1 to 1073741824",
        ),
        ("[attachments]\nallowed_mime_types = { image = [\"*/*\"] }\n", "is no media type"),
        ("[attachments]\nallowed_mime_types = { movie = [\"a/b\"] }\n", "unknown field `movie`"),
        ("[workflows]\nenv = [\"MY_API_KEY\"]\n", "MY_API_KEY ends in _KEY"),
        ("[workflows]\nenv = [\"bot_token\"]\n", "bot_token ends in _TOKEN"),
        ("[workflows]\nenv = [\"MY_SECRET\"]\n", "MY_SECRET ends in _SECRET"),
        ("[workflows]\nenv = [\"db_password\"]\n", "db_password ends in _PASSWORD"),
        ("[workflows]\nenv = [\"A B\"]\n", "is not the name of a variable"),
        ("[workflows]\nmax_open = 0\n", "max_open = 0 is not from 1 to 10000"),
        ("[workflows]\nrun_deadline = \"10ms\"\n", "is not from 1s to 366d"),
    ] {
        let home = Home::new().config(lines);
        put(&home, "a.png", PNG);
        refused_on_paper(&home.run(&["workflow", "check", &with(&home, image)]), said);
    }
}

/// Each flag, a value, and how `doctor --json` has it.
const FLAGS: &[(&str, &str, &str)] = &[
    ("attachments.max_download_size_bytes", "5000", "5000"),
    ("attachments.download_timeout", "7s", "\"7s\""),
    ("attachments.max_redirects", "0", "0"),
    ("attachments.temp_dir_quota_bytes", "6000", "6000"),
    ("attachments.allowed_private_hosts", "a.test:1,[fd00::1]:2", "[\"a.test:1\", \"[fd00::1]:2\"]"),
    ("attachments.allowed_mime_types.image", "image/png", "[\"image/png\"]"),
    ("attachments.allowed_mime_types.audio", "audio/ogg", "[\"audio/ogg\"]"),
    ("attachments.allowed_mime_types.video", "video/mp4", "[\"video/mp4\"]"),
    ("attachments.allowed_mime_types.pdf", "application/pdf", "[\"application/pdf\"]"),
    ("attachments.allowed_mime_types.file", "text/*,image/*", "[\"text/*\", \"image/*\"]"),
];

#[test]
fn doctor_tells_of_each_limit_where_it_was_set() {
    let home = Home::new().config("[attachments]\nmax_redirects = 2\nmax_download_size_bytes = 4000\n");
    let settings = |flags: &[String], variable: Option<(&str, &str)>| {
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let mut command = home.command(&[&["doctor", "--offline", "--json"][..], &flags].concat());
        let ran: support::home::Ran = command.envs(variable).output().expect("it runs").into();
        let settings = ran.json()["configuration"]["keys"].as_array().expect("a list").clone();
        move |key: &str| {
            let setting = settings.iter().find(|setting| setting["key"] == key).expect("known");
            (
                setting["value"].as_str().map(str::to_owned),
                setting["origin"].as_str().expect("one").to_owned(),
            )
        }
    };
    let variable = Some(("COFFERDAM_ATTACHMENTS_MAX_REDIRECTS", "1"));
    let found = |value: &str, origin: &str| (Some(value.to_owned()), origin.to_owned());
    let plain = settings(&[], variable);
    assert_eq!(plain("attachments.max_redirects"), found("1", "environment"));
    assert_eq!(plain("attachments.max_download_size_bytes"), found("4000", "file"));
    assert_eq!(plain("attachments.download_timeout"), found("\"30s\"", "default"));
    assert_eq!(plain("attachments.temp_dir_quota_bytes"), (None, "default".to_owned()));
    let flag = |key: &str| format!("--{}", key.replace(['.', '_'], "-"));
    let flags: Vec<String> =
        FLAGS.iter().flat_map(|(key, value, _)| [flag(key), (*value).to_owned()]).collect();
    let set = settings(&flags, variable);
    for (key, _, value) in FLAGS {
        assert_eq!(set(key), found(value, "flag"), "{key}");
    }
    // The gateway that runs takes the same, and refuses the same.
    let refused = home.run(&["serve", "--attachments-max-redirects", "21"]);
    refused_on_paper(
        &refused,
        "--attachments-max-redirects: [attachments] max_redirects = 21 is not from 0 to 20",
    );
}

#[test]
fn variables_and_tools_are_there_where_they_are_listed() {
    let home = Home::new().config("[workflows]\nenv = [\"TEAM\", \"UNSET\"]\n");
    let text = "workflow: w\nagents: [{ id: a, tools: [file_read, nope], actions: [{ id: b, prompt: \"{{ env.TEAM }} {{ env.UNSET | default('-') }}: {{ tools.file_read.description }}\" }] }]\n\
                tasks: [{ id: t, agent: a, action: b }, { id: u, tool: file.list }, { id: v, tool: none }]\n";
    let file = put(&home, "w.yaml", text.as_bytes());
    let mut command = home.command(&["workflow", "check", &file]);
    let output = command.env("TEAM", "Blue").output().expect("it runs");
    let line: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(output.status.code(), Some(3));
    let unknown: Vec<_> =
        line["problems"].as_array().expect("some").iter().map(|p| (&p["code"], &p["task"])).collect();
    assert_eq!(unknown, [(&json!("unknown_tool"), &json!("t")), (&json!("unknown_tool"), &json!("v"))]);
    let text = text.replace("file_read.description", "nope.description");
    let file = put(&home, "w.yaml", text.as_bytes());
    let mut command = home.command(&["workflow", "check", &file]);
    let ran = command.env("TEAM", "Blue").output().expect("it runs").into();
    refused_on_paper(&ran, "tools.nope.description is missing");
}

#[test]
fn what_could_never_run_is_told() {
    let home = Home::new();
    // The builtin policy of web_fetch names no hosts.
    let off = "workflow: w\nagents: [{ id: a, tools: [web_fetch], actions: [{ id: b, prompt: c }] }]\n\
        tasks: [{ id: t, tool: web.fetch, with: { url: \"https://a.test/\" } }, { id: u, agent: a, action: b }]\n";
    let ran = home.run(&["workflow", "check", &put(&home, "w.yaml", off.as_bytes())]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let line = ran.json();
    let found = line["problems"].as_array().expect("some");
    let told: Vec<_> = found.iter().map(|problem| (&problem["code"], &problem["task"])).collect();
    let unavailable = json!("tool_unavailable");
    assert_eq!(told, [(&unavailable, &json!("t")), (&unavailable, &json!("u"))]);
    let message = found[0]["message"].as_str().expect("text");
    assert!(message.starts_with("web.fetch is off: ") && message.contains("names no hosts"), "{message}");

    let needing = "workflow: w\non: { schedule: \"0 7 * * *\", to: \"telegram:1\" }\n\
        input: { properties: { q: { type: string } }, required: [q] }\ntasks: [{ id: t, tool: file_list }]\n";
    let file = put(&home, "w.yaml", needing.as_bytes());
    let ran = home.run(&["workflow", "check", &file, "--input", "q=x"]);
    let problem = &ran.json()["problems"][0];
    assert_eq!((ran.code, &problem["code"]), (Some(3), &json!("invalid_arguments")), "{ran:?}");
    assert!(
        problem["message"].as_str().is_some_and(|m| m.starts_with("its schedule begins nothing: ")),
        "{ran:?}"
    );
}

#[test]
fn a_command_has_no_tools_name() {
    let home = Home::new();
    for (name, code) in [("publish", 0), ("file_read", 3)] {
        let text = format!("workflow: w\non: {{ command: {name} }}\ntasks: [{{ id: t, tool: file_list }}]\n");
        let ran = home.run(&["workflow", "check", &put(&home, "w.yaml", text.as_bytes())]);
        assert_eq!(ran.code, Some(code), "{ran:?}");
        assert_eq!(
            ran.json()["problems"][0]["code"].as_str(),
            (code == 3).then_some("already_exists"),
            "{ran:?}"
        );
    }
}

#[test]
fn schema_and_graph_are_printed() {
    let home = Home::new();
    let schema = home.run(&["workflow", "schema"]);
    assert_eq!(schema.json()["title"], "A workflow of Cofferdam");
    let graph = home.run(&["workflow", "graph", &analyze(&home)]);
    assert_eq!(
        (graph.code, graph.stdout.as_str()),
        (
            Some(0),
            "flowchart TD\n    t0([\"look<br/>agent reader: compare\"])\n    t1[\"keep<br/>tool file_write\"]\n    t0 --> t1\n"
        )
    );
    refused_on_paper(&home.run(&["workflow", "graph", "/nowhere.yaml"]), "cannot read /nowhere.yaml");
}

/// 100 files take no more than a few times what one takes; in a release they take less than 200 ms.
#[test]
fn a_hundred_files_are_checked_at_once() {
    let home = Home::new();
    let one = analyze(&home);
    let files: Vec<String> =
        (0..100).map(|n| put(&home, &format!("w{n}.yaml"), ANALYZE.as_bytes())).collect();
    let timed = |arguments: &[&str]| {
        let started = Instant::now();
        let ran = home.run(arguments);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        (started.elapsed(), ran.stdout.lines().count())
    };
    let all: Vec<&str> = ["workflow", "check"].into_iter().chain(files.iter().map(String::as_str)).collect();
    timed(&["workflow", "check", &one]);
    let (single, _) = timed(&["workflow", "check", &one]);
    let (hundred, lines) = timed(&all);
    assert_eq!(lines, 100);
    println!("one file {single:?}, a hundred {hundred:?}");
    assert!(hundred < single * 100 + Duration::from_millis(200), "{single:?} {hundred:?}");
}
