//! A model that asks for a file of the vault: the person is shown both paths, and decides.

use super::*;
use crate::telegram::approvals::{APPROVE, DENY, answered, asked, press};

const SECRET: &[u8] = b"a key of the vault";

fn copy() -> Call {
    Call::new("vault_copyto", json!({ "from": "/vault/key", "to": "/shared/key" }))
}

async fn with_a_secret(turns: impl IntoIterator<Item = Turn>) -> anyhow::Result<(World, LlmServer)> {
    let in_vault = |home: Home| {
        std::fs::create_dir_all(home.host("/vault")).expect("writable");
        std::fs::write(home.host("/vault/key"), SECRET).expect("writable");
        home
    };
    agent_in(in_vault, turns).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_copy_that_a_model_wants_is_shown_and_done_after_a_yes() -> anyhow::Result<()> {
    let (world, llm) = with_a_secret([Turn::calls([copy()]), Turn::say("It is in /shared/key.")]).await?;
    world.server.push(text("get me the key"));
    let approval = asked(&world, 0).await?;
    let lines: Vec<_> = approval.text.lines().collect();
    assert!(lines[0].starts_with("vault_copyto needs approval: "), "{}", approval.text);
    for line in ["reads /vault/key: there is a file of 18 bytes", "creates /shared/key: nothing is there now"]
    {
        assert!(lines.iter().any(|shown| shown.starts_with(line)), "{line}: {}", approval.text);
    }
    assert!(approval.text.contains("Rule: * = \"always\" (tools/vault_copyto.toml:"), "{}", approval.text);
    assert!(!world.home.host("/shared/key").exists(), "nobody has agreed yet");
    world.server.push(press(ANN, &approval, APPROVE));
    answered(&world, "It is in /shared/key.").await?;
    assert_eq!(world.saved("/shared/key"), SECRET);
    assert_eq!(outcomes(&world, "vault_copyto"), [None]);
    let requests = llm.requests();
    let result = shown(&requests[1].results()[0])["result"].clone();
    assert_eq!((&result["copied"], &result["bytes"]), (&json!(true), &json!(18)));
    assert!(requests.iter().all(|request| !request.text().contains("a key of the vault")));
    end(world, &llm, 2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_no_leaves_the_vault_alone() -> anyhow::Result<()> {
    let (world, llm) = with_a_secret([Turn::calls([copy()]), Turn::say("You did not want that.")]).await?;
    world.server.push(text("get me the key"));
    let approval = asked(&world, 0).await?;
    world.server.push(press(ANN, &approval, DENY));
    answered(&world, "You did not want that.").await?;
    assert!(!world.home.host("/shared/key").exists());
    assert_eq!(outcomes(&world, "vault_copyto"), [Some("approval_denied".to_owned())]);
    assert!(llm.requests()[1].results()[0].contains("approval_denied"));
    end(world, &llm, 2)
}
