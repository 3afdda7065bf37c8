//! The terminal's `chat`, and what holds there where it cannot show what the others do: it has one
//! person, and keeps nothing.

use super::channel::{Channel, Verdict, text_of};
use super::messages::long_answer;
use anyhow::{Context, Result, ensure};
use std::mem::take;
use support::containing;
use support::home::Home;
use support::llm::{Dialect, LlmServer, Turn};
use support::platform::Message;
use support::terminal::Terminal;

/// A chat at a terminal. Its screen is read up to each prompt.
pub(super) struct Chat {
    home: Home,
    terminal: Terminal,
    /// Lines that were typed and may stand on the screen still.
    typed: Vec<String>,
    /// The last answer, and how many there were.
    last: String,
    answers: usize,
    /// The code of the question that waits.
    code: Option<String>,
    files: usize,
}

impl Chat {
    /// What is on the screen before the next prompt, without what was typed and what was written
    /// over.
    fn until_prompt(&mut self) -> String {
        let mut shown = self.terminal.before("\r\n> ").replace("\r\n", "\n");
        shown.push('\n');
        for line in take(&mut self.typed) {
            match shown.find(&format!("{line}\n")) {
                Some(at) => shown.replace_range(at..at + line.len() + 1, ""),
                None => self.typed.push(line),
            }
        }
        let lines = shown.lines().map(|line| line.rsplit("\r\x1b[K").next().unwrap_or_default());
        lines.collect::<Vec<_>>().join("\n")
    }

    fn type_line(&mut self, line: &str) {
        self.terminal.types(&format!("{line}\n"));
        self.typed.push(line.to_owned());
    }

    fn types_file(&mut self, name: &str, bytes: &[u8]) {
        self.files += 1;
        let folder = self.home.dir().join(format!("file-{}", self.files));
        std::fs::create_dir_all(&folder).expect("writable");
        std::fs::write(folder.join(name), bytes).expect("writable");
        self.type_line(&format!("/attach {}", folder.join(name).display()));
        // Nothing but the next prompt comes of it.
        self.terminal.until("\r\n> ");
        self.typed.clear();
    }

    /// The end of the chat, as the person leaves.
    fn leave(mut self) -> (Home, String) {
        self.terminal.types("/quit\n");
        let (code, screen) = self.terminal.ended();
        assert_eq!(code, Some(0), "{screen}");
        (self.home, screen)
    }
}

impl Channel for Chat {
    const NAME: &'static str = "terminal";
    type Asked = ();

    async fn start(fit: impl FnOnce(Home) -> Home) -> Result<Self> {
        let home = fit(Home::new());
        let config = home.config_file();
        let words = ["--config", config.to_str().context("text")?, "chat"];
        let mut terminal = Terminal::start(&home, home.dir(), &words, &[("COFFERDAM_LOG", "warn")]);
        terminal.until("> ");
        let (typed, last, answers, code, files) = (Vec::new(), String::new(), 0, None, 0);
        Ok(Self { home, terminal, typed, last, answers, code, files })
    }

    fn home(&self) -> &Home {
        &self.home
    }

    fn sender() -> String {
        rustix::process::getuid().as_raw().to_string()
    }

    fn write_all(&mut self, messages: Vec<Message>) -> Vec<()> {
        for message in &messages {
            if let Some((name, bytes)) = &message.file {
                self.types_file(name, bytes);
            }
            self.type_line(&message.text);
        }
        vec![(); messages.len()]
    }

    async fn answer(&mut self, (): ()) -> Result<String> {
        self.last = self.until_prompt();
        self.answers += 1;
        Ok(self.last.clone())
    }

    async fn files(&mut self, count: usize) -> Result<Vec<(String, String)>> {
        let lines = self.last.lines().filter_map(|line| line.strip_prefix("[attachment] "));
        let file = |line: &str| {
            let (name, sum) = line.split_once(" (")?;
            Some((name.to_owned(), sum.rsplit_once("sha256 ")?.1.to_owned()))
        };
        let files: Vec<_> = lines.filter_map(file).collect();
        ensure!(files.len() == count, "{}", self.last);
        Ok(files)
    }

    async fn question(&mut self) -> Result<String> {
        let shown = self.terminal.before("Approve? [yes ");
        self.code = Some(self.terminal.before("/no] "));
        self.typed.clear();
        Ok(shown)
    }

