//! A gateway's folder of its own: configuration, workspace, state, policies, gone at the end.

use crate::llm::{Dialect, LlmServer};
use crate::{guests, program};
use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use tempfile::TempDir;

/// The folder of one gateway.
pub struct Home {
    dir: TempDir,
    telegram: String,
    policies: bool,
    extra: String,
    environment: Vec<(&'static str, String)>,
}

/// What one run of the program came to.
#[derive(Debug, PartialEq, Eq)]
pub struct Ran {
    /// The exit code; none when a signal ended it.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error, without what is told of compiling: that depends on the machine, and on who
    /// was first.
    pub stderr: String,
}

/// What a line begins with that tells of compiling.
pub const COMPILING: &str = "cofferdam: compiling ";

impl Ran {
    /// Standard output as JSON.
    ///
    /// # Panics
    /// When it is no JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("stdout is not JSON ({e}): {self:?}"))
    }

    /// The error code on standard output, or "" when the call succeeded.
    pub fn error(&self) -> String {
        self.json()["error"]["code"].as_str().unwrap_or_default().to_owned()
    }

    /// The error message on standard output.
    pub fn message(&self) -> String {
        self.json()["error"]["message"].as_str().unwrap_or_default().to_owned()
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr)
                .split_inclusive('\n')
                .filter(|line| !line.starts_with(COMPILING))
                .collect(),
        }
    }
}

impl Default for Home {
    fn default() -> Self {
        Self::new()
    }
}

/// Messages go out as fast as the server takes them: no test waits for limits that it is not about.
const AT_ITS_PACE: &str = "flood_limits = \"server\"\n";

impl Home {
    /// A gateway without channels, with the embedded policies.
    pub fn new() -> Self {
        let dir = tempfile::Builder::new().prefix("cofferdam-test-").tempdir().expect("a temporary folder");
        let home = Self {
            dir,
            telegram: String::new(),
            policies: false,
            extra: String::new(),
            environment: Vec::new(),
        };
        home.write_config();
        copy_warm_cache(&home.state());
        home
    }

    /// With a Telegram channel on this server, serving these users.
    #[must_use]
    pub fn telegram(mut self, api_url: &str, users: &[i64]) -> Self {
        self.telegram =
            format!("[channels.telegram]\napi_url = {api_url:?}\nallowed_users = {users:?}\n{AT_ITS_PACE}");
        self.write_config();
        self
    }

