//! The command line: one file a command; parsing, exit codes and the log live here.

mod allow;
mod approving;
mod attach;
mod audit;
mod call;
mod chat;
mod confine_check;
mod doctor;
mod errors;
mod init;
mod mcp;
mod named_stdout;
mod new_file;
mod policy;
mod progress;
mod reload;
mod run;
mod say;
mod serve;
mod service;
mod status;
mod store;
mod streaming;
mod tool;
mod tools;
mod typed;
mod wit;
mod workflow;

use crate::config::{Config, Flags, SECRET_ENDS};
use crate::gateway;
use crate::log;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory, Parser, Subcommand};
use cofferdam_core::secret::Secret;
use cofferdam_core::text::escape_deceptive;
use cofferdam_warden::sandbox::workers;
use named_stdout::{NamedStdout, stdout};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::BTreeMap;
use std::io::Write;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use tracing::Level;

/// A hardened agent gateway: every tool runs in its own WebAssembly sandbox.
#[derive(Debug, Parser)]
#[command(name = "cofferdam", version, max_term_width = 100, after_help = EXIT_CODES, disable_help_subcommand = true)]
struct Cli {
    /// The configuration [default: ./cofferdam.toml, else the user's, else built-in defaults]
    #[arg(long, global = true, value_name = "FILE", env = "COFFERDAM_CONFIG")]
    config: Option<PathBuf>,
    /// The folder that holds shared/, tmp/ and vault/, instead of the configured one
    #[arg(long, global = true, value_name = "DIR", env = "COFFERDAM_WORKSPACE")]
    workspace: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "Exit codes: 0 done; 1 the tool refused or failed; 2 usage or configuration; 3 a check found a \
problem; 4 a run waits for a person.\nFirst steps: `cofferdam init` writes a commented cofferdam.toml; `cofferdam serve` runs the bot.\nLogs go to \
stderr; COFFERDAM_LOG=debug shows more.";

const TOOLS_EXAMPLE: &str = "Example: cofferdam tools --json | jq -r '.[].name'";

const STATUS_EXAMPLE: &str = "It reads the state folder and asks the gateway nothing. Exit codes: 0 running; 3 not running, \
its model or its store fails, people or runs wait for a node that is away, or something cannot be read; 2 configuration.\n\
Example: cofferdam status --json | jq .queue";

const RELOAD_EXAMPLE: &str = "It asks the gateway that runs with this state, and waits for the answer. Exit codes: 0 what was \
read is in force; 2 it was refused, and everything is as it was; 3 no gateway runs, or it does not answer.\nExample: cofferdam \
reload --config /etc/cofferdam/cofferdam.toml";

const DOCTOR_EXAMPLE: &str = "Example: cofferdam doctor --json | jq .findings";

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs one tool call through registry, judge, sandbox and audit; prints one line of JSON
    Call(call::Arguments),
    /// Runs the gateway: serves Telegram and Discord until SIGINT or SIGTERM, or until its terminal
    /// is closed
    #[command(after_help = serve::EXAMPLE)]
    Serve(workflow::RunSettings),
    /// Tells who is served, and lets in strangers by the code that they were told
    Allow(allow::Arguments),
    /// Talks to the gateway in this terminal, with the same turns as a channel
    #[command(after_help = chat::EXAMPLE)]
    Chat {
        /// A file that comes with the first message; repeat for several
        #[arg(long, value_name = "FILE")]
        attach: Vec<PathBuf>,
    },
    /// Serves the tools to an MCP client, over standard input and output or HTTP
    Mcp(mcp::Arguments),
    /// Writes a commented configuration
    Init(init::Arguments),
    /// Lists the tools with what each is granted
    #[command(after_help = TOOLS_EXAMPLE)]
    Tools(Output),
    /// Looks at policies
    #[command(subcommand)]
    Policy(policy::Command),
    /// Reads, checks and signs the audit
    #[command(subcommand)]
    Audit(audit::Command),
    /// Looks at the whole installation; exit 3 names each problem and what mends it
    #[command(after_help = DOCTOR_EXAMPLE)]
    Doctor {
        /// Contacts nobody: neither the bot's token nor the model nor the clock is checked
        #[arg(long)]
        offline: bool,
        #[command(flatten)]
        output: Output,
        #[command(flatten)]
        settings: workflow::RunSettings,
    },
    /// Says what the running gateway is doing; exit 3 when none runs, or it cannot answer
    #[command(after_help = STATUS_EXAMPLE)]
    Status(Output),
    /// Brings the store to this release, and moves it between SQLite and PostgreSQL
    #[command(subcommand)]
    Store(store::Command),
    /// Has the running gateway read its configuration, keys, instructions and policies anew
    #[command(after_help = RELOAD_EXAMPLE)]
    Reload,
    /// Confines this process and tries things
    #[command(hide = true)]
    ConfineCheck(confine_check::Arguments),
    /// Prints what a service manager needs
    #[command(subcommand)]
    Service(service::Command),
    /// For authors: starts, inspects, runs and tests a tool
    #[command(subcommand)]
    Tool(tool::Command),
    /// Carries out a workflow's file, task by task; prints one line of JSON
    Run(run::Arguments),
    /// Adds files to the reply of a request that the running gateway is at
    Attach(attach::Arguments),
    /// Sends a message of its own to somebody whom the gateway serves
    Say(say::Arguments),
    /// Workflows: checks and draws files, tells of runs, resumes and cancels them
    #[command(subcommand)]
    Workflow(workflow::Command),
    /// For authors: writes the contract with tools, to bind from in any language
    #[command(after_help = wit::EXAMPLE)]
    Wit {
        /// The folder to write into
        #[arg(value_name = "DIR", default_value = "wit")]
        dir: PathBuf,
    },
}

