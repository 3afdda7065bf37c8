//! Which calls run side by side, and in which order everything else happens.

use super::*;

#[tokio::test]
async fn calls_that_change_nothing_run_side_by_side_and_answer_in_order() {
    let meet = |n: &str| ("meet", format!("{{\"n\":{n}}}"));
    let world = World::new([Act::Call(vec![meet("0"), meet("1")]), Act::Say("done")]);
    // Each waits for the other, so one after the other would never end.
    assert_eq!(world.ask("t", "go").await, "done");
    let mut done = world.tools.done();
    done.sort();
    assert_eq!(done, ["t/0 meet", "t/1 meet"]);
    assert_eq!(world.script.asked(), ["u:go", "u:go a:meet+meet r r"]);
}

#[tokio::test]
async fn calls_that_change_something_run_in_the_order_given() {
    let step = ["read", "WRITE", "WRITE", "read", "WRITE"].map(call).to_vec();
    let world = World::new([Act::Call(step), Act::Call(vec![call("read")]), Act::Say("done")]);
    assert_eq!(world.ask("t", "go").await, "done");
    assert_eq!(
        world.tools.done(),
        ["t/0 read", "t/1 WRITE", "t/2 WRITE", "t/3 read", "t/4 WRITE", "t/5 read"]
    );
}

#[tokio::test]
async fn a_long_result_is_kept_as_a_file_and_its_head_is_shown() {
    let world = World::new([Act::Call(vec![call("long")]), Act::Call(vec![call("long")]), Act::Say("done")]);
    assert_eq!(world.ask("t", "go").await, "done");
    let kept = world.history.load(&session(), &TurnId::new("")).await.expect("kept");
    let shown: Vec<Value> = kept
        .iter()
        .filter_map(|kept| match &kept.entry {
            HistoryEntry::ToolResult { shown, .. } => {
                Some(serde_json::from_str(shown).expect("one JSON value"))
            }
            _ => None,
        })
        .collect();
    let whole = world.tools.kept.lock().expect("kept")[0].clone();
    assert_eq!(
        (&shown[0]["untrusted"], &shown[0]["path"], &shown[0]["total_bytes"]),
        (&json!(true), &json!("/tmp/outputs/1.json"), &json!(whole.len()))
    );
    assert!(whole.starts_with(shown[0]["head"].as_str().expect("text")));
    assert!(shown[1]["path"].is_null(), "it could not be kept");
    assert!(shown[1]["note"].as_str().expect("text").contains("the workspace is full"));
    assert!(kept.iter().all(|kept| !format!("{kept:?}").contains(&"x".repeat(20_000))));
}
