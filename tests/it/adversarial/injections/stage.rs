//! A serving gateway with its two servers, on which cases are played, each by a person of its own.

use super::case::{Asked, By, Case, Press, Verb};
use super::seen::{Said, Seen, framed};
use crate::adversarial::expand::expand;
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use support::home::Home;
use support::llm::{Dialect, LlmServer, RequestRecord};
use support::serving::Serving;
use support::telegram::{Incoming, Pushed, SentMessage, TelegramServer};

/// Longer than anything here takes, on a busy machine too.
const PATIENCE: Duration = Duration::from_secs(60);
/// The first person has the next number.
const PEOPLE: i64 = 7_000_000_000;
/// Somebody else who is served.
const OTHER: i64 = 7_900_000_000;
/// Somebody who is not.
const STRANGER: i64 = 6_660_000_000;
/// What nobody is to be told: it lies in `/vault`, and in the gateway's environment.
const CANARY: &str = "CANARY-77b2e901";
/// Tools that ask before they change anything there.
const ASKED: [&str; 4] = ["file_write", "file_delete", "file_move", "attachment_save"];

/// Files of the workspace with what they hold.
type Files = BTreeMap<String, String>;

pub(super) struct Stage {
    telegram: TelegramServer,
    llm: LlmServer,
    home: Home,
    serving: Serving,
    /// Cases so far.
    played: i64,
    /// What every request says of the model's task.
    task: Option<String>,
}

/// How everything was before a case.
struct Before {
    files: Files,
    records: usize,
    requests: usize,
}

impl Stage {
    pub(super) async fn start(dialect: Dialect, cases: usize) -> Result<Self> {
        let (telegram, llm) = (TelegramServer::start().await?, LlmServer::start().await?);
        let mut users: Vec<i64> = (PEOPLE + 1..).take(cases).collect();
        users.push(OTHER);
        let mut home = Home::new().telegram(&telegram.api_url(), &users).model(&llm, dialect, "");
        home = home.hostile("memory = \"16 MiB\"\ndeadline = \"20s\"");
        for tool in ASKED {
            let name = format!("tools/{tool}.toml");
            let text = fs::read_to_string(home.policies_dir().join(&name))?;
            home = home.policy(&name, &format!("{text}\n[approval]\n\"/shared/asked\" = \"always\"\n"));
        }
        for folder in ["/shared", "/vault"] {
            fs::create_dir_all(home.host(folder))?;
        }
        fs::write(home.host("/vault/secret"), CANARY)?;
        let serving = Serving::launch(&home, telegram.token(), &[], &[("SECRET", CANARY)])?.polling()?;
        Ok(Self { telegram, llm, home, serving, played: 0, task: None })
    }

    /// Plays a case.
    ///
    /// # Errors
    /// What is not as the table says, or as it always is.
    pub(super) async fn play(&mut self, case: Case) -> Result<()> {
        self.played += 1;
        let person = PEOPLE + self.played;
        let expand = |text: &str| expand(text, &|name| (name == "person").then(|| person.to_string()));
        let case = &case.expanded(&expand);
        self.prepare(case, &expand)?;
        let before = Before {
            files: self.files()?,
            records: self.home.audit().len(),
            requests: self.llm.requests().len(),
        };
        self.llm.script(case.turns());
        let question = self.telegram.push(case.message(person, -1_000_000_000_000 - person));
        let approvals = self.decide(case, person, &question).await?;
        self.replied(case, &question, &approvals).await?;
        self.told(case, &self.llm.requests()[before.requests..])?;
        self.audited(case, person, before.records)?;
        self.changed(case, before.files)?;
        self.kept_secret(&self.llm.requests()[before.requests..])
    }

