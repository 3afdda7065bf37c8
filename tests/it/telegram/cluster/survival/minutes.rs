//! A workflow that begins each minute, at whichever node has the schedules then, while nodes and
//! servers are struck: each minute once, and no minute is left out.

use super::*;
use std::time::{SystemTime, UNIX_EPOCH};

/// Is told what each of its runs came to.
pub(super) const GUS: i64 = 5_000_000_006;

/// What is written would be there twice if a minute came twice.
const MINUTES: &str = "workflow: minutes\non: { schedule: \"* * * * *\", to: \"telegram:5000000006\" }\ntasks:\n\
    \x20 - { id: keep, tool: file_write, with: { path: /shared/minutes, content: x, append: true } }\n\
    output: a minute\n";
const MINUTE_SECONDS: i64 = 60;
/// What comes after the last look at the runs is over before another one begins.
const LEFT_MIN: i64 = 20;

/// Offers it besides what is offered.
pub(super) fn fit(home: Home) -> Home {
    std::fs::write(home.dir().join("offered/minutes.yaml"), MINUTES).expect("written");
    home
}

/// Waits for the end of all that began, and holds it against what must be true; how many there
/// were, and how many of them ended without the database.
pub(super) async fn judge(
    world: &World,
    servers: &Servers,
    strikes: usize,
) -> anyhow::Result<(usize, usize)> {
    let since = Instant::now();
    let runs = loop {
        let now = i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs())?;
        let last = format!("minutes-at-{:x} ", now - now % MINUTE_SECONDS);
        let query = "SELECT string_agg(run || ' ' || state, ',' ORDER BY run) FROM here.run WHERE workflow = 'minutes'";
        let runs = servers.primary.sql(query);
        let is_over = runs.contains(&last) && !runs.contains(" running");
        if is_over && MINUTE_SECONDS - now % MINUTE_SECONDS > LEFT_MIN {
            break runs;
        }
        anyhow::ensure!(since.elapsed() < PATIENCE, "{runs:?} do not end: {}", world.tail());
        tokio::time::sleep(Duration::from_millis(100)).await;
    };
    world.server.wait_until_idle(PATIENCE, "sendMessage").await?;
    let (mut began, mut done) = (Vec::new(), 0);
    for run in runs.split(',') {
        let (id, state) = run.split_once(' ').expect("two");
        let at = id.strip_prefix("minutes-at-").expect("its name and its time");
        began.push(i64::from_str_radix(at, 16)?);
        done += usize::from(state == "done");
    }
    let whole = (began[0]..).step_by(MINUTE_SECONDS as usize).take(began.len());
    assert!(began.iter().copied().eq(whole), "a minute is missing: {runs}");
    let written = std::fs::read_to_string(world.home.host("/shared/minutes")).unwrap_or_default();
    assert!((done..=began.len()).contains(&written.len()), "{written} of {runs}");
    let sent = world.server.sent_messages();
    let told = sent.iter().filter(|sent| sent.chat_id == GUS && sent.text == "a minute").count();
    assert!((done..=done + strikes).contains(&told), "{told} of {runs}");
    Ok((began.len(), began.len() - done))
}
