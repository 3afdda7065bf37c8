//! The status for people, a few lines.

use super::{Newest, Queue, Status};
use crate::store::{DayOf, Waiting};
use cofferdam_core::limits::ByteSize;
use cofferdam_core::text::one_line;

/// So many people of today are shown; `--json` has more.
const PEOPLE_SHOWN: usize = 10;

pub(super) fn of(status: &Status) -> String {
    let mut lines = vec![running(status)];
    lines.push(match (&status.bot, &status.polled_at) {
        (Some(bot), Some(at)) => format!("bot: {}, last polled {at}", one_line(bot, 80)),
        (Some(bot), None) => format!("bot: {}, not polled yet", one_line(bot, 80)),
        (None, _) => "bot: has not polled yet".to_owned(),
    });
    if status.running {
        lines.push(format!("workers: {}", status.workers));
    }
    lines.extend(queue(status.queue.as_ref()));
    lines.extend(today(status));
    lines.push(match status.workspace.used_bytes {
        Some(used) => format!("workspace: {used} bytes of {}", ByteSize(status.workspace.max_bytes)),
        None => "workspace: more files than can be measured at a glance".to_owned(),
    });
    lines.push(match &status.audit {
        Some(Newest { head, time }) => {
            format!("audit: {} records, the last {}, head {head}", head.seq, one_line(time, 40))
        }
        None => "audit: none yet".to_owned(),
    });
    lines.join("\n") + "\n"
}

fn running(status: &Status) -> String {
    let version = status.version.as_deref().map(|version| one_line(version, 40)).unwrap_or_default();
    match (status.pid, &status.started_at) {
        (Some(pid), Some(since)) => format!("serve: running since {since}, process {pid}, version {version}"),
        (Some(pid), None) => format!("serve: running, process {pid}"),
        (None, _) if version.is_empty() => "serve: not running, and never was here".to_owned(),
        (None, _) => format!("serve: not running; last was version {version}"),
    }
}

fn queue(queue: Option<&Queue>) -> Vec<String> {
    let Some(Queue { waiting, received_at }) = queue else {
        return vec!["queue: no database of this version yet".to_owned()];
    };
    let Waiting { messages, turns, approvals, replies, parts } = waiting;
    let last = received_at.as_ref().map_or("never".to_owned(), |at| at.clone());
    vec![
        format!(
            "in: {messages} messages wait, {turns} turns have begun, {approvals} approvals are asked for; the last message came {last}"
        ),
        format!("out: {parts} messages of {replies} replies are to be sent"),
    ]
}

fn today(status: &Status) -> Vec<String> {
    let (today, bytes) = (&status.today, ByteSize(status.today.written_bytes_max));
    let mut lines = vec![match today.people.len() {
        0 => "today: nobody has used anything".to_owned(),
        _ => format!("today, of {} tokens and {bytes} each:", today.tokens_max),
    }];
    lines.extend(today.people.iter().take(PEOPLE_SHOWN).map(|person| {
        let DayOf { channel, sender, tokens, written_bytes } = person;
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