    /// With these variables for each command.
    #[must_use]
    pub fn environment(mut self, variables: impl IntoIterator<Item = (&'static str, String)>) -> Self {
        self.environment.extend(variables);
        self
    }

    /// With messages that go out as fast as Telegram's published limits allow; else the loopback
    /// server alone limits them, or nobody.
    #[must_use]
    pub fn paced(mut self) -> Self {
        self.telegram = self.telegram.replace(AT_ITS_PACE, "");
        self.write_config();
        self
    }

    /// With a model of this server, its key in a file of the gateway's folder; `more` are further
    /// lines of the section.
    #[must_use]
    pub fn model(self, llm: &LlmServer, dialect: Dialect, more: &str) -> Self {
        use std::os::unix::fs::OpenOptionsExt;
        let file = self.dir().join("model-key");
        let mut options = std::fs::File::options();
        let mut file =
            options.create(true).write(true).truncate(true).mode(0o600).open(file).expect("writable");
        file.write_all(llm.key().as_bytes()).expect("writable");
        self.config(&format!(
            "[provider]\nkind = {:?}\nbase_url = {:?}\nmodel = \"test-model\"\napi_key_file = \"model-key\"\n{more}",
            dialect.kind(),
            llm.base_url(dialect)
        ))
    }

    /// With more lines in the section of the Telegram channel.
    #[must_use]
    pub fn telegram_more(mut self, lines: &str) -> Self {
        self.telegram.push_str(lines);
        self.write_config();
        self
    }

    /// With more sections in the configuration.
    #[must_use]
    pub fn config(mut self, sections: &str) -> Self {
        self.extra.push_str(sections);
        self.write_config();
        self
    }

    /// With a workflow that people may start.
    ///
    /// # Panics
    /// If it offers one already.
    #[must_use]
    pub fn offering(self, name: &str, text: &str) -> Self {
        let folder = self.dir().join("offered");
        std::fs::create_dir(&folder).and_then(|()| std::fs::write(folder.join(name), text)).expect("written");
        self.config("[workflows]\ndir = \"offered\"\n")
    }

    /// With its own policies: the default ones and a tool from a test guest's file, `policy` being
    /// what follows `tool`, `profile`, `component` and `why` in its file.
    #[must_use]
    pub fn tool(self, name: &str, profile: &str, guest: &str, policy: &str) -> Self {
        let home = self.own_policies();
        let bytes = guests::bytes(guest);
        let text = format!(
            "schema = 1\ntool = {name:?}\nprofile = {profile:?}\nwhy = \"a test\"\n\
             component = {{ file = \"{name}.wasm\", sha256 = {:?} }}\n{policy}",
            guests::sha256(&bytes)
        );
        std::fs::write(home.policies_dir().join(format!("tools/{name}.wasm")), bytes).expect("writable");
        home.policy(&format!("tools/{name}.toml"), &text)
    }

    /// The guest that misbehaves in every way, with `limits` for its `[limits]` section.
    #[must_use]
    pub fn hostile(self, limits: &str) -> Self {
        let arguments = "behaviour = \"value\"\npath = { path = \"write\" }\nbytes = \"value\"";
        let policy = format!("safety = \"side-effecting\"\n[arguments]\n{arguments}\n[limits]\n{limits}\n");
        self.tool("hostile", "file-read-write", "hostile", &policy)
    }

    /// With the default policies in its own folder, to be changed.
    #[must_use]
    pub fn own_policies(mut self) -> Self {
        if !self.policies {
            let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../policies");
            for folder in ["profiles", "tools"] {
                std::fs::create_dir_all(self.policies_dir().join(folder)).expect("writable");
                for entry in std::fs::read_dir(source.join(folder)).expect("the policies are there") {
                    let entry = entry.expect("readable");
                    let to = self.policies_dir().join(folder).join(entry.file_name());
                    std::fs::copy(entry.path(), to).expect("writable");
                }
            }
            self.policies = true;
            self.write_config();
        }
        self
    }

    /// With this policy file.
    #[must_use]
    pub fn policy(self, name: &str, text: &str) -> Self {
        let home = self.own_policies();
        std::fs::write(home.policies_dir().join(name), text).expect("writable");
        home
    }

    fn write_config(&self) {
        let policies = if self.policies { "[policies]\ndir = \"policies\"\n" } else { "" };
        let workspace =
            if self.extra.contains("[workspace]") { "" } else { "[workspace]\nroot = \"workspace\"\n" };
        let text = format!("{workspace}[state]\ndir = \"state\"\n{policies}{}{}", self.telegram, self.extra);
        std::fs::write(self.config_file(), text).expect("writable");
    }

    /// The folder of it all.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// `cofferdam.toml`.
    pub fn config_file(&self) -> PathBuf {
        self.dir().join("cofferdam.toml")
    }

    /// The workspace on the host.
    pub fn workspace(&self) -> PathBuf {
        self.dir().join("workspace")
    }

    /// The file behind a guest path such as `/shared/a.txt`.
    pub fn host(&self, guest: &str) -> PathBuf {
        self.workspace().join(guest.trim_start_matches('/'))
    }

    /// The folder of a session such as `telegram-99:7/0`, in which its `tmp` lies: among those of
    /// the root, or of the folder of a user such as `telegram-7`.
    pub fn session(&self, user: Option<&str>, session: &str) -> PathBuf {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
        let shown: String = session.chars().take(32).map(plain).collect();
        let name = format!("{shown}-{}", &guests::sha256(session.as_bytes())[..32]);
        let base = user.map_or_else(|| self.workspace(), |user| self.workspace().join("users").join(user));
        base.join("sessions").join(name)
    }

    /// The state folder.
    pub fn state(&self) -> PathBuf {
        self.dir().join("state")
    }

    /// The policies of [`Home::own_policies`].
    pub fn policies_dir(&self) -> PathBuf {
        self.dir().join("policies")
    }

    /// The active files of the audit, as text: that of the gateway, and those of nodes.
    pub fn audit_text(&self) -> String {
        let entries = std::fs::read_dir(self.state()).into_iter().flatten().flatten();
        let nodes = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("node-"));
        let folders = std::iter::once(self.state()).chain(nodes.map(|entry| entry.path()));
        folders.filter_map(|folder| std::fs::read_to_string(folder.join("audit.jsonl")).ok()).collect()
    }

    /// Their records.
    pub fn audit(&self) -> Vec<Value> {
        let text = self.audit_text();
        text.lines().map(|line| serde_json::from_str(line).expect("an audit line is JSON")).collect()
    }

