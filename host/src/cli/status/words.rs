//! The status for people, a few lines.

use super::{Health, LastFailure, ModelStatus, NewestRecord, QueueStatus, StatusReport};
use cofferdam_core::limits::ByteSize;
use cofferdam_core::text::one_line;
use cofferdam_store::{AwayHome, DayUsage, LastError, WaitingCounts};

/// So many people of today are shown; `--json` has more.
const PEOPLE_SHOWN: usize = 10;

pub(super) fn format_status(status: &StatusReport) -> String {
    let mut lines = vec![describe_running(status)];
    lines.push(match (&status.bot, &status.polled_at) {
        (Some(bot), Some(at)) => {
            let ago = status.health.poll_age_seconds.map(|age| format!(" ({} ago)", describe_duration(age)));
            format!("bot: {}, last polled {at}{}", one_line(bot, 80), ago.unwrap_or_default())
        }
        (Some(bot), None) => format!("bot: {}, not polled yet", one_line(bot, 80)),
        (None, _) => "bot: has not polled yet".to_owned(),
    });
    if status.channels.len() > 1 {
        lines.extend(status.channels.iter().map(|(name, channel)| {
            let bot = channel.bot.as_deref().map_or("not known yet".to_owned(), |bot| one_line(bot, 80));
            let last = match (&channel.polled_at, channel.poll_age_seconds) {
                (Some(at), Some(age)) => format!("last answered {at} ({} ago)", describe_duration(age)),
                (Some(at), None) => format!("last answered {at}"),
                (None, _) => "has not answered yet".to_owned(),
            };
            format!("channel {name}: {bot}, {last}")
        }));
    }
    if status.pid.is_some() {
        lines.push(format!("workers: {}", status.workers));
    }
    lines.extend(status.database.nodes.iter().map(|node| {
        let duties = node.duties.iter().fold(String::new(), |all, duty| all + ", " + &one_line(duty, 80));
        format!("node {}: {}, turns{duties}", one_line(&node.name, 80), one_line(&node.who, 200))
    }));
    lines.extend(status.database.away.iter().map(describe_away));
    lines.extend(describe_held(&status.held_runs));
    lines.extend(health(&status.health));
    match describe_unreadable(status, "queue") {
        Some(line) => lines.push(line),
        None => {
            lines.extend(queue(status.database.queue.as_ref()));
            lines.extend(describe_usage(status));
        }
    }
    lines.push(match status.workspace.used_bytes {
        Some(used) => format!("workspace: {used} bytes of {}", ByteSize(status.workspace.max_bytes)),
        None => describe_unreadable(status, "workspace")
            .unwrap_or_else(|| "workspace: more files than can be measured at a glance".to_owned()),
    });
    let mib =
        |free: Option<u64>| free.map_or("an unknown number of".to_owned(), |free| (free >> 20).to_string());
    if status.workspace.free_bytes.is_some() || status.workspace.state_free_bytes.is_some() {
        let (workspace, state) = (mib(status.workspace.free_bytes), mib(status.workspace.state_free_bytes));
        lines.push(format!("disk: {workspace} MiB free for the workspace, {state} MiB for the state"));
    }
    lines.push(match &status.audit {
        Some(NewestRecord { head, time }) => {
            format!("audit: {} records, the last {}, head {head}", head.seq, one_line(time, 40))
        }
        None => describe_unreadable(status, "audit").unwrap_or_else(|| "audit: none yet".to_owned()),
    });
    lines.join("\n") + "\n"
}

fn describe_unreadable(status: &StatusReport, key: &str) -> Option<String> {
    let part = status.unreadable.iter().find(|part| part.key == key)?;
    Some(format!("{key}: CANNOT BE READ: {}", part.reason))
}

fn describe_away(AwayHome { node, people, runs }: &AwayHome) -> String {
    let people =
        (*people > 0).then(|| format!("people whose files it has: {people}, and their messages wait; "));
    let runs = (*runs > 0).then(|| format!("open runs whose files it has: {runs}; "));
    format!(
        "node {}: not there; {}{}start it, or give them to another one (`cofferdam store rehome --help`)",
        one_line(node, 80),
        people.unwrap_or_default(),
        runs.unwrap_or_default()
    )
}

/// Which runs wait until the audit is settled, and what ends them.
fn describe_held(runs: &[String]) -> Option<String> {
    let runs: Vec<String> = runs.iter().map(|run| one_line(run, 200)).collect();
    (!runs.is_empty()).then(|| {
        format!(
            "runs that had begun a call wait until the audit is settled; the log says why it is not, and \
             `cofferdam workflow cancel RUN` ends one: {}",
            runs.join(", ")
        )
    })
}

