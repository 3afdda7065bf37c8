//! `[provider]`: what is asked for, what is refused at the start, and what takes effect.

use super::world::World;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use support::home::{Home, Ran};
use support::llm::{Dialect, Turn};

fn provider(lines: &str) -> Home {
    Home::new().config(&format!("[provider]\n{lines}"))
}

/// Exit code 2, nothing on stdout, and every one of these in what is said.
fn refused(ran: &Ran, said: &[&str]) {
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{said:?}: {ran:?}");
    for said in said {
        assert!(ran.stderr.contains(said), "{said:?} in {ran:?}");
    }
}

const LOOPBACK: &str = "kind = \"openai-chat\"\nbase_url = \"http://127.0.0.1:9/v1\"\nmodel = \"m\"\n";

#[test]
fn what_is_missing_or_wrong_is_refused_at_the_start() {
    for (lines, said) in [
        ("model = \"m\"\n", "[provider] model has no effect with kind = \"commands\""),
        ("kind = \"anthropic\"\n", "write the model's name"),
        ("kind = \"anthropic\"\nmodel = \"m\"\n", "there is no key for api.anthropic.com"),
        ("kind = \"openai-chat\"\nmodel = \"m\"\nbase_url = \"http://10.1.2.3/v1\"\n", "plain http"),
        ("kind = \"openai-chat\"\nmodel = \"m\"\napi_key = \"x\"\n", "unknown field `api_key`"),
        ("kind = \"anthropic\"\nmodel = \"m\"\napi_key_env = \"sk-ant-secret\"\n", "in capital letters"),
        (&format!("{LOOPBACK}accepts = [\"video/*\"]\n"), "\"video/*\" cannot be shown"),
        (&format!("{LOOPBACK}max_output_tokens = 0\n"), "max_output_tokens is 0"),
        (&format!("{LOOPBACK}max_output_tokens = 1000001\n"), "write a number from 1 to 1000000"),
    ] {
        for command in [&["tools"][..], &["chat"], &["serve"]] {
            let ran = provider(lines).run(command);
            refused(&ran, &[said]);
            assert!(!ran.stderr.contains("sk-ant-secret"), "{ran:?}");
        }
    }
    assert_eq!(provider(&format!("{LOOPBACK}max_output_tokens = 1000000\n")).run(&["tools"]).code, Some(0));
}

#[test]
fn what_the_key_and_the_instructions_lack_is_told_before_anything_starts() {
    for (lines, said) in [
        ("api_key_env = \"NO_SUCH_KEY\"\n", "the environment variable NO_SUCH_KEY is not set"),
        ("api_key_file = \"missing\"\n", "cannot read "),
        ("instructions_file = \"missing\"\n", "instructions_file: cannot read "),
    ] {
        let home = provider(&format!("{LOOPBACK}{lines}"));
        refused(&home.run(&["chat"]), &["[provider]", said]);
        assert_eq!(home.run(&["tools"]).code, Some(0), "nothing else needs them");
    }
    for (file, said) in [("/dev/zero", "it is not a regular file"), ("fifo", "it is not a regular file")] {
        let home = provider(&format!("{LOOPBACK}instructions_file = {file:?}\n"));
        mknodat(CWD, home.dir().join("fifo"), FileType::Fifo, Mode::from_raw_mode(0o600), 0).expect("ours");
        refused(&home.run(&["chat"]), &["instructions_file: cannot read ", said]);
    }
    let home = provider(&format!("{LOOPBACK}api_key_file = \"key\"\n"));
    let key = home.dir().join("key");
    fs::write(&key, "sk-secret").expect("writable");
    fs::set_permissions(&key, PermissionsExt::from_mode(0o644)).expect("ours");
    let ran = home.run(&["chat"]);
    refused(&ran, &["can be read by others (mode 644); run `chmod 600 "]);
    assert!(!ran.stderr.contains("sk-secret"), "{ran:?}");
}

#[test]
fn neither_the_key_nor_the_instructions_lie_where_tools_write() {
    for key in ["api_key_file", "instructions_file"] {
        let home = provider(&format!("{LOOPBACK}{key} = \"workspace/shared/x\"\n"));
        refused(&home.run(&["tools"]), &[&format!("[provider] {key}"), "/shared", "move it out of"]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_is_set_takes_effect() -> anyhow::Result<()> {
    for dialect in Dialect::ALL {
        let mut world =
            World::with(dialect, "max_output_tokens = 123\ninstructions_file = \"how.md\"\n").await?;
        fs::write(world.home.dir().join("how.md"), "Answer in verse.\n")?;
        world.llm.script([Turn::say("ok")]);
        assert_eq!(world.chat(&[], "hello\n"), "ok\n");
        let request = world.llm.requests().remove(0);
        let limits = ["max_tokens", "max_output_tokens"].map(|name| request.body[name].as_u64());
        assert!(limits.contains(&Some(123)), "{limits:?}");
        assert!(request.text().contains("Answer in verse."), "{}", request.text());
        world.end(1);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_server_on_loopback_needs_no_key_and_one_in_a_variable_is_found() -> anyhow::Result<()> {
    let world = World::of(Dialect::Chat).await?;
    let base_url = world.llm.base_url(Dialect::Chat);
    let lines = format!("kind = \"openai-chat\"\nbase_url = {base_url:?}\nmodel = \"m\"\n");
    let chat = |home: &Home, environment: &[(&str, &str)]| -> Ran {
        let lines = home.file("lines", b"hello\n");
        let mut command = home.command(&["chat"]);
        command.envs(environment.iter().copied()).stdin(fs::File::open(lines).expect("there"));
        command.output().expect("the program starts").into()
    };
    // Without a key it asks all the same; this server wants one.
    let ran = chat(&provider(&lines), &[]);
    assert!(ran.stdout.starts_with("The model does not accept this gateway's key"), "{ran:?}");
    assert_eq!(world.llm.requests()[0].header("authorization"), None);
    world.llm.script([Turn::say("ok"), Turn::say("ok")]);
    let keyed = provider(&format!("{lines}api_key_env = \"MY_KEY\"\n"));
    assert_eq!(chat(&keyed, &[("MY_KEY", world.llm.key())]).stdout, "ok\n");
    let set = [
        ("COFFERDAM_PROVIDER_API_KEY_ENV", "MY_KEY"),
        ("COFFERDAM_PROVIDER_MODEL", "n"),
        ("COFFERDAM_PROVIDER_ACCEPTS", "image/png, image/gif"),
        ("MY_KEY", world.llm.key()),
    ];
    assert_eq!(chat(&provider(&lines), &set).stdout, "ok\n");
    assert_eq!(world.llm.requests()[2].body["model"], "n");
    world.end(3);
    Ok(())
}