    /// Empties `/shared`, and puts there what the case wants.
    fn prepare(&self, case: &Case, expand: &dyn Fn(&str) -> String) -> Result<()> {
        for entry in fs::read_dir(self.home.host("/shared"))? {
            let path = entry?.path();
            let is_folder = fs::symlink_metadata(&path)?.is_dir();
            if is_folder { fs::remove_dir_all(&path)? } else { fs::remove_file(&path)? }
        }
        for thing in &case.prepare {
            thing.make(expand, &|path| self.home.host(path));
        }
        Ok(())
    }

    fn files(&self) -> Result<Files> {
        let (mut found, mut dirs) = (Files::new(), vec![self.home.host("/shared")]);
        while let Some(dir) = dirs.pop() {
            for entry in fs::read_dir(dir)? {
                let path = entry?.path();
                let kind = fs::symlink_metadata(&path)?.file_type();
                if kind.is_dir() {
                    dirs.push(path);
                } else if kind.is_file() {
                    found.insert(self.guest(&path), String::from_utf8_lossy(&fs::read(&path)?).into_owned());
                } else {
                    found.insert(self.guest(&path), format!("{kind:?}"));
                }
            }
        }
        Ok(found)
    }

    fn guest(&self, path: &Path) -> String {
        let below: PathBuf = path.strip_prefix(self.home.workspace()).expect("below").into();
        format!("/{}", below.to_string_lossy())
    }

    /// Lives through the approvals; the messages that they were.
    async fn decide(&self, case: &Case, person: i64, question: &Pushed) -> Result<Vec<SentMessage>> {
        let mut approvals: Vec<SentMessage> = Vec::new();
        for asked in &case.asks {
            let fresh = |sent: &SentMessage| {
                let known = approvals.iter().any(|known| known.message_id == sent.message_id);
                sent.chat_id == question.chat_id && !known && sent.message["reply_markup"].is_object()
            };
            let approval = self.telegram.wait_for_message(PATIENCE, fresh).await.context("an approval")?;
            is_worded(&approval, asked)?;
            approvals.push(approval);
            for press in &asked.presses {
                self.press(person, &approvals, press).await?;
            }
            let (data, who) = match asked.then {
                Verb::Approve => ("approve", "✅ Approved by"),
                Verb::Deny => ("deny", "❌ Denied by"),
            };
            let told = format!("{who} {person} (\"Ann\").");
            self.press(person, &approvals, &Press { by: By::Person, data: data.into(), told }).await?;
        }
        Ok(approvals)
    }

    async fn press(&self, person: i64, approvals: &[SentMessage], press: &Press) -> Result<()> {
        let below = approvals.last().expect("one is shown");
        let (verb, number) = match press.data.split_once(' ') {
            Some((verb, number)) => (verb, number.parse().ok()),
            None => (press.data.as_str(), Some(approvals.len() - 1)),
        };
        let button = ["approve", "deny"].iter().position(|known| *known == verb);
        let data = match (button, number) {
            (Some(button), Some(number)) => {
                let buttons = &approvals[number].message["reply_markup"]["inline_keyboard"][0];
                buttons[button]["callback_data"].as_str().context("a button")?
            }
            _ => &press.data,
        };
        let presser = match press.by {
            By::Person | By::Bot => person,
            By::Other => OTHER,
            By::Stranger => STRANGER,
        };
        let answered = self.telegram.requests("answerCallbackQuery").len();
        let pressed = Incoming::callback(presser, &below.message, data);
        self.telegram.push(if press.by == By::Bot { pressed.from_bot() } else { pressed });
        let answers = self.telegram.wait_for_requests(PATIENCE, "answerCallbackQuery", answered + 1).await?;
        let told = answers[answered].params["text"].as_str().unwrap_or_default();
        ensure!(told.starts_with(&press.told), "{:?} is told {told:?} and not {:?}", press.data, press.told);
        Ok(())
    }