fn describe_running(status: &StatusReport) -> String {
    let version = status.version.as_deref().map(|version| one_line(version, 40)).unwrap_or_default();
    match (status.pid, &status.started_at) {
        (Some(pid), Some(since)) => {
            let up = describe_duration(status.health.uptime_seconds.unwrap_or_default());
            format!("serve: running since {since} ({up}), process {pid}, version {version}")
        }
        (Some(pid), None) => format!("serve: running, process {pid}"),
        (None, _) if status.running => "serve: running on another machine".to_owned(),
        (None, _) if version.is_empty() && !status.unreadable.is_empty() => {
            "serve: none that can be seen from here".to_owned()
        }
        (None, _) if version.is_empty() => "serve: not running, and never was here".to_owned(),
        (None, _) => format!("serve: not running; last was version {version}"),
    }
}

/// The two largest units of a time.
fn describe_duration(seconds: i64) -> String {
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m{}s", seconds / 60, seconds % 60),
        3600..86400 => format!("{}h{}m", seconds / 3600, seconds / 60 % 60),
        _ => format!("{}d{}h", seconds / 86400, seconds / 3600 % 24),
    }
}

fn health(health: &Health) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(ModelStatus { answered_at, failed }) = &health.model {
        let answered = answered_at.as_deref().unwrap_or("never");
        lines.push(format!("model: last answered {answered}, {}", describe_failure(failed)));
    }
    if health.store.failed_at.is_some() {
        lines.push(format!("store: {}", describe_failure(&health.store)));
    }
    lines.push(match &health.last_error {
        Some(LastError { at, said }) => format!("last error: {}, {}", one_line(at, 40), one_line(said, 400)),
        None => "last error: none".to_owned(),
    });
    lines
}

/// What went wrong last, and whether it still does.
fn describe_failure(failed: &LastFailure) -> String {
    let LastFailure { failed_at, reason, failing_since } = failed;
    let at = failed_at.as_deref().unwrap_or("never");
    let why = reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    match failing_since {
        Some(since) => format!("FAILS since {since}, last at {at}{why}"),
        None => format!("last failed {at}{why}"),
    }
}

fn queue(queue: Option<&QueueStatus>) -> Vec<String> {
    let Some(QueueStatus { waiting, received_at }) = queue else {
        return vec!["queue: no database of this version yet".to_owned()];
    };
    let WaitingCounts { messages, turns, approvals, replies, parts } = waiting;
    let last = match received_at {
        Some(at) => format!("the last message came {at}"),
        None => "no message has come yet".to_owned(),
    };
    vec![
        format!(
            "in: {messages} messages wait, {turns} turns have begun, {approvals} approvals are asked for; {last}"
        ),
        format!("out: {parts} messages of {replies} replies are to be sent"),
    ]
}

fn describe_usage(status: &StatusReport) -> Vec<String> {
    let (today, bytes) = (&status.database.today, ByteSize(status.database.today.written_bytes_max));
    let mut lines = vec![match today.people.len() {
        0 => "today: nobody has used anything".to_owned(),
        _ => format!("today, of {} tokens and {bytes} each:", today.tokens_max),
    }];
    lines.extend(today.people.iter().take(PEOPLE_SHOWN).map(|person| {
        let DayUsage { channel, sender, tokens, written_bytes } = person;
        format!(
            "  {}: {tokens} tokens, {written_bytes} bytes written",
            one_line(&format!("{channel}:{sender}"), 80)
        )
    }));
    if today.people.len() > PEOPLE_SHOWN {
        lines.push(format!("  and {} more", today.people.len() - PEOPLE_SHOWN));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::{AwayHome, describe_away, describe_duration, describe_held};

    #[test]
    fn what_waits_for_a_node_that_is_away_is_told() {
        let people = "people whose files it has: 3, and their messages wait; ";
        let runs = "open runs whose files it has: 2; ";
        let end = "start it, or give them to another one (`cofferdam store rehome --help`)";
        for (count, waits) in
            [((3, 0), people.to_owned()), ((0, 2), runs.to_owned()), ((3, 2), format!("{people}{runs}"))]
        {
            let away = AwayHome { node: "b".to_owned(), people: count.0, runs: count.1 };
            assert_eq!(describe_away(&away), format!("node b: not there; {waits}{end}"));
        }
    }

    #[test]
    fn runs_that_wait_for_the_audit_are_named_with_what_ends_them() {
        let runs = ["w-1", "w-2"].map(String::from);
        let told = describe_held(&runs).expect("told");
        assert!(told.ends_with("`cofferdam workflow cancel RUN` ends one: w-1, w-2"), "{told}");
        assert_eq!(describe_held(&[]), None);
    }

    #[test]
    fn a_time_is_told_by_its_two_largest_units() {
        for (seconds, told) in [
            (0, "0s"),
            (59, "59s"),
            (60, "1m0s"),
            (3599, "59m59s"),
            (3600, "1h0m"),
            (86_399, "23h59m"),
            (86_400, "1d0h"),
            (40 * 86_400 + 7200, "40d2h"),
        ] {
            assert_eq!(describe_duration(seconds), told, "{seconds}");
        }
    }
}
