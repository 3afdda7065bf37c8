//! The log: one line an event on standard error, as text or JSON, and never a secret in it.
//!
//! Everything that this process says there goes through `write`, events of libraries, last words of
//! a panic and messages for the person at the terminal alike, so nothing passes beside the
//! redaction. A line is written at once: lines of several threads do not mix. Nobody may be
//! reading, which is no reason to fail.

mod config;
mod line;

pub use config::{Config, LogFormat};

use cofferdam_core::lock::lock;
use cofferdam_core::secret::redact;
use cofferdam_core::text::one_line;
use cofferdam_store::LastError;
use line::{EventFields, format_line};
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Registry, reload};

/// The variable whose filter goes before the configured one.
const FILTER_VARIABLE: &str = "COFFERDAM_LOG";
/// The configured format's twin in the environment, which is looked at before there is a
/// configuration.
const FORMAT_VARIABLE: &str = "COFFERDAM_LOG_FORMAT";

static IS_JSON: AtomicBool = AtomicBool::new(false);
/// The filter in force, and what is logged where nobody says otherwise.
static STARTED: OnceLock<(reload::Handle<EnvFilter, Registry>, &str)> = OnceLock::new();

/// The last error of the log, for those who look at this process later.
static LAST_ERROR: Mutex<Option<LastError>> = Mutex::new(None);
/// What is kept of something that was logged.
const SAID_BYTES_MAX: usize = 400;

/// An error that is said now; bounded.
pub fn error_now(text: &str) -> LastError {
    let said = one_line(&redact(text), SAID_BYTES_MAX);
    LastError { at: format!("{:.0}", jiff::Timestamp::now()), said }
}

/// Starts the log of this process, with a filter for when neither environment nor configuration has
/// one.
///
/// # Errors
/// What to write into the variable instead, where it holds no filter. The log has started all the
/// same.
pub fn start(usual: &'static str) -> Result<(), String> {
    set_format(match std::env::var(FORMAT_VARIABLE).as_deref() {
        Ok("json") => LogFormat::Json,
        _ => LogFormat::Text,
    });
    let (filter, handle) = reload::Layer::new(filter(None, usual));
    if STARTED.set((handle, usual)).is_ok() {
        Registry::default().with(filter).with(LogWriter).init();
        std::panic::set_hook(Box::new(|panic| {
            log(Level::ERROR, "cofferdam", EventFields::message(&panic.to_string()))
        }));
    }
    variable().map_or(Ok(()), |filter| config::check(FILTER_VARIABLE, &filter))
}

/// Goes on as the configuration says.
pub fn configure(config: &Config) {
    set_format(config.format);
    let Some((in_force, usual)) = STARTED.get() else { return };
    if let Err(error) = in_force.reload(filter(config.filter.as_deref(), usual)) {
        say(Level::ERROR, &format!("the log's filter stays as it was: {error}"));
    }
}

/// A line for anyone who looks at this process's standard error: a person at a terminal, or the
/// log's reader.
pub fn say(level: Level, text: &str) {
    if !IS_JSON.load(Ordering::Relaxed) {
        return write(&format!("cofferdam: {text}\n"));
    }
    log(level, "cofferdam", EventFields::message(text));
}

/// What this process has logged last as an error.
pub fn last_error() -> Option<LastError> {
    lock(&LAST_ERROR).clone()
}

fn log(level: Level, target: &str, fields: EventFields) {
    if level == Level::ERROR {
        *lock(&LAST_ERROR) = Some(error_now(&fields.words()));
    }
    let format = if IS_JSON.load(Ordering::Relaxed) { LogFormat::Json } else { LogFormat::Text };
    // UTC, RFC 3339, microseconds.
    let time = format!("{:.6}", jiff::Timestamp::now());
    write(&format_line(format, (&time, level, target), &fields));
}

/// The one way to standard error.
fn write(lines: &str) {
    let _ = std::io::stderr().lock().write_all(redact(lines).as_bytes());
}

fn set_format(format: LogFormat) {
    IS_JSON.store(format == LogFormat::Json, Ordering::Relaxed);
}

fn filter(configured: Option<&str>, usual: &str) -> EnvFilter {
    let variable = variable();
    let wanted = variable.as_deref().or(configured).unwrap_or(usual);
    EnvFilter::try_new(wanted).unwrap_or_else(|_| usual.into())
}

fn variable() -> Option<String> {
    std::env::var(FILTER_VARIABLE).ok()
}

/// Writes each event as a line.
struct LogWriter;

/// A library that logs whole messages, with what a policy has kept out of log and audit. Its errors
/// are logged.
const TALKATIVE: &str = "rmcp";

impl<S: Subscriber> Layer<S> for LogWriter {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if event.metadata().target().starts_with(TALKATIVE) && *event.metadata().level() != Level::ERROR {
            return;
        }
        log(*event.metadata().level(), event.metadata().target(), EventFields::from_event(event));
    }
}
