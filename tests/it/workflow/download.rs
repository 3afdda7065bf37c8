//! Attachments by address: what is fetched and how it is shown, what is never contacted, and what
//! stops a download.

use super::{PDF, PNG, put, refused_on_paper};
use serde_json::{Value, json};
use std::process::Stdio;
use std::time::{Duration, Instant};
use support::containing;
use support::files::{Answer, FileServer};
use support::home::{Home, Ran};
use support::llm::{Dialect, LlmServer, Turn};

/// A workflow whose agent has these attachments, after a task whose result they may name.
fn with(home: &Home, attachments: &str) -> String {
    let text = format!(
        "workflow: w\ninput: {{ properties: {{ at: {{ type: string }} }} }}\nagents: [{{ id: a, actions: [{{ id: b, prompt: c, attachments: [{attachments}] }}] }}]\n\
         tasks: [{{ id: first, tool: file_list, with: {{ path: /shared }} }}, {{ id: t, agent: a, action: b }}]\n"
    );
    put(home, "w.yaml", text.as_bytes())
}

fn blobs(home: &Home) -> Vec<std::fs::DirEntry> {
    let dir = std::fs::read_dir(home.state().join("blobs"));
    dir.map(|entries| entries.map(|entry| entry.expect("readable")).collect()).unwrap_or_default()
}