#[derive(Clone, Copy, Debug, Default, Args)]
struct Output {
    /// Print JSON for programs
    #[arg(long)]
    json: bool,
}

/// What a command came to.
enum Exit {
    Done = 0,
    ToolFailed = 1,
    Usage = 2,
    ProblemFound = 3,
    /// A run waits for a person.
    Waits = 4,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}

impl Command {
    /// What its flags say about the configuration.
    fn settings(&self) -> Option<&workflow::RunSettings> {
        match self {
            Self::Serve(settings) | Self::Doctor { settings, .. } => Some(settings),
            Self::Run(arguments) => Some(&arguments.settings),
            Self::Workflow(workflow::Command::Check(arguments)) => Some(&arguments.settings),
            _ => None,
        }
    }
}

/// Runs the program on the process's arguments and environment.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(mut error) => {
            forget_hidden_commands(&mut error);
            let exit = if error.use_stderr() { Exit::Usage } else { Exit::Done };
            // Help goes to stdout, which may be closed.
            let _ = match find_empty_variable(&error) {
                Some(name) => {
                    writeln!(std::io::stderr(), "error: {name} is empty; unset it, or write a path")
                }
                None => error.print(),
            };
            return exit.into();
        }
    };
    // Commands that print results are quiet unless asked.
    let started = log::start(if matches!(cli.command, Command::Serve(_)) { "info" } else { "warn" });
    raise_descriptor_limit();
    cofferdam_warden::sandbox::tell_of_compiling(tell);
    match started.map_err(anyhow::Error::msg).and_then(|()| run(cli)) {
        Ok(exit) => exit.into(),
        // The one who read our output has seen enough.
        Err(error) if is_output_broken(&error) => Exit::Done.into(),
        Err(error) => {
            log::say(Level::ERROR, &errors::describe_error(&error));
            Exit::Usage.into()
        }
    }
}

/// Takes commands that this program alone runs out of those that an error suggests.
fn forget_hidden_commands(error: &mut clap::Error) {
    let Some(ContextValue::Strings(names)) = error.get(ContextKind::SuggestedSubcommand) else { return };
    let program = Cli::command();
    let is_hidden = |name: &str| program.find_subcommand(name).is_some_and(clap::Command::is_hide_set);
    let shown: Vec<String> = names.iter().filter(|name| !is_hidden(name.as_str())).cloned().collect();
    error.remove(ContextKind::SuggestedSubcommand);
    if !shown.is_empty() {
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(shown));
    }
}

/// The variable that is refused because it is empty: the error names only the flag that it stands
/// for.
fn find_empty_variable(error: &clap::Error) -> Option<&'static str> {
    let (ErrorKind::InvalidValue, Some(ContextValue::String(argument))) =
        (error.kind(), error.get(ContextKind::InvalidArg))
    else {
        return None;
    };
    let variables = [("--config", "COFFERDAM_CONFIG"), ("--workspace", "COFFERDAM_WORKSPACE")];
    let (_, name) = variables.into_iter().find(|(flag, _)| argument.starts_with(*flag))?;
    std::env::var_os(name).is_some_and(|value| value.is_empty()).then_some(name)
}

/// Guests hold files open, up to a bound each; the soft limit that shells set is below all of
/// theirs.
fn raise_descriptor_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }) {
        tracing::warn!(%error, "cannot raise the limit on open files");
    }
}

/// A line on stderr, for the person at the terminal.
fn tell(line: &str) {
    log::say(Level::INFO, line);
}

/// A path that may be a stranger's words, in a line for a terminal.
fn spell_path(path: &Path) -> String {
    escape_deceptive(&path.display().to_string()).into_owned()
}

/// Whether an error is that nobody reads our output any more. Sockets of gateways and databases
/// break as well, and what was asked of them was not done then.
fn is_output_broken(error: &anyhow::Error) -> bool {
    let io = error.chain().find_map(|cause| cause.downcast_ref::<std::io::Error>());
    io.is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe) && has_lost_reader(&std::io::stdout())
}

