//! What a guest printed last, and which of it says what happened: languages end with lines that do
//! not.

use std::collections::VecDeque;

/// Bytes that are kept: a message, and the stack that some languages print after it.
pub(crate) const BYTES_MAX: usize = 8 << 10;

/// What runtimes say of every crash, after they said which it is.
const EPILOGUES: [&str; 2] =
    ["Python function threw an unexpected exception", "Redirecting call to abort() to mozalloc_abort"];

/// What JavaScript's runtime says of a thrown value that is no failure of the contract; what
/// the tool itself printed before says more.
const THROWN: &str = "\"undefined\" is not one of the cases of error-code";

/// The last lines.
#[derive(Default)]
pub(crate) struct LastWords {
    lines: VecDeque<String>,
    bytes: usize,
}

impl LastWords {
    /// One more line; the oldest go.
    pub(crate) fn push(&mut self, line: String) {
        self.bytes += line.len();
        self.lines.push_back(line);
        while self.bytes > BYTES_MAX
            && let Some(oldest) = self.lines.pop_front()
        {
            self.bytes -= oldest.len();
        }
    }

    /// The message of what happened last: of a panic in Rust, an exception in Python, an error with
    /// its stack in JavaScript; of anything else the last line.
    pub(crate) fn telling_message(&self) -> String {
        let mut lines: Vec<&str> = self.lines.iter().map(String::as_str).collect();
        while lines.len() > 1 && lines.last().is_some_and(|line| is_noise(line)) {
            lines.pop();
        }
        let begins = |line: &&str| is_panic(line) || is_traceback(line) || is_stack(line);
        let Some(at) = lines.iter().rposition(begins) else { return own_line(lines.last()) };
        let after = &lines[at + 1..];
        match lines[at] {
            panic if is_panic(panic) && !after.is_empty() => after.join(" "),
            traceback if is_traceback(traceback) => {
                // Where it was is indented; what it was is not.
                own_line(after.iter().find(|line| !line.starts_with(char::is_whitespace)).or(lines.last()))
            }
            stack
                if is_stack(stack)
                    && at > 0
                    && after.iter().all(|line| line.starts_with(char::is_whitespace)) =>
            {
                let told = &lines[..at];
                own_line(told.iter().rfind(|line| **line != THROWN).or(told.last()))
            }
            _ => own_line(lines.last()),
        }
    }
}

fn own_line(line: Option<&&str>) -> String {
    line.map(|line| (*line).to_owned()).unwrap_or_default()
}

/// A hint, an epilogue, or a panic of which no message is left.
fn is_noise(line: &str) -> bool {
    line.starts_with("note: ") || EPILOGUES.contains(&line) || is_panic(line)
}

fn is_panic(line: &str) -> bool {
    // What was printed before it may lack its newline.
    line.contains("thread '") && line.contains(" panicked at ")
}

fn is_traceback(line: &str) -> bool {
    line == "Traceback (most recent call last):"
}

fn is_stack(line: &str) -> bool {
    line == "Stack:"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(printed: &str, telling: &str) {
        let mut words = LastWords::default();
        printed.lines().for_each(|line| words.push(line.to_owned()));
        assert_eq!(words.telling_message(), telling, "{printed}");
    }

    #[test]
    fn the_message_is_found_whatever_follows_it() {
        check("", "");
        check("one\ntwo", "two");
        check("note: it is odd", "note: it is odd");
        const HINT: &str = "note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace";
        let panic = "thread '<unnamed>' (1) panicked at src/lib.rs:7:9:";
        check(&format!("reading\n{panic}\nno such thing\n{HINT}"), "no such thing");
        check(
            &format!("{panic}\nassertion `left == right` failed\n  left: 1\n right: 2\n{HINT}"),
            "assertion `left == right` failed   left: 1  right: 2",
        );
        check(&format!("{panic}\nfirst\n{HINT}\n{panic}\nsecond"), "second");
        check(panic, panic);
        check(&format!("50 %{panic}\none\n two\n{HINT}"), "one  two");
        let python =
            "Traceback (most recent call last):\n  File \"/0/app.py\", line 22, in call\nKeyError: 'bug'";
        let end = format!("{panic}\nPython function threw an unexpected exception\n{HINT}");
        check(&format!("{python}\n{end}"), "KeyError: 'bug'");
        let chained = "The above exception was the direct cause of the following exception:";
        let second = python.replace("KeyError: 'bug'", "ValueError: a value\nin two lines");
        check(&format!("{python}\n{chained}\n{second}\n{end}"), "ValueError: a value");
        check("Traceback (most recent call last):\n  File", "  File");
        let stack = "Stack:\n  export_tool_0_1_0$call@initializer.js:2280:17";
        let abort = "Redirecting call to abort() to mozalloc_abort";
        check(&format!("hello\n\"x\" is no case\n{stack}\n{abort}"), "\"x\" is no case");
        check(&format!("at\nError: a bug\n{THROWN}\n{stack}\n{abort}"), "Error: a bug");
        check(&format!("{THROWN}\n{stack}\n{abort}"), THROWN);
        check(&format!("{stack}\n{abort}"), "  export_tool_0_1_0$call@initializer.js:2280:17");
        check(&format!("it\n{stack}\nlater"), "later");
    }

    #[test]
    fn a_guest_that_prints_without_end_is_kept_in_part() {
        let mut words = LastWords::default();
        (0..10_000).for_each(|n| words.push(format!("{n:01000}")));
        assert!(words.bytes <= BYTES_MAX && words.lines.len() == 8);
        assert!(words.telling_message().ends_with("9999"));
    }
}
