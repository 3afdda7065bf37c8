//! The limits of a task, each tripped.

use super::{PNG, put, refused_on_paper};
use support::home::{Home, Ran};
use support::llm::{Dialect, LlmServer, Turn};

fn with(home: &Home, attachments: &str) -> String {
    let text = format!(
        "workflow: w\nagents: [{{ id: a, actions: [{{ id: b, prompt: c, attachments: [{attachments}] }}] }}]\n\
         tasks: [{{ id: t, agent: a, action: b }}]\n"
    );
    put(home, "w.yaml", text.as_bytes())
}

/// The codes of a check's problems.
fn codes(home: &Home, attachments: &str) -> Vec<String> {
    let line = home.run(&["workflow", "check", &with(home, attachments)]).json();
    let problems = line["problems"].as_array().cloned().unwrap_or_default();
    problems.iter().map(|problem| format!("{}: {}", problem["code"], problem["message"])).collect()
}

#[test]
fn a_task_has_so_many_attachments_and_no_more() {
    let home = Home::new();
    for n in 0..100 {
        put(&home, &format!("img/{n:03}.png"), &[PNG, n.to_string().as_bytes()].concat());
    }
    let image = "{ type: image, paths: [\"img/*.png\"] }";
    assert_eq!(codes(&home, image), [""; 0]);
    put(&home, "img/100.png", PNG);
    let found = codes(&home, image);
    assert!(
        found.len() == 1 && found[0].contains("too_large") && found[0].contains("more than 100 attachments"),
        "{found:?}"
    );
}

#[test]
fn patterns_look_at_so_many_entries_and_no_more() {
    let home = Home::new();
    put(&home, "img/a.png", PNG);
    let folder = home.dir().join("flows/img");
    for n in 1..10_000 {
        std::fs::write(folder.join(format!("{n}.txt")), b"").expect("writable");
    }
    let image = "{ type: image, paths: [\"img/*.png\"] }";
    assert_eq!(codes(&home, image), [""; 0]);
    std::fs::write(folder.join("one-more.txt"), b"").expect("writable");
    let found = codes(&home, image);
    assert!(found.iter().any(|problem| problem.contains("more than 10000 entries")), "{found:?}");
}

/// Somebody who gives a part of a pattern may make it long.
#[test]
fn patterns_look_for_so_many_folders_that_are_not_there_and_no_more() {
    let home = Home::new();
    for n in 0..25 {
        put(&home, &format!("img/{n}/a.png"), PNG);
    }
    let image = |times: usize| {
        let pattern = format!("**/{}*.png", "x/**/".repeat(times));
        codes(&home, &format!("{{ type: image, paths: [./img/0/a.png, \"{pattern}\"] }}"))
    };
    assert_eq!(image(50), [""; 0]);
    let found = image(450);
    assert!(found.iter().any(|problem| problem.contains("more than 10000 entries")), "{found:?}");
}

#[test]
fn an_input_is_so_long_and_no_longer() {
    let home = Home::new();
    let text =
        "workflow: w\ninput: { properties: { x: { type: string } } }\ntasks: [{ id: t, tool: file_list }]\n";
    let file = put(&home, "w.yaml", text.as_bytes());
    let check = |bytes: usize| {
        let args = put(&home, "args.json", format!("{{\"x\":\"{}\"}}", "a".repeat(bytes - 8)).as_bytes());
        home.run(&["workflow", "check", &file, "--args", &format!("@{args}")])
    };
    assert_eq!(check(1 << 20).code, Some(0));
    refused_on_paper(&check((1 << 20) + 1), "--args has more than 1048576 bytes");
    let piped = |text: &str| -> Ran {
        let input = std::fs::File::open(put(&home, "piped.json", text.as_bytes())).expect("there");
        let mut command = home.command(&["workflow", "check", &file, "--args", "-"]);
        command.stdin(input).output().expect("it runs").into()
    };
    assert_eq!(piped("{\"x\":\"a\"}").code, Some(0));
    refused_on_paper(&piped("{\"y\":1}"), "y is unknown");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_long_text_is_listed_alone() -> anyhow::Result<()> {
    let llm = LlmServer::start().await?;
    let home = Home::new().model(&llm, Dialect::Chat, "");
    for (bytes, shown) in [(256 << 10, true), ((256 << 10) + 1, false)] {
        put(&home, "long.txt", &vec![b'x'; bytes]);
        llm.forget();
        llm.script([Turn::say("ok")]);
        let ran = home.run(&["run", &with(&home, "{ type: file, path: long.txt }")]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let text = llm.requests()[0].text();
        assert!(text.contains("\\\"bytes\\\":26214"), "it is listed");
        assert_eq!(text.contains("xxxx"), shown, "{bytes}");
    }
    Ok(())
}
