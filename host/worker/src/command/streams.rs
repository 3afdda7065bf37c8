//! The streams of a command: standard input from an argument, standard output kept whole up to the
//! limit of the result, standard error into the log with its end kept.

use crate::machine::bare_context;
use crate::output::{ByteSink, StreamTo};
use crate::stdio::CallStreams;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cofferdam_core::entry::{CommandCall, ErrRule, StdoutFormat};
use cofferdam_core::json::parse_strict;
use cofferdam_core::limits::Limits;
use cofferdam_core::lock::lock;
use cofferdam_core::tool::{ErrorCode, ToolError};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use wasmtime_wasi::WasiCtx;
use wasmtime_wasi::p2::pipe::MemoryInputPipe;
use wasmtime_wasi::p2::{StreamError, StreamResult};

/// Bytes of standard error that are kept for the message of a command that failed.
const TAIL_BYTES_MAX: usize = 1536;

/// The streams of one run.
pub(crate) struct Streams {
    stdout: Stdout,
    stderr: Stderr,
}

impl Streams {
    /// Streams of a run under these limits; what it says on standard error goes to `log`.
    pub(crate) fn new(log: CallStreams, limits: &Limits) -> Self {
        let stdout = Stdout { kept: Arc::default(), limits: *limits };
        Self { stdout, stderr: Stderr { log, tail: Arc::default() } }
    }

    /// What the command finds: its arguments and streams, and nothing else.
    pub(crate) fn context(&self, call: &CommandCall) -> WasiCtx {
        let mut context = bare_context();
        context.args(&call.argv);
        context.stdout(StreamTo(self.stdout.clone())).stderr(StreamTo(self.stderr.clone()));
        if let Some(stdin) = &call.stdin {
            context.stdin(MemoryInputPipe::new(stdin.clone().into_bytes()));
        }
        context.build()
    }

    /// The result of a run that ended with this status.
    ///
    /// # Errors
    /// `failed` where the command failed or did not write what it should; `too_large`.
    pub(crate) fn result(&self, call: &CommandCall, status: Result<(), ()>) -> Result<String, ToolError> {
        let tail = lock(&self.stderr.tail);
        let silent = tail.is_empty();
        if status.is_err() && !(call.err == ErrRule::OkIfSilent && silent) {
            let mut said = String::from_utf8_lossy(&tail).trim().to_owned();
            if said.is_empty() {
                said.push_str("the command failed and said nothing on standard error");
            }
            return Err(ToolError::new(ErrorCode::Failed, said));
        }
        let stdout = std::mem::take(&mut *lock(&self.stdout.kept));
        let text = format_stdout(stdout, call.stdout)?.to_string();
        ToolError::check_result(text.len(), &self.stdout.limits)?;
        Ok(text)
    }
}

/// What was written to standard output, in its format.
fn format_stdout(stdout: Vec<u8>, format: StdoutFormat) -> Result<Value, ToolError> {
    let failed = |said: String| ToolError::new(ErrorCode::Failed, said);
    let text = match String::from_utf8(stdout) {
        Ok(text) => text,
        Err(bytes) if format == StdoutFormat::Text => {
            return Ok(json!({ "stdout_base64": STANDARD.encode(bytes.into_bytes()) }));
        }
        Err(_) => return Err(failed("the command wrote no UTF-8 to standard output".into())),
    };
    match format {
        StdoutFormat::Text => Ok(json!({ "stdout": text })),
        StdoutFormat::Json => match parse_strict(&text) {
            Ok(object @ Value::Object(_)) => Ok(object),
            Ok(_) => Err(failed("the command wrote JSON that is not an object to standard output".into())),
            Err(error) => Err(failed(format!("the command wrote no JSON to standard output: {error}"))),
        },
        StdoutFormat::JsonLines => {
            let mut lines = Vec::new();
            for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
                lines.push(parse_strict(line).map_err(|error| {
                    failed(format!(
                        "line {} of the command's standard output is no JSON: {error}",
                        number + 1
                    ))
                })?);
            }
            Ok(json!({ "lines": lines }))
        }
    }
}

