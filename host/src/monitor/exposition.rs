//! The gateway's numbers in Prometheus' text format, version 0.0.4: pure. Labels are tools, codes
//! and words of fixed sets; no person, path or text is among them.

use super::Gauges;
use cofferdam_core::counts::{Counts, DURATIONS, LabelCounts};
use std::fmt::{Display, Write};
use std::sync::atomic::Ordering;

/// The type that its readers expect.
pub(super) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// All numbers.
pub(super) fn exposition(counts: &Counts, gauges: Option<&Gauges>) -> String {
    let mut page = MetricsPage(String::with_capacity(8 << 10));
    page.family("build_info", "gauge", "The release that runs.");
    page.sample("build_info", &[("version", env!("CARGO_PKG_VERSION"))], 1);
    calls(&mut page, counts);
    page.words("turns_total", "Turns by how they ended; open ones may be retried.", "outcome", &counts.turns);
    page.words(
        "model_requests_total",
        "Requests to a model by what came of them.",
        "outcome",
        &counts.model_requests,
    );
    page.counter("model_retries_total", "Attempts at a request after the first.", counts.model_retries.get());
    page.words(
        "model_tokens_total",
        "Tokens of all requests, as the model's server counts them; estimated where it does not.",
        "direction",
        &counts.model_tokens,
    );
    page.words("messages_sent_total", "Messages of replies that are out.", "kind", &counts.sent);
    page.words(
        "messages_failed_total",
        "Messages of replies that could not be sent.",
        "kind",
        &counts.unsent,
    );
    page.counter("updates_received_total", "Updates that the channel brought.", counts.updates.get());
    page.gauge(
        "messages_held",
        "Messages that are answered, or wait for it in memory; more may wait in the inbox.",
        counts.held.get(),
    );
    page.counter(
        "workers_started_total",
        "Sandbox processes that were started.",
        counts.workers_started.get(),
    );
    page.counter(
        "workers_killed_total",
        "Sandbox processes that died or were killed during a call.",
        counts.workers_killed.get(),
    );
    page.counter("audit_records_total", "Records that this process appended.", counts.audit_records.get());
    page.words("reloads_total", "Configurations that were read anew.", "outcome", &counts.reloads);
    let refused = counts.is_reload_refused.load(Ordering::Relaxed);
    page.gauge("reload_refused", "Whether the last reload was refused.", u8::from(refused));
    if let Some(gauges) = gauges {
        standing(&mut page, gauges);
    }
    page.0
}

fn calls(page: &mut MetricsPage, counts: &Counts) {
    page.family("tool_calls_total", "counter", "Tool calls by tool and code; ok is success.");
    for ((tool, code), count) in counts.calls.to_list() {
        page.sample("tool_calls_total", &[("tool", &tool), ("code", code)], count);
    }
    let name = "tool_call_duration_seconds";
    page.family(name, "histogram", "From a call's request, or its approval, to its outcome.");
    let (durations, seconds) = counts.calls.durations();
    let bounds = DURATIONS.iter().map(ToString::to_string).chain(Some("+Inf".to_owned()));
    for (bound, count) in bounds.zip(durations) {
        page.sample(&format!("{name}_bucket"), &[("le", &bound)], count);
    }
    page.sample(&format!("{name}_sum"), &[], seconds);
    page.sample(&format!("{name}_count"), &[], durations[DURATIONS.len()]);
}

/// How things stand. What is not known is left out.
fn standing(page: &mut MetricsPage, gauges: &Gauges) {
    page.gauge("calls_waiting", "Tool calls that wait for a thread.", gauges.calls_waiting);
    if let Some(tasks) = gauges.tasks {
        let help = "Asynchronous tasks that are alive: those that stand, one for each connection, and what is under way.";
        page.gauge("tasks", help, tasks);
    }
    page.gauge("audit_seq", "The last record of the audit.", gauges.audit_seq);
    if let Some(age) = gauges.last_poll {
        page.gauge("last_poll_age_seconds", "Since the channel last answered a poll.", age.as_secs_f64());
    }
    if gauges.channels.iter().any(|(_, age)| age.is_some()) {
        let name = "channel_last_answer_age_seconds";
        page.family(name, "gauge", "Since each channel's platform last answered.");
        for (channel, age) in &gauges.channels {
            if let Some(age) = age {
                page.sample(name, &[("channel", channel)], age.as_secs_f64());
            }
        }
    }
    if let Some(bytes) = gauges.workspace_bytes {
        page.gauge("workspace_bytes", "Bytes in the workspace, as last measured.", bytes);
    }
    page.gauge("workspace_max_bytes", "The quota over the workspace.", gauges.workspace_max_bytes);
    if let Some(bytes) = gauges.resident_bytes {
        page.write_process_metric("process_resident_memory_bytes", "Resident memory.", bytes);
    }
    if let Some(count) = gauges.open_descriptors {
        page.write_process_metric("process_open_fds", "Open descriptors.", count);
    }
}

/// A page as it grows.
struct MetricsPage(String);

impl MetricsPage {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        let _ = write!(self.0, "# HELP cofferdam_{name} {help}\n# TYPE cofferdam_{name} {kind}\n");
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        let _ = write!(self.0, "cofferdam_{name}");
        for (n, (label, text)) in labels.iter().enumerate() {
            let open = if n == 0 { '{' } else { ',' };
            let _ = write!(self.0, "{open}{label}=\"{}\"", escape(text));
        }
        let close = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.0, "{close} {value}");
    }

    fn counter(&mut self, name: &str, help: &str, value: u64) {
        self.family(name, "counter", help);
        self.sample(name, &[], value);
    }

    fn gauge(&mut self, name: &str, help: &str, value: impl Display) {
        self.family(name, "gauge", help);
        self.sample(name, &[], value);
    }

    /// One that every process has, under the name that all use.
    fn write_process_metric(&mut self, name: &str, help: &str, value: u64) {
        let _ = write!(self.0, "# HELP {name} {help}\n# TYPE {name} gauge\n{name} {value}\n");
    }

    fn words<const N: usize>(&mut self, name: &str, help: &str, label: &str, words: &LabelCounts<N>) {
        self.family(name, "counter", help);
        for (word, count) in words.to_list() {
            self.sample(name, &[(label, word)], count);
        }
    }
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_escaped_and_families_are_told_once() {
        let mut page = MetricsPage(String::new());
        page.gauge("x", "What it is.", 1.5);
        page.sample("y", &[("a", "q\"\\\n"), ("b", "")], 2);
        assert_eq!(
            page.0,
            "# HELP cofferdam_x What it is.\n# TYPE cofferdam_x gauge\ncofferdam_x 1.5\n\
             cofferdam_y{a=\"q\\\"\\\\\\n\",b=\"\"} 2\n"
        );
    }
}
