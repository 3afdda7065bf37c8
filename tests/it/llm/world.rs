//! A gateway with a model, and the server that it asks; and what is true of both at the end.

use support::containing;
use support::home::{Home, Ran};
use support::llm::{Dialect, LlmServer};

/// A gateway's folder and its model's server.
pub(super) struct World {
    pub(super) llm: LlmServer,
    pub(super) home: Home,
    /// Everything that was printed and logged.
    printed: String,
}

impl World {
    /// A gateway that asks over this API.
    pub(super) async fn of(dialect: Dialect) -> anyhow::Result<Self> {
        Self::with(dialect, "").await
    }

    /// The same with more lines in `[provider]`.
    pub(super) async fn with(dialect: Dialect, more: &str) -> anyhow::Result<Self> {
        let llm = LlmServer::start().await?;
        let home = Home::new().model(&llm, dialect, more);
        Ok(Self { llm, home, printed: String::new() })
    }

    /// What `chat` says to these lines. It logs everything that it can.
    pub(super) fn chat(&mut self, flags: &[&str], lines: &str) -> String {
        let ran = self.run(flags, lines);
        assert_eq!(ran.code, Some(0), "{}", tail(&ran));
        ran.stdout
    }

    fn run(&mut self, flags: &[&str], lines: &str) -> Ran {
        let ran = replies(&self.home, flags, lines);
        self.printed.push_str(&ran.stdout);
        self.printed.push_str(&ran.stderr);
        ran
    }

    /// What the log of the runs so far says at the levels that an operator sees.
    pub(super) fn log(&self) -> String {
        let told =
            |line: &&str| line.contains(" WARN ") || line.contains(" ERROR ") || line.contains(" INFO ");
        self.printed.lines().filter(told).collect::<Vec<_>>().join("\n")
    }

    /// Holds everything against what is true of every run. `requests` is how many the server has
    /// had.
    pub(super) fn end(self, requests: usize) {
        assert_eq!(self.llm.violations(), [""; 0]);
        self.end_violated(requests);
    }

    /// The same where a request was wrong on purpose.
    pub(super) fn end_violated(self, requests: usize) {
        assert_eq!(self.llm.requests().len(), requests, "{}", self.log());
        assert_eq!(self.llm.left(), 0, "turns of the script are left");
        assert!(!self.printed.contains("panicked"), "{}", self.log());
        let ran = self.home.run(&["audit", "verify"]);
        assert!(ran.code == Some(0) || self.home.audit().is_empty(), "{ran:?}");
        let key = self.llm.key();
        if let Some(line) = self.printed.lines().find(|line| line.contains(key)) {
            panic!("the key is in what was printed: {line}");
        }
        for folder in [self.home.state(), self.home.workspace()] {
            assert_eq!(containing(&folder, key.as_bytes()), Vec::<std::path::PathBuf>::new());
        }
        let doctor = self.home.run(&["doctor", "--json"]);
        assert!(
            !doctor.stdout.contains(key) && doctor.stdout.contains("provider.api_key_file"),
            "{doctor:?}"
        );
        for request in self.llm.requests() {
            assert!(!request.text().contains(key) && request.header("referer").is_none(), "{request:?}");
        }
    }
}

/// Runs `chat` with these lines as standard input, logging everything.
pub(super) fn replies(home: &Home, flags: &[&str], lines: &str) -> Ran {
    let file = home.file("lines", lines.as_bytes());
    let mut command = home.command(&[&["chat"], flags].concat());
    command.env("COFFERDAM_LOG", "trace").stdin(std::fs::File::open(file).expect("there"));
    command.output().expect("the program starts").into()
}

/// The end of what was logged, for whoever reads a failed test.
fn tail(ran: &Ran) -> String {
    let lines: Vec<_> = ran.stderr.lines().collect();
    format!("{:?} {}\n{}", ran.code, ran.stdout, lines[lines.len().saturating_sub(30)..].join("\n"))
}
