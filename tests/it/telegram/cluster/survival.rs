//! Nodes that are killed, ended and put to sleep at arbitrary moments.

use super::*;

const ROUNDS: usize = 9;
const MESSAGES: usize = 5 * ROUNDS;

/// What happens to a node.
async fn strike(node: Serving, how: u64) -> anyhow::Result<()> {
    match how {
        0 => drop(node.kill()),
        1 => drop(node.stop(Signal::TERM, PATIENCE)?),
        _ => {
            let mut node = node;
            node.signal(Signal::STOP)?;
            tokio::time::sleep(LEASE + Duration::from_secs(2)).await;
            node.signal(Signal::CONT)?;
            match node.wait(LEASE + Duration::from_secs(2)) {
                Ok(status) => assert_eq!(status.code(), Some(2), "{}", node.whole_log()),
                // It was stopped before it had joined the others.
                Err(_) => drop(node.stop(Signal::TERM, PATIENCE)?),
            }
        }
    }
    Ok(())
}

/// Kills, ends and sleeps of nodes at arbitrary moments, with a network that fails now and then:
/// each message is answered, each file is saved once and whole, and the audit stays sound.
async fn survives(test: &str, seed: u64) -> anyhow::Result<()> {
    let Some(server) = shared(test) else { return Ok(()) };
    let schema = new_schema();
    let mut random = Random(seed);
    let (world, first) = two(server, &schema, |home| home).await?;
    let mut others = vec![("a", first), ("c", node(&world, "c")?)];
    let mut pushed = Vec::new();
    for _ in 0..ROUNDS {
        let next = pushed.len()..pushed.len() + MESSAGES / ROUNDS;
        pushed.extend(world.server.push_all(next.map(message)));
        fault(&world, &mut random);
        let target = ["getUpdates", "getFile", "sendChatAction", "sendMessage"][random.below(4) as usize];
        let count = world.server.requests(target).len() + random.below(3) as usize;
        let _ = world.server.wait_for_requests(Duration::from_millis(700), target, count).await;
        let (name, struck) = others.remove(random.below(2) as usize);
        strike(struck, random.below(3)).await?;
        others.push((name, node(&world, name)?));
    }
    for question in &pushed {
        world.answer(question).await?;
    }
    for (n, question) in pushed.iter().enumerate().filter(|(n, _)| n % 4 > 1) {
        assert!(world.saved(&format!("/shared/{n}")) == content(n), "{n}");
        let answer = world.answer(question).await?.text;
        assert!(answer.contains(r#""saved":true"#), "{n}: {answer}");
    }
    world.server.wait_until_idle(PATIENCE, "sendMessage").await?;
    let sent = world.server.sent_messages();
    let answered: BTreeSet<_> = sent.iter().map(|sent| (sent.chat_id, sent.reply_to)).collect();
    assert_eq!(answered.len(), MESSAGES);
    // A node may be struck between a message and its acknowledgement, in each chat.
    let repeated = sent.len() - answered.len();
    assert!(repeated <= ROUNDS * PEOPLE.len(), "{repeated} repeated");
    // The last one may have begun just now, and a signal ends that by itself.
    let is_up =
        |node: &Serving| node.log().contains(" hears telegram-") || node.log().contains("polling as ");
    let since = Instant::now();
    while !others.iter().all(|(_, node)| is_up(node)) {
        assert!(since.elapsed() < PATIENCE, "a node does not begin");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    end(world, others.into_iter().map(|(_, node)| node), sent.len())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn three_nodes_survive_of_one_kind() -> anyhow::Result<()> {
    survives("telegram::cluster::three_nodes_survive_of_one_kind", 1).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn three_nodes_survive_of_another_kind() -> anyhow::Result<()> {
    survives("telegram::cluster::three_nodes_survive_of_another_kind", 2).await
}
