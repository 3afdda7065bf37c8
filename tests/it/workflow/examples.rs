//! The files of `docs/examples`: each is sound, and the one that needs nobody is carried out; the
//! others are in `people`.

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use support::home::Home;
use support::llm::{Dialect, LlmServer, Turn};

fn example(name: &str) -> String {
    let dir: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/examples");
    dir.join(name).canonicalize().expect("it is there").to_str().expect("UTF-8").to_owned()
}

#[test]
fn each_example_is_sound_and_drawn() {
    let dir = example(".");
    let mut checked = 0;
    for entry in std::fs::read_dir(dir).expect("examples") {
        let path = entry.expect("readable").path();
        if path.extension().is_none_or(|ending| ending != "yaml") {
            continue;
        }
        let file = path.to_str().expect("UTF-8");
        let home = Home::new();
        let input = match path.file_stem().and_then(|name| name.to_str()) {
            Some("ask-colleague") => "question=When do we sail?",
            Some("publish") => "path=/shared/draft.txt",
            _ => "dir=assets",
        };
        let ran = home.run(&["workflow", "check", file, "--input", input]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(home.run(&["workflow", "graph", file]).stdout.starts_with("flowchart TD\n"), "{file}");
        checked += 1;
    }
    assert_eq!(checked, 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn analyze_shows_its_files_and_keeps_the_verdict() -> anyhow::Result<()> {
    let llm = LlmServer::start().await?;
    let accepts = "accepts = [\"image/*\", \"application/pdf\"]\n";
    let home = Home::new().model(&llm, Dialect::Responses, accepts);
    llm.script([Turn::say("{\"verdict\": \"calm\"}")]);
    let ran = home.run(&["run", &example("analyze.yaml")]);
    assert_eq!((ran.code, llm.violations()), (Some(0), vec![]), "{ran:?}");
    assert_eq!(std::fs::read(home.host("/shared/verdict.txt"))?, b"calm");
    let shown = home.audit().into_iter().find(|record| record["task"] == "look").expect("a record");
    let types: Vec<Value> = shown["attachments"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| json!([one["path"], one["mime_type"]]))
        .collect();
    let expected = [
        json!(["assets/harbour.png", "image/png"]),
        json!(["cover.jpg", "image/jpeg"]),
        json!(["handbook.pdf", "application/pdf"]),
        json!([null, null]),
    ];
    assert_eq!(types, expected);
    Ok(())
}
