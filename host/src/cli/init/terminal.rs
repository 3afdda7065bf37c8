//! Questions to the person at the terminal. What is secret is typed without being shown, and the
//! terminal is as it was afterwards, also when the person gives up.

use anyhow::bail;
use rustix::io::retry_on_intr;
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};
use std::io::{self, Stdin, Write};

/// A longer answer is none.
const ANSWER_BYTES_MAX: usize = 4096;

const CTRL_C: u8 = 0x03;
const CTRL_D: u8 = 0x04;
const CTRL_U: u8 = 0x15;
const ERASE: [u8; 2] = [0x08, 0x7f];

/// Says a line.
pub(super) fn say(line: &str) -> anyhow::Result<()> {
    Ok(writeln!(crate::cli::stdout(), "{line}")?)
}

/// The answer to a question, without blanks around it; the default for none.
pub(super) fn ask(question: &str, default: &str) -> anyhow::Result<String> {
    let shown = if default.is_empty() { String::new() } else { format!(" [{default}]") };
    prompt(&format!("{question}{shown}: "))?;
    let answer = line(Keys::Edited)?;
    Ok(if answer.is_empty() { default.to_owned() } else { answer })
}

/// Whether the person agrees; no answer is a no.
pub(super) fn ask_yes_no(question: &str) -> anyhow::Result<bool> {
    prompt(&format!("{question} [y/N]: "))?;
    Ok(["y", "yes"].contains(&line(Keys::Edited)?.to_ascii_lowercase().as_str()))
}

/// The answer to a question, never shown.
pub(super) fn ask_hidden(question: &str) -> anyhow::Result<String> {
    // First: what is typed at once is not shown either.
    let _quiet = HiddenInput::begin()?;
    prompt(&format!("{question}: "))?;
    let answer = line(Keys::Raw);
    writeln!(crate::cli::stdout())?;
    answer
}

fn prompt(question: &str) -> io::Result<()> {
    let mut out = crate::cli::stdout();
    out.write_all(question.as_bytes())?;
    out.flush()
}

/// Who looks after keys that edit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keys {
    /// The terminal: whole lines come.
    Edited,
    /// We do: every key comes.
    Raw,
}

/// One line, read byte by byte: nothing that was typed ahead is lost between two ways of reading.
fn line(keys: Keys) -> anyhow::Result<String> {
    let stdin = io::stdin();
    let mut bytes = Vec::new();
    loop {
        match next(&stdin)? {
            Some(b'\n') => break,
            None => bail!("the answers ended early; nothing was written"),
            Some(CTRL_C) if keys == Keys::Raw => bail!("stopped; nothing was written"),
            Some(CTRL_D) if keys == Keys::Raw && bytes.is_empty() => {
                bail!("the answers ended early; nothing was written")
            }
            Some(CTRL_U) if keys == Keys::Raw => bytes.clear(),
            Some(key) if keys == Keys::Raw && ERASE.contains(&key) => {
                bytes.pop();
            }
            Some(byte) if bytes.len() < ANSWER_BYTES_MAX => bytes.push(byte),
            Some(_) => bail!("an answer of more than {ANSWER_BYTES_MAX} bytes; nothing was written"),
        }
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(text.trim().to_owned()),
        Err(_) => bail!("the answer is not UTF-8 text; nothing was written"),
    }
}

fn next(stdin: &Stdin) -> io::Result<Option<u8>> {
    let mut byte = [0_u8];
    let read = retry_on_intr(|| rustix::io::read(stdin, &mut byte))?;
    Ok((read > 0).then_some(byte[0]))
}

/// A terminal that shows nothing of what is typed, until it is dropped.
struct HiddenInput {
    before: Termios,
}

impl HiddenInput {
    fn begin() -> io::Result<Self> {
        let stdin = io::stdin();
        let before = tcgetattr(&stdin)?;
        let mut quiet = before.clone();
        // Ctrl-C comes as a key: ended by a signal, the terminal would stay silent.
        quiet.local_modes -= LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG;
        quiet.special_codes[SpecialCodeIndex::VMIN] = 1;
        quiet.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(&stdin, OptionalActions::Now, &quiet)?;
        Ok(Self { before })
    }
}

impl Drop for HiddenInput {
    fn drop(&mut self) {
        // A terminal that is gone needs nothing.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
    }
}
