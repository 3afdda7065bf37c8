//! `cofferdam policy`: what a reviewer asks of policies. One file a question; nothing here calls a
//! tool.

mod check;
mod diff;
mod explain;
mod export;
mod report;
mod show;

use super::call::TypedCall;
use super::{Exit, Output};
use crate::config::Config;
use crate::gateway;
use std::path::{Path, PathBuf};

const EXPLAIN_EXAMPLE: &str = "Example: cofferdam policy explain file_read path=/vault/key\n\nExit codes: 0 permit; 1 deny, \
also for a tool that is unknown or does not load; 2 policies that do not load.";
const DIFF_EXAMPLE: &str = "Example: cofferdam policy diff /etc/cofferdam/policies policies\n\nExit codes: 0 nothing widens; 3 \
something widens; 2 a folder that does not load.";
const REPORT_EXAMPLE: &str = "Example: cofferdam policy report policies --format markdown -o policies.md";

#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// Checks policies and the components they pin; exit 3 lists every problem with file and line
    #[command(after_help = "Example: cofferdam policy check policies")]
    Check {
        /// A folder with profiles/ and tools/ [default: the configured one, else the embedded
        /// policies]
        dir: Option<PathBuf>,
        #[command(flatten)]
        output: Findings,
    },
    /// Says whether exactly this call would be permitted, by which lines, and what would have to
    /// change
    #[command(after_help = EXPLAIN_EXAMPLE)]
    Explain {
        #[command(flatten)]
        call: TypedCall,
        #[command(flatten)]
        from: PolicyChoice,
        #[command(flatten)]
        output: Output,
    },
    /// Compares two folders by what they allow; exit 3 when the second allows more
    #[command(after_help = DIFF_EXAMPLE)]
    Diff {
        /// The policies as they were
        old: PathBuf,
        /// The policies as they would be
        new: PathBuf,
        #[command(flatten)]
        output: Findings,
    },
    /// Shows what each tool may do, with the line that says so
    #[command(after_help = "Example: cofferdam policy show file_read")]
    Show {
        /// One tool alone
        tool: Option<String>,
        #[command(flatten)]
        from: PolicyChoice,
        #[command(flatten)]
        output: Output,
    },
    /// Writes the embedded policies into a new folder, to be changed and named in the configuration
    #[command(after_help = "Example: cofferdam policy export policies")]
    Export {
        /// The folder, which does not exist yet or is empty
        dir: PathBuf,
    },
    /// Writes one page for a reviewer: every tool, its component, its grants, its limits, and why
    #[command(after_help = REPORT_EXAMPLE)]
    Report(report::Arguments),
}

/// How findings are printed.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(super) struct Findings {
    /// How findings are printed; sarif is SARIF 2.1.0, for code scanning
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = FindingFormat::Text)]
    format: FindingFormat,
    /// Print JSON for programs: the same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

/// The forms that findings have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum FindingFormat {
    Text,
    Json,
    Sarif,
}

impl Findings {
    fn format(self) -> FindingFormat {
        if self.json { FindingFormat::Json } else { self.format }
    }
}

/// Which policies a command looks at.
#[derive(Debug, clap::Args)]
pub(super) struct PolicyChoice {
    /// A folder with profiles/ and tools/ [default: the configured one, else the embedded policies]
    #[arg(long = "policies", value_name = "DIR")]
    dir: Option<PathBuf>,
}

impl PolicyChoice {
    fn dir<'a>(&'a self, config: &'a Config) -> Option<&'a Path> {
        self.dir.as_deref().or(config.policies_dir.as_deref())
    }
}

pub(super) fn run(config: &Config, command: Command) -> anyhow::Result<Exit> {
    let mut out = crate::cli::stdout();
    match command {
        Command::Check { dir, output } => {
            check::run(config, dir.as_deref().or(config.policies_dir.as_deref()), output, &mut out)
        }
        Command::Explain { call, from, output } => {
            explain::run(config, &call, from.dir(config), output, &mut out)
        }
        Command::Diff { old, new, output } => diff::run(&old, &new, output, &mut out),
        Command::Show { tool, from, output } => {
            let policies =
                gateway::load_policies(from.dir(config)).map_err(gateway::GatewayError::Policies)?;
            show::run(config, &policies, tool.as_deref(), output, &mut out)
        }
        Command::Export { dir } => export::run(&dir, &mut out),
        Command::Report(arguments) => report::run(config, &arguments, &mut out),
    }
}
