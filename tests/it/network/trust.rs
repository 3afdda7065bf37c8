//! Whom the gateway trusts over TLS: the public authorities, and those that the operator names. A
//! certificate of anybody else's, of another host, or whose time is over, is refused whatever asks.

use super::pages::fetching;
use super::server::{Server, ok};
use anyhow::Context;
use serde_json::Value;
use std::process::Command;
use std::time::Duration;
use support::files::{Answer, FileServer};
use support::home::{Home, Ran};
use support::llm::{Dialect, LlmServer, Turn};
use support::serving::Serving;
use support::telegram::TelegramServer;
use support::tls::{Authority, Validity};

const PDF: &[u8] = b"%PDF-1.7\n1 0 obj\n<<>>\nendobj\ntrailer\n<<>>\n%%EOF\n";

/// A variable with the file of an authority, beside the configuration.
fn trusting(home: &Home, mut command: Command, authority: Option<&Authority>) -> anyhow::Result<Ran> {
    if let Some(authority) = authority {
        command.env("COFFERDAM_NETWORK_CA_FILE", home.file("ca.pem", authority.pem().as_bytes()));
    }
    Ok(command.output()?.into())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_download_is_taken_from_whoever_the_operators_authority_vouches_for_and_nobody_else()
-> anyhow::Result<()> {
    let (llm, files) = (LlmServer::start().await?, FileServer::start().await?);
    files.answer("/a.pdf", Answer::Bytes(PDF.to_vec()));
    let (ours, others) = (Authority::new()?, Authority::new()?);
    for (name, validity, trusted, refused) in [
        ("127.0.0.1", Validity::Good, None, Some("UnknownIssuer")),
        // It has the same name, and another key.
        ("127.0.0.1", Validity::Good, Some(&others), Some("BadSignature")),
        ("127.0.0.2", Validity::Good, Some(&ours), Some("not valid for name")),
        ("files.test", Validity::Good, Some(&ours), Some("not valid for name")),
        ("127.0.0.1", Validity::Over, Some(&ours), Some("expired")),
        ("127.0.0.1", Validity::Good, Some(&ours), None),
    ] {
        let front = ours.before(files.host(), name, validity).await?;
        let home = Home::new()
            .model(&llm, Dialect::Anthropic, "accepts = [\"application/pdf\"]\n")
            .config(&format!("[attachments]\nallowed_private_hosts = [{:?}]\n", front.host()));
        let text = format!(
            "workflow: w\nagents: [{{ id: a, actions: [{{ id: b, prompt: c, attachments: [{{ type: pdf, url: {:?} }}] }}] }}]\n\
             tasks: [{{ id: t, agent: a, action: b }}]\n",
            front.url("/a.pdf?k=s3cret")
        );
        llm.script([Turn::say("seen")]);
        let run = home.command(&["run", &home.file("w.yaml", text.as_bytes())]);
        let (before, asked) = (files.requests().len(), llm.requests().len());
        let ran = trusting(&home, run, trusted)?;
        let error = &ran.json()["tasks"][0]["error"];
        let Some(said) = refused else {
            assert_eq!(ran.code, Some(0), "{ran:?}");
            assert_eq!((files.requests().len(), llm.requests().len()), (before + 1, asked + 1));
            continue;
        };
        assert_eq!((ran.code, &error["code"]), (Some(1), &"attachment_unavailable".into()), "{ran:?}");
        let message = error["message"].as_str().context("words")?;
        assert!(message.contains(said) && !message.contains("s3cret"), "{name} {validity:?}: {message}");
        assert_eq!((files.requests().len(), llm.requests().len()), (before, asked), "nobody was asked");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_is_read_over_tls_from_whom_the_operator_trusts() -> anyhow::Result<()> {
    let server = Server::saying(ok("Content-Type: text/html\r\n", b"<h1>Head</h1>"));
    let ours = Authority::new()?;
    let front = ours.before(&server.host(), "127.0.0.1", Validity::Good).await?;
    let home = fetching(&front.host());
    let url = format!("url={}", front.url("/page"));
    let ran = home.call(&["web_fetch", &url]);
    assert!(ran.code == Some(1) && ran.message().contains("UnknownIssuer"), "{ran:?}");
    assert!(server.asked().is_empty(), "nobody was asked");
    let ran = trusting(&home, home.command(&["call", "web_fetch", &url]), Some(&ours))?;
    assert_eq!((ran.code, &ran.json()["content"]), (Some(0), &"# Head".into()), "{ran:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bots_and_models_are_trusted_by_the_same_authorities() -> anyhow::Result<()> {
    let (telegram, llm, ours) =
        (TelegramServer::start().await?, LlmServer::start().await?, Authority::new()?);
    let address = |url: &str| url.trim_start_matches("http://").to_owned();
    let bot = ours.before(&address(&telegram.api_url()), "127.0.0.1", Validity::Good).await?;
    let model = llm.base_url(Dialect::Anthropic);
    let model = ours.before(&address(&model), "127.0.0.1", Validity::Good).await?;
    let home = Home::new().telegram(&bot.url(""), &[1]).model(&llm, Dialect::Anthropic, "");
    let base_url = model.url("");
    let doctor = || {
        let mut command = home.command(&["doctor", "--json"]);
        command.env("TELEGRAM_BOT_TOKEN", telegram.token()).env("COFFERDAM_PROVIDER_BASE_URL", &base_url);
        command
    };
    let ran = trusting(&home, doctor(), None)?;
    assert_eq!((ran.code, &ran.json()["network"]["telegram"]["bot"]), (Some(3), &Value::Null), "{ran:?}");
    assert_eq!(ran.json()["network"]["model"]["key"], Value::Null, "{ran:?}");
    assert!(telegram.requests("getMe").is_empty() && llm.requests().is_empty(), "nobody was asked");

    let network = trusting(&home, doctor(), Some(&ours))?.json()["network"].clone();
    assert!(network["telegram"]["bot"].is_string() && network["model"]["key"].is_string(), "{network}");
    assert_eq!(network["own_authorities"], 1, "{network}");

    let ca_file = home.file("ca.pem", ours.pem().as_bytes());
    let with = [("COFFERDAM_NETWORK_CA_FILE", &*ca_file), ("COFFERDAM_PROVIDER_BASE_URL", &*base_url)];
    let serving = Serving::launch(&home, telegram.token(), &[], &with)?.polling()?;
    telegram.wait_for_requests(Duration::from_secs(30), "getUpdates", 1).await?;
    serving.kill();
    Ok(())
}

#[test]
fn a_file_of_authorities_that_is_none_is_refused_before_anything_begins() {
    let broken = "-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----\n";
    let large = "x".repeat((1 << 20) + 1);
    for (text, said) in [
        (None, "No such file"),
        (Some(""), "holds no certificate"),
        (Some("-----BEGIN PRIVATE KEY-----\naGVsbG8=\n-----END PRIVATE KEY-----\n"), "holds no certificate"),
        (Some(broken), "is malformed"),
        (Some(large.as_str()), "has more than 1048576 bytes"),
    ] {
        let home = Home::new().config("[network]\nca_file = \"own.pem\"\n");
        if let Some(text) = text {
            home.file("own.pem", text.as_bytes());
        }
        let ran = home.run(&["tools"]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains("cofferdam.toml:") && ran.stderr.contains("own.pem"), "{ran:?}");
        assert!(ran.stderr.contains(said), "{said}: {ran:?}");
    }
    // Nobody waits for the other end of a FIFO.
    for engine in ["", "[store]\nengine = \"postgres\"\nurl_env = \"DATABASE_URL\"\n"] {
        let home = Home::new().config(&format!("[network]\nca_file = \"own.pem\"\n{engine}"));
        let pipe = home.dir().join("own.pem");
        rustix::fs::mkfifoat(rustix::fs::CWD, pipe, 0o600.into()).expect("ours");
        let mut command = home.command(&["tools"]);
        let ran =
            Ran::from(command.env("DATABASE_URL", "postgres://u@localhost/d").output().expect("it starts"));
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains("own.pem") && ran.stderr.contains("not a regular file"), "{ran:?}");
    }
    // Where a tool could put authorities of its own.
    let home = Home::new();
    let home = home.config("[network]\nca_file = \"workspace/shared/ca.pem\"\n");
    assert!(home.run(&["tools"]).stderr.contains("ca_file"), "it lies where tools write");
}