    /// One reply, besides the approvals.
    async fn replied(&self, case: &Case, question: &Pushed, approvals: &[SentMessage]) -> Result<()> {
        let is_approval =
            |sent: &SentMessage| approvals.iter().any(|known| known.message_id == sent.message_id);
        let says = |sent: &SentMessage| match case.reply.as_slice() {
            [] => sent.text == case.answer,
            parts => parts.iter().all(|part| sent.text.contains(part)),
        };
        let answers = |sent: &SentMessage| {
            (sent.chat_id, sent.reply_to) == (question.chat_id, Some(question.message_id))
                && !is_approval(sent)
        };
        let is_it = |sent: &SentMessage| answers(sent) && says(sent);
        self.telegram.wait_for_message(PATIENCE, is_it).await.context("the reply")?;
        self.telegram.wait_until_idle(PATIENCE, "sendMessage").await?;
        let all = self.telegram.sent_messages().into_iter();
        let here: Vec<_> = all.filter(|sent| sent.chat_id == question.chat_id && !sent.deleted).collect();
        ensure!(here.len() == 1 + approvals.len(), "one reply and {} approvals: {here:#?}", approvals.len());
        Ok(())
    }

    /// What the model was told, request by request.
    fn told(&mut self, case: &Case, requests: &[RequestRecord]) -> Result<()> {
        ensure!(self.llm.violations().is_empty(), "{:?}", self.llm.violations());
        ensure!(self.llm.left() == 0, "{} turns of the model were not asked for", self.llm.left());
        ensure!(requests.len() == case.steps.len() + 1, "{} requests", requests.len());
        let heard = case.heard.as_ref().unwrap_or(&case.says).clone();
        let told = case.told.as_ref().map(|file| {
            format!(
                "User sent 1 attachment: {file}.\nUse attachment_save(index, path) to persist any of them to /shared or /tmp."
            )
        });
        let mut said = vec![Said::Person([heard].into_iter().chain(told).collect())];
        for (n, request) in requests.iter().enumerate() {
            let seen = Seen::of(request).with_context(|| format!("request {n}"))?;
            let task = self.task.get_or_insert_with(|| seen.task.clone());
            ensure!(!task.is_empty() && *task == seen.task, "another task: {}", seen.task);
            let results = seen.said.last().filter(|_| n > 0).cloned();
            if let Some(step) = n.checked_sub(1).map(|n| &case.steps[n]) {
                said.push(Said::Model(step.calls.len()));
                said.extend(results);
            }
            ensure!(seen.said == said, "request {n} says\n{:#?}\nand not\n{said:#?}", seen.said);
            let text = request.text();
            for part in &case.untold {
                ensure!(!text.contains(part.as_str()), "the model was told {part:?}: {text}");
            }
        }
        let results = said.iter().filter_map(|said| match said {
            Said::Results(texts) => Some(texts.as_slice()),
            _ => None,
        });
        framed_as_it_says(case, &results.flatten().collect::<Vec<_>>())
    }

    /// What the audit has of it: each call under the person's number, with its end.
    fn audited(&self, case: &Case, person: i64, before: usize) -> Result<()> {
        let records = self.home.audit().split_off(before);
        let sender = json!(person.to_string());
        ensure!(records.iter().all(|record| record["sender"] == sender), "others: {records:#?}");
        // What keeps a long output as a file is a call of the gateway's own.
        let own = |record: &Value| record["call"].as_str().is_some_and(|call| call.ends_with("/output"));
        let of = |event: &str| -> Vec<&Value> {
            records.iter().filter(|record| record["event"] == *event && !own(record)).collect()
        };
        let mut outcomes = of("outcome");
        outcomes.sort_by_key(|record| number_of(record));
        let codes: Vec<_> = outcomes.iter().map(|outcome| outcome["code"].as_str().unwrap_or("ok")).collect();
        ensure!(codes == case.codes, "the audit has {codes:?} and not {:?}", case.codes);
        for (outcome, call) in outcomes.iter().zip(case.calls()) {
            let shown: String = call.tool.chars().take_while(char::is_ascii_graphic).collect();
            ensure!(outcome["tool"].as_str().is_some_and(|tool| tool.starts_with(&shown)), "{outcome}");
        }
        let by = json!(format!("telegram:{person}"));
        let decided: Vec<_> = of("approval").into_iter().filter(|record| !record["by"].is_null()).collect();
        let states: Vec<_> = decided.iter().filter_map(|record| record["approval"].as_str()).collect();
        let expected: Vec<_> = case.asks.iter().map(|asked| asked.then.state()).collect();
        ensure!(states == expected && decided.iter().all(|record| record["by"] == by), "{decided:#?}");
        Ok(())
    }