    /// The program with this gateway's configuration; nothing of the test's environment but PATH.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(program::cofferdam());
        self.fit(&mut command, arguments);
        command
    }

    /// The same, run under another program (a tracer).
    pub fn command_under(&self, wrapper: &[&str], arguments: &[&str]) -> Command {
        let mut command = Command::new(wrapper[0]);
        command.args(&wrapper[1..]).arg(program::cofferdam());
        self.fit(&mut command, arguments);
        command
    }

    fn fit(&self, command: &mut Command, arguments: &[&str]) {
        let path = std::env::var_os("PATH").unwrap_or_default();
        command.env_clear().env("PATH", path).env("HOME", self.dir()).current_dir(self.dir());
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.arg("--config").arg(self.config_file()).args(arguments).stdin(Stdio::null());
    }

    /// Runs the program to its end.
    pub fn run(&self, arguments: &[&str]) -> Ran {
        self.command(arguments).output().expect("the program starts").into()
    }

    /// Runs `cofferdam call`.
    pub fn call(&self, arguments: &[&str]) -> Ran {
        let mut all = vec!["call"];
        all.extend(arguments);
        self.run(&all)
    }

    /// Writes a file beside the workspace, to be attached, and returns its path.
    pub fn file(&self, name: &str, bytes: &[u8]) -> String {
        let path = self.dir().join(name);
        std::fs::write(&path, bytes).expect("writable");
        path.to_str().expect("a test's path is text").to_owned()
    }

    /// Names below the workspace that no test wrote on purpose: temporary files of the gateway.
    pub fn leftovers(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut dirs = vec![self.workspace()];
        while let Some(dir) = dirs.pop() {
            for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
                if entry.file_name().to_string_lossy().starts_with(".cofferdam-") {
                    found.push(entry.path());
                } else if entry.file_type().is_ok_and(|t| t.is_dir()) {
                    dirs.push(entry.path());
                }
            }
        }
        found
    }
}

/// The names of the builtin tools, in order: those that the default policies allow.
///
/// # Panics
/// When the policies cannot be listed.
pub fn builtin_tools() -> Vec<String> {
    let mut names = builtin_policies();
    names.retain(|name| !OFF.contains(&name.as_str()));
    names
}

/// Tools whose profiles name no host yet.
const OFF: [&str; 2] = ["web_fetch", "web_search"];

/// The tools of all policies that are embedded, also of those that are off.
///
/// # Panics
/// When the policies cannot be listed.
pub fn builtin_policies() -> Vec<String> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../policies/tools");
    let files = std::fs::read_dir(dir).expect("the policies are there").flatten();
    let mut names: Vec<_> =
        files.filter_map(|file| Some(file.file_name().to_str()?.strip_suffix(".toml")?.to_owned())).collect();
    names.sort();
    names
}

/// Compiling the tests' own guests takes a while, so it is done once for all tests.
fn copy_warm_cache(state: &Path) {
    static WARM: OnceLock<PathBuf> = OnceLock::new();
    let warm = WARM.get_or_init(|| {
        // Beside the program, and kept: the entries are named by what they were compiled from.
        let dir = program::cofferdam().with_file_name("test-warm");
        let modified = |path: &Path| std::fs::metadata(path).and_then(|meta| meta.modified()).ok();
        if modified(&dir) < modified(&program::cofferdam()) {
            // What another program kept is none of this one's.
            let _ = std::fs::remove_dir_all(&dir);
        }
        std::fs::create_dir_all(&dir).expect("the target folder can be written");
        let file = dir.join(format!("{}.toml", std::process::id()));
        std::fs::write(&file, "[workspace]\nroot = \"workspace\"\n[state]\ndir = \"state\"\n")
            .expect("writable");
        // Who only looks keeps what is compiled where there is a cache, and makes none.
        private_folder(&dir.join("state"));
        private_folder(&dir.join("state/cache"));
        for guest in ["hostile", "minimal"] {
            warm_guest(&dir, &file, guest);
        }
        let _ = std::fs::remove_file(file);
        dir
    });
    let cache = warm.join("state/cache");
    private_folder(state);
    private_folder(&state.join("cache"));
    for entry in std::fs::read_dir(cache).expect("warmed") {
        let entry = entry.expect("readable");
        if entry.path().extension().is_none_or(|e| e != "cwasm" && e != "said") {
            continue;
        }
        std::fs::copy(entry.path(), state.join("cache").join(entry.file_name())).expect("writable");
    }
}

/// As the gateway makes those of its state.
fn private_folder(dir: &Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::create_dir_all(dir).expect("writable");
    std::fs::set_permissions(dir, std::fs::Permissions::from_mode(0o700)).expect("ours");
}

fn warm_guest(dir: &Path, config: &Path, guest: &str) {
    let policies = dir.join(format!("{guest}-{}", std::process::id()));
    std::fs::create_dir_all(policies.join("profiles")).expect("writable");
    std::fs::create_dir_all(policies.join("tools")).expect("writable");
    let profile = Path::new(env!("CARGO_MANIFEST_DIR")).join("../policies/profiles/file-read-write.toml");
    std::fs::copy(profile, policies.join("profiles/file-read-write.toml")).expect("writable");
    let text = format!(
        "schema = 1\ntool = \"x\"\nprofile = \"file-read-write\"\nwhy = \"warms the cache\"\nsafety = \"side-effecting\"\n\
         component = {{ file = {:?}, sha256 = {:?} }}\n",
        guests::path(guest),
        guests::sha256(&guests::bytes(guest))
    );
    std::fs::write(policies.join("tools/x.toml"), text).expect("writable");
    let mut command = Command::new(program::cofferdam());
    // The tool itself does not load (its name differs), but its code is compiled and kept by then.
    command.arg("--config").arg(config).args(["policy", "check"]).arg(&policies);
    command.output().expect("the program starts");
    let _ = std::fs::remove_dir_all(policies);
}