    async fn decide(&mut self, verdict: Verdict) -> Result<()> {
        let code = self.code.take().context("a question")?;
        match verdict {
            Verdict::Approve => self.type_line(&format!("yes {code}")),
            Verdict::Deny => self.type_line("no"),
        }
        // A question is a message of the bot elsewhere.
        self.answers += 1;
        Ok(())
    }

    async fn is_doing(&mut self, words: &str) -> Result<()> {
        self.terminal.until(&format!("⏳ {words}"));
        self.typed.clear();
        Ok(())
    }

    fn cancel(&mut self) {
        self.terminal.types("\x03");
    }

    async fn end(self, messages: usize, secrets: &[&str]) -> Result<()> {
        ensure!(self.answers == messages, "{} answers", self.answers);
        let (home, screen) = self.leave();
        ensure!(!screen.contains("panicked"), "{screen}");
        if home.state().join("audit.jsonl").exists() {
            let ran = home.run(&["audit", "verify", "--json"]);
            ensure!(ran.code == Some(0) && ran.json()["intents_open"] == 0, "{ran:?}");
        }
        ensure!(home.leftovers().is_empty(), "{:?}", home.leftovers());
        for secret in secrets {
            ensure!(!screen.contains(secret), "a secret is on the screen");
            for folder in [home.state(), home.workspace()] {
                let found = containing(&folder, secret.as_bytes());
                ensure!(found.is_empty(), "a secret is in {found:?}");
            }
        }
        Ok(())
    }
}

/// In place of an event that comes again.
pub(super) async fn a_line_typed_twice_is_two_messages() -> Result<()> {
    let mut chat = Chat::running().await?;
    for total in [1, 2] {
        let said = chat.ask("/file_write path=/shared/a content=x append=true").await?;
        ensure!(said.contains(&format!("\"total_bytes\":{total}")), "{said}");
    }
    chat.end(2, &[]).await
}

/// In place of parts.
pub(super) async fn a_long_answer_is_shown_whole() -> Result<()> {
    let llm = LlmServer::start().await?;
    let (_, text) = long_answer();
    llm.script([Turn::say(&text)]);
    let mut chat = Chat::start(|home| home.model(&llm, Dialect::Chat, "")).await?;
    let said = chat.ask("show me the code").await?;
    ensure!(said == text, "{said}");
    chat.end(1, &[llm.key()]).await
}

/// In place of strangers.
pub(super) async fn the_account_that_types_is_the_sender() -> Result<()> {
    let mut chat = Chat::running().await?;
    chat.ask("/file_write path=/shared/a content=x").await?;
    for record in chat.home.audit() {
        ensure!(record["sender"] == Chat::sender() && record["channel"] == Chat::NAME, "{record}");
    }
    chat.end(1, &[]).await
}

/// In place of a reply after `kill -9`: nothing is published of a call that was cut off, and the
/// next chat begins anew.
pub(super) async fn a_kill_leaves_nothing_half_done() -> Result<()> {
    let mut chat = Chat::start(|home| home.hostile("deadline = \"120s\"")).await?;
    chat.write(text_of("/hostile behaviour=report_until:step path=/shared/go"));
    chat.is_doing("step").await?;
    let Chat { home, terminal, .. } = chat;
    drop(terminal);
    let ran = home.run(&["call", "file_list", "path=/shared"]);
    ensure!(ran.code == Some(0) && ran.json()["entries"] == serde_json::json!([]), "{ran:?}");
    let ran = home.run(&["audit", "verify", "--json"]);
    ensure!(ran.code == Some(0) && ran.json()["intents_open"] == 0, "{ran:?}");
    ensure!(home.leftovers().is_empty());
    Ok(())
}

/// In place of a turn that the next start finishes.
pub(super) async fn a_stop_cancels_what_runs() -> Result<()> {
    let mut chat = Chat::start(|home| home.hostile("deadline = \"120s\"")).await?;
    chat.write(text_of("/hostile behaviour=report_until:step path=/shared/go"));
    chat.is_doing("step").await?;
    chat.cancel();
    let said = chat.answer(()).await?;
    ensure!(said.starts_with("cancelled: "), "{said}");
    // At the prompt it ends the chat.
    chat.cancel();
    let (code, screen) = chat.terminal.ended();
    ensure!(code == Some(0), "{screen}");
    Ok(())
}