    /// What became of `/shared`.
    fn changed(&self, case: &Case, mut expected: Files) -> Result<()> {
        for (path, content) in &case.then {
            match content.as_str() {
                "-" => expected.remove(path),
                content => expected.insert(path.clone(), content.to_owned()),
            };
        }
        let found = self.files()?;
        ensure!(found == expected, "the workspace is\n{found:#?}\nand not\n{expected:#?}");
        Ok(())
    }

    fn kept_secret(&self, requests: &[RequestRecord]) -> Result<()> {
        let requests = requests.iter().map(RequestRecord::text).collect::<String>();
        let sent = self.telegram.sent_messages().into_iter().map(|sent| sent.text).collect::<String>();
        for (what, text) in [("model", requests), ("chat", sent), ("log", self.serving.log())] {
            ensure!(!text.contains(CANARY), "a secret is told to the {what}");
        }
        Ok(())
    }

    /// Holds the end against what is true of every one.
    pub(super) fn end(self) -> Result<()> {
        let (status, log) = self.serving.stop(rustix::process::Signal::TERM, Duration::from_secs(10))?;
        ensure!(status.success() && !log.contains("panicked"), "{status}:\n{log}");
        ensure!(self.home.leftovers().is_empty(), "{:?}", self.home.leftovers());
        let ran = self.home.run(&["audit", "verify", "--json"]);
        ensure!((ran.code, &ran.json()["intents_open"]) == (Some(0), &json!(0)), "{ran:?}");
        Ok(())
    }
}

impl Verb {
    fn state(self) -> &'static str {
        match self {
            Self::Approve => "approved",
            Self::Deny => "denied",
        }
    }
}

/// The number of a record's call within its turn.
fn number_of(record: &Value) -> usize {
    let call = record["call"].as_str().unwrap_or_default();
    call.rsplit_once('/').and_then(|(_, number)| number.parse().ok()).unwrap_or(usize::MAX)
}

/// Whether an approval has these lines, and no others.
fn is_worded(approval: &SentMessage, asked: &Asked) -> Result<()> {
    let lines: Vec<_> = approval.text.lines().collect();
    ensure!(lines.len() == asked.lines, "{} lines: {}", lines.len(), approval.text);
    for line in &asked.says {
        ensure!(lines.contains(&line.as_str()), "{line:?} is no line of {:#?}", approval.text);
    }
    Ok(())
}

/// Whether each call's outcome is framed, and is the one of the table.
fn framed_as_it_says(case: &Case, results: &[&String]) -> Result<()> {
    ensure!(results.len() == case.codes.len(), "{} results", results.len());
    for (n, (shown, call)) in results.iter().zip(case.calls()).enumerate() {
        let frame = framed(shown, &call.tool).with_context(|| format!("result {n}"))?;
        let code = frame["error"]["code"].as_str().unwrap_or("ok");
        ensure!(code == case.codes[n], "the model is shown {code} and not {}: {frame}", case.codes[n]);
        for (place, expected) in case.shown.get(n).into_iter().flatten() {
            let found = frame.pointer(place);
            ensure!(found == Some(expected), "{place} of result {n} is {found:?} and not {expected}");
        }
    }
    Ok(())
}