/// A home whose model sees pictures and PDF, and whose operator names the server's host.
fn home(llm: &LlmServer, files: &FileServer) -> Home {
    let accepts = "accepts = [\"image/*\", \"application/pdf\"]\n";
    let named = format!("[attachments]\nallowed_private_hosts = [{:?}]\n", files.host());
    Home::new().model(llm, Dialect::Anthropic, accepts).config(&named)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_downloaded_is_shown_as_a_local_file_is() -> anyhow::Result<()> {
    let (llm, files) = (LlmServer::start().await?, FileServer::start().await?);
    let home = home(&llm, &files);
    files.answer("/old.pdf", Answer::Redirect("/new.pdf?again=s3cret".to_owned()));
    files.answer("/new.pdf", Answer::Bytes(PDF.to_vec()));
    files.answer("/a.png", Answer::Chunks(PNG.to_vec()));
    files.answer("/a.wav", Answer::Bytes(b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0".to_vec()));
    let (pdf, png, wav) = (files.url("/old.pdf?k=s3cret"), files.url("/a.png"), files.url("/a.wav"));
    let attachments = format!(
        "{{ type: pdf, url: {pdf:?}, name: Handbook }}, {{ type: image, url: {png:?} }}, {{ type: audio, urls: [{wav:?}] }}, \
         {{ type: image, urls: [{png:?}], fetch: true }}, {{ type: image, url: \"https://nobody.example/b.png\" }}"
    );
    llm.script([Turn::say("seen")]);
    let file = with(&home, &attachments);
    let mut command = home.command(&["run", &file]);
    // No proxy of the environment is used: nobody listens there.
    for name in ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"] {
        command.env(name, "http://127.0.0.1:9");
    }
    let ran: Ran = command.env("COFFERDAM_LOG", "debug").output()?.into();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let requests = llm.requests();
    let user = requests[0].messages().iter().find(|message| message["role"] == "user").expect("a message");
    let parts = user["content"].as_array().expect("parts");
    let list = parts[1]["text"].as_str().expect("a list");
    let lines: Vec<Value> = list.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(
        lines,
        [
            json!({ "index": 0, "type": "pdf", "name": "Handbook", "mime_type": "application/pdf", "bytes": PDF.len(), "url": pdf }),
            json!({ "index": 1, "type": "image", "mime_type": "image/png", "bytes": PNG.len(), "url": png }),
            json!({ "index": 2, "type": "audio", "mime_type": "audio/wav", "bytes": 24, "url": wav }),
            json!({ "index": 3, "type": "image", "url": "https://nobody.example/b.png" }),
        ],
        "one that is asked for twice is fetched where either says so"
    );
    assert_eq!(parts.len(), 5, "{parts:?}");
    assert!(parts[2].to_string().contains("JVBERi0xLjcK") && parts[3].to_string().contains("iVBORw0KGgo"));
    assert!(parts[4].to_string().contains("https://nobody.example/b.png"));

    let asked = files.requests();
    let begins: Vec<&str> = asked.iter().filter_map(|request| request.lines().next()).collect();
    assert_eq!(begins, ["get /old.pdf?k=s3cret", "get /new.pdf?again=s3cret", "get /a.png", "get /a.wav"]);
    for header in ["cookie:", "referer:", "authorization:", "proxy-"] {
        assert!(asked.iter().all(|request| !request.contains(header)), "{header} in {asked:?}");
    }
    let audit = home.audit();
    let told = audit.iter().find(|record| record["task"] == "t").expect("a record");
    let (first, last) = (&told["attachments"][0], &told["attachments"][3]);
    assert_eq!(first["url"], format!("{}?[redacted]", files.url("/old.pdf")));
    assert_eq!((&first["bytes"], first["sha256"].as_str().map(str::len)), (&json!(PDF.len()), Some(64)));
    assert_eq!((&last["type"], last.get("sha256")), (&json!("image"), None));
    assert!(ran.stderr.contains("an attachment is downloaded") && !ran.stderr.contains("s3cret"), "{ran:?}");
    assert!(
        containing(&home.state(), b"s3cret")
            .iter()
            .all(|file| file.to_string_lossy().contains("cofferdam.db")),
        "the file as it was is kept, and no log has it"
    );
    assert!(blobs(&home).is_empty());
    Ok(())
}

/// An attachment, flags, the code, and what is said.
type Refusal = (String, Vec<&'static str>, &'static str, &'static str);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_download_that_may_not_be_fails_its_task() -> anyhow::Result<()> {
    let (llm, files, other) =
        (LlmServer::start().await?, FileServer::start().await?, FileServer::start().await?);
    let home = home(&llm, &files);
    files.answer("/a.pdf", Answer::Bytes(PDF.to_vec()));
    files.answer("/chunks.pdf", Answer::Chunks(PDF.to_vec()));
    files.answer("/a.png", Answer::Bytes(PNG.to_vec()));
    files.answer("/stalls.pdf", Answer::Stalls);
    files.answer("/elsewhere.pdf", Answer::Redirect(other.url("/a.pdf")));
    files.answer("/inside.pdf", Answer::Redirect("https://169.254.169.254/latest".to_owned()));
    files.answer("/circle.pdf", Answer::Redirect("/circle.pdf?k=s3cret".to_owned()));
    files.answer("/gone.pdf", Answer::Status(410));
    let pdf = |path: &str| format!("{{ type: pdf, url: {:?} }}", files.url(path));
    let plain = |url: &str| format!("{{ type: pdf, url: {url:?} }}");
    let refusals: Vec<Refusal> = vec![
        (
            plain("https://127.0.0.1/a.pdf?k=s3cret"),
            vec![],
            "network_denied",
            "allowed_private_hosts = [\"127.0.0.1:443\"]",
        ),
        (plain("https://[::ffff:10.0.0.1]/"), vec![], "network_denied", "not public (private)"),
        (plain("https://localhost/a.pdf"), vec![], "network_denied", "not public (loopback)"),
        (plain("https://example.com:8443/a.pdf"), vec![], "network_denied", "only 443 is contacted"),
        (
            "{ type: image, fetch: true, url: \"https://[fd00::1]/a.png\" }".to_owned(),
            vec![],
            "network_denied",
            "unique local",
        ),
        // What waits for a task is checked when that is done.
        (
            plain("http://{{ tasks.first.output.entries | length }}.example/"),
            vec![],
            "network_denied",
            "is not https",
        ),
        (pdf("/elsewhere.pdf"), vec![], "network_denied", "redirects, and http://127.0.0.1"),
        (pdf("/inside.pdf"), vec![], "network_denied", "not public (link-local)"),
        (pdf("/circle.pdf"), vec![], "network_denied", "redirects more than 3 times"),
        (pdf("/circle.pdf"), vec!["--attachments-max-redirects", "0"], "network_denied", "more than 0 times"),
        (pdf("/gone.pdf"), vec![], "attachment_unavailable", "HTTP status 410"),
        (
            pdf("/a.png"),
            vec![],
            "attachment_unavailable",
            "is image/png, and an attachment of type pdf may be application/pdf",
        ),
        (
            pdf("/a.pdf"),
            vec!["--attachments-max-download-size-bytes", "20"],
            "too_large",
            "has more than 20 bytes",
        ),
        (
            pdf("/chunks.pdf"),
            vec!["--attachments-max-download-size-bytes", "20"],
            "too_large",
            "more than 20 bytes",
        ),
        (pdf("/stalls.pdf"), vec!["--attachments-download-timeout", "200ms"], "timed_out", "within 200ms"),
        (
            format!("{}, {}", pdf("/a.pdf"), pdf("/chunks.pdf")),
            vec!["--attachments-max-download-size-bytes", "60", "--attachments-temp-dir-quota-bytes", "60"],
            "quota_exceeded",
            "temp_dir_quota_bytes = 60",
        ),
    ];
    for (attachments, flags, code, said) in refusals {
        let file = with(&home, &attachments);
        let ran = home.run(&[&["run", &file], &flags[..]].concat());
        let line = ran.json();
        let error = &line["tasks"][1]["error"];
        assert_eq!((ran.code, error["code"].as_str()), (Some(1), Some(code)), "{attachments}: {ran:?}");
        assert!(error["message"].as_str().expect("words").contains(said), "{said:?}: {line}");
        assert!(!error.to_string().contains("s3cret") && !ran.stderr.contains("s3cret"), "{ran:?}");
        assert!(blobs(&home).is_empty(), "{attachments}");
    }
    assert!(llm.requests().is_empty() && other.requests().is_empty(), "nobody was asked");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_that_is_wrong_on_paper_begins_nothing_and_a_check_contacts_nobody() -> anyhow::Result<()>
{
    let (llm, files) = (LlmServer::start().await?, FileServer::start().await?);
    let home = home(&llm, &files);
    for (url, said) in [
        ("http://example.com/a.pdf", "allowed_private_hosts = [\"example.com:80\"]"),
        ("https://me:s3cret@example.com/a.pdf", "comes with a user name or password"),
        ("https://2130706433/a.pdf", "its host is spelled unusually; write 127.0.0.1"),
        ("https://example.com./a.pdf", "its host is spelled unusually; write example.com"),
        ("ftp://example.com/a.pdf", "the scheme"),
        ("{{ input.at }}", "http://example.org/x is not https"),
    ] {
        for kind in ["type: pdf", "type: image, fetch: true"] {
            let file = with(&home, &format!("{{ {kind}, url: {url:?} }}"));
            for command in [&["run"][..], &["workflow", "check"]] {
                let ran = home.run(&[command, &[&file, "--input", "at=http://example.org/x"]].concat());
                refused_on_paper(&ran, said);
                assert!(ran.stderr.contains("w.yaml") && !ran.stderr.contains("s3cret"), "{ran:?}");
            }
        }
    }
    assert!(home.audit().is_empty() && !home.state().join("cofferdam.db").exists(), "nothing began");
    // Passed on as it is written, and contacted by nobody here.
    let told = format!(
        "{{ type: image, url: {:?} }}, {{ type: url, url: \"http://127.0.0.1:1/\" }}",
        files.url("/a.png")
    );
    assert_eq!(home.run(&["workflow", "check", &with(&home, &told)]).code, Some(0));
    let fetched = format!("{{ type: image, fetch: true, url: {:?} }}", files.url("/a.png"));
    let ran = home.run(&["workflow", "check", &with(&home, &fetched)]);
    assert_eq!(ran.json()["tasks"][1]["attachments"][0]["url"], files.url("/a.png"), "{ran:?}");
    let ran =
        home.run(&["workflow", "check", &with(&home, "{ type: pdf, url: \"https://10.0.0.1/a.pdf\" }")]);
    assert_eq!(
        (ran.code, &ran.json()["problems"][0]["code"]),
        (Some(3), &json!("network_denied")),
        "{ran:?}"
    );
    assert!(files.requests().is_empty() && llm.requests().is_empty());
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_is_stopped_while_it_downloads_leaves_nothing() -> anyhow::Result<()> {
    let (llm, files) = (LlmServer::start().await?, FileServer::start().await?);
    let home = home(&llm, &files);
    files.answer("/a.pdf", Answer::Stalls);
    let file = with(&home, &format!("{{ type: pdf, url: {:?} }}", files.url("/a.pdf")));
    let mut command = home.command(&["run", &file]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let until = Instant::now() + Duration::from_secs(60);
    while files.requests().is_empty() {
        anyhow::ensure!(Instant::now() < until, "nothing is downloaded");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), rustix::process::Signal::INT)?;
    let ran: Ran = child.wait_with_output()?.into();
    assert_eq!((ran.code, &ran.json()["state"]), (Some(1), &json!("interrupted")), "{ran:?}");
    assert!(blobs(&home).is_empty());
    files.answer("/a.pdf", Answer::Bytes(PDF.to_vec()));
    llm.script([Turn::say("seen")]);
    let id = ran.json()["run"].as_str().expect("an id").to_owned();
    let resumed = home.run(&["workflow", "resume", &id, "--json"]);
    assert_eq!((resumed.code, &resumed.json()["state"]), (Some(0), &json!("done")), "{resumed:?}");
    Ok(())
}