fn has_lost_reader(out: &impl AsFd) -> bool {
    let mut asked = [PollFd::new(out, PollFlags::OUT)];
    let polled = poll(&mut asked, Some(&Timespec::default()));
    polled.is_ok() && asked[0].revents().intersects(PollFlags::ERR | PollFlags::HUP)
}

fn run(cli: Cli) -> anyhow::Result<Exit> {
    let without_config = match &cli.command {
        Command::Init(arguments) => Some(init::run(arguments, cli.config.as_deref())),
        Command::ConfineCheck(arguments) => Some(confine_check::run(arguments)),
        Command::Wit { dir } => Some(wit::run(dir, &mut stdout())),
        Command::Tool(command) => command.run_bare(),
        Command::Workflow(command) => command.run_bare(),
        _ => None,
    };
    if let Some(done) = without_config {
        return done;
    }
    let environment = environment()?;
    let variables = cli.command.settings().map(workflow::RunSettings::variables).unwrap_or_default();
    let flags = Flags { workspace: cli.workspace.clone(), variables };
    let config = Config::load(cli.config.as_deref(), &flags, &environment)?;
    log::configure(&config.log);
    // The same file, flags and environment, also where others have appeared since.
    let load = move |config: &Config| Config::load(config.file.as_deref(), &flags, &environment);
    let trusted = gateway::trust(&config).map_err(anyhow::Error::new);
    let ran = trusted.and_then(|()| command(cli.command, &config, Box::new(load)));
    ran.map_err(|error| errors::error_with_place(&config, error))
}

fn command(command: Command, config: &Config, load: serve::Load) -> anyhow::Result<Exit> {
    match command {
        Command::Call(arguments) => call::run(config, arguments),
        Command::Serve(_) => serve::run(config, load),
        Command::Allow(arguments) => allow::run(config, &arguments),
        Command::Chat { attach } => chat::run(config, attach),
        Command::Mcp(arguments) => mcp::run(config, &arguments),
        Command::Init(_) | Command::ConfineCheck(_) | Command::Wit { .. } => Ok(Exit::Done),
        Command::Tools(output) => tools::run(config, output),
        Command::Policy(command) => policy::run(config, command),
        Command::Audit(command) => audit::run(config, command),
        Command::Doctor { offline, output, .. } => doctor::run(config, offline, output),
        Command::Status(output) => status::run(config, output),
        Command::Store(command) => store::run(config, &command),
        Command::Reload => reload::run(config),
        Command::Service(command) => service::run(config, &command),
        Command::Tool(command) => tool::run(config, command),
        Command::Run(arguments) => run::run(config, &arguments),
        Command::Workflow(command) => workflow::run(config, &command),
        Command::Attach(arguments) => attach::run(config, &arguments),
        Command::Say(arguments) => say::run(config, &arguments),
    }
}

/// A shorter text in the environment is no secret that anybody was given.
const SECRET_BYTES_MIN: usize = 8;

/// The environment as text. What is no text concerns us only where a setting of ours is meant.
fn environment() -> anyhow::Result<BTreeMap<String, String>> {
    let mut environment = BTreeMap::new();
    for (name, value) in std::env::vars_os() {
        let shown = name.to_string_lossy().into_owned();
        match (name.into_string(), value.into_string()) {
            (Ok(name), Ok(value)) => {
                if is_secret(&name, &value) {
                    drop(Secret::new(&*value));
                }
                environment.insert(name, value);
            }
            _ if shown.starts_with("COFFERDAM_") => {
                anyhow::bail!("{shown} is not UTF-8 text; write it as UTF-8 text or unset it")
            }
            _ => {}
        }
    }
    Ok(environment)
}

/// Whether this looks like a secret: then it is told nobody, even where somebody wrote it into the
/// configuration or named another variable.
fn is_secret(name: &str, value: &str) -> bool {
    value.len() >= SECRET_BYTES_MIN && SECRET_ENDS.iter().any(|end| name.ends_with(end))
}

/// How long a start still runs code that nothing runs later, once the program is up.
const START_AGE_MIN: Duration = Duration::from_secs(2);

/// Has a program that is up let go of the code that its start alone runs: it is memory for nothing.
/// There is a moment of the start left to do.
async fn let_start_go() {
    tokio::time::sleep(START_AGE_MIN).await;
    // Where it does not, more stays in memory.
    let _ = tokio::task::spawn_blocking(workers::let_start_go).await;
}

/// The runtime of channels and waits. Built after the process is confined. Tools are loaded on no
/// thread of its own: that runs guests.
fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(8)
        // A turn that follows its call may be the one that starts a thread.
        .on_thread_start(cofferdam_warden::sandbox::workers::run_anywhere)
        .enable_all()
        .build()?)
}

/// Runs to the end, and waits for no thread: one may be reading a line that never comes.
fn block_on<T>(running: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = runtime()?;
    let came = runtime.block_on(running);
    runtime.shutdown_background();
    came
}