/// Standard output, kept until there is more than a result may have: the command ends then.
#[derive(Clone)]
struct Stdout {
    kept: Arc<Mutex<Vec<u8>>>,
    limits: Limits,
}

/// Standard error: into the log, and its end kept.
#[derive(Clone)]
struct Stderr {
    log: CallStreams,
    tail: Arc<Mutex<Vec<u8>>>,
}

/// Adds to the end that is kept.
fn keep_tail(tail: &mut Vec<u8>, bytes: &[u8]) {
    let last = &bytes[bytes.len().saturating_sub(TAIL_BYTES_MAX)..];
    tail.extend_from_slice(last);
    let surplus = tail.len().saturating_sub(TAIL_BYTES_MAX);
    tail.drain(..surplus);
}

impl ByteSink for Stdout {
    const PERMIT_BYTES: usize = 64 << 10;

    fn append(&mut self, bytes: &[u8]) -> StreamResult<()> {
        let mut kept = lock(&self.kept);
        ToolError::check_result(kept.len() + bytes.len(), &self.limits)
            .map_err(|error| StreamError::Trap(wasmtime::Error::new(error)))?;
        kept.extend_from_slice(bytes);
        Ok(())
    }
}

impl ByteSink for Stderr {
    const PERMIT_BYTES: usize = 64 << 10;

    fn append(&mut self, bytes: &[u8]) -> StreamResult<()> {
        keep_tail(&mut lock(&self.tail), bytes);
        self.log.append(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(stdout: &[u8], format: StdoutFormat, expected: Result<Value, &str>) {
        match (format_stdout(stdout.to_vec(), format), expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected),
            (Err(error), Err(says)) => {
                assert_eq!(error.code, ErrorCode::Failed);
                assert!(error.message.contains(says), "{error}");
            }
            (found, expected) => panic!("{found:?}, not {expected:?}"),
        }
    }

    #[test]
    fn standard_output_becomes_a_result_by_its_format() {
        use StdoutFormat::{Json, JsonLines, Text};
        check(b"", Json, Err("no JSON"));
        check(b"[1]", Json, Err("not an object"));
        check(b"{} {}", Json, Err("no JSON"));
        check(b"{\"a\":1,\"a\":2}", Json, Err("no JSON"));
        check(b"{\"a\":\"\xff\"}", Json, Err("no UTF-8"));
        check(b"{\"a\":1}\n{\"b\":", JsonLines, Err("line 2"));
        check(b"\xff", JsonLines, Err("no UTF-8"));
        check(b"", Text, Ok(json!({ "stdout": "" })));
        check(b"a\n", Text, Ok(json!({ "stdout": "a\n" })));
        check(b"a\xff", Text, Ok(json!({ "stdout_base64": "Yf8=" })));
        check(b" {\"a\": 1}\n", Json, Ok(json!({ "a": 1 })));
        check(b"", JsonLines, Ok(json!({ "lines": [] })));
        check(b"1\r\n\n{\"a\":[]}\n\"x\"", JsonLines, Ok(json!({ "lines": [1, { "a": [] }, "x"] })));
    }

    #[test]
    fn the_end_of_standard_error_is_kept() {
        let mut tail = Vec::new();
        (0..10_000).for_each(|n| keep_tail(&mut tail, format!("line {n}\n").as_bytes()));
        assert_eq!(tail.len(), TAIL_BYTES_MAX);
        assert!(tail.ends_with(b"line 9998\nline 9999\n"), "{}", String::from_utf8_lossy(&tail));
        keep_tail(&mut tail, &[b'x'; 5000]);
        assert_eq!(tail, [b'x'; TAIL_BYTES_MAX]);
    }
}
