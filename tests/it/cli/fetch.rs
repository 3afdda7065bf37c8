//! `tool fetch`: components of registries, by digest. What is not exactly that is refused and not
//! kept; what is kept is called without any network. What a signer must have signed is in
//! [`super::fetch_signed`].

use super::refused;
use serde_json::{Value, json};
use std::process::Command;
use std::time::{Duration, Instant};
use support::files::{Answer, FileServer};
use support::guests;
use support::home::{Home, Ran};
use support::registry::{Access, Fault, Registry, USER, digest};
use support::tls::{Authority, Validity};

pub(super) const NAME: &str = "acme/hello";
const POLICY: &str = "safety = \"read-only\"\n[arguments]\nname = \"value\"\n";

/// A gateway with one more tool, whose component is this.
pub(super) fn home(component: &str) -> Home {
    let text = format!(
        "schema = 1\ntool = \"hello\"\nprofile = \"file-read-only\"\nwhy = \"a test\"\ncomponent = {component}\n{POLICY}"
    );
    Home::new().policy("tools/hello.toml", &text)
}

pub(super) fn unsigned(reference: &str) -> Home {
    home(&format!("{{ oci = {reference:?} }}"))
}

pub(super) fn fetch(home: &Home, more: &[&str]) -> Ran {
    home.run(&[&["tool", "fetch", "--plain-http"], more].concat())
}

/// The names of what is kept of components.
fn kept(home: &Home) -> Vec<String> {
    let entries = std::fs::read_dir(home.state().join("components")).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().into_string().expect("text"));
    names.filter(|name| name != "lock").collect()
}

pub(super) fn sha256_of(reference: &str) -> &str {
    reference.split_once('@').expect("a digest").1
}

pub(super) fn at_blob(bytes: &[u8]) -> String {
    format!("{NAME}/blobs/{}", digest(bytes))
}

/// Asserts that nothing was fetched, and why.
pub(super) fn not_fetched(home: &Home, ran: &Ran, said: &str) {
    assert_eq!(ran.code, Some(1), "{said:?}: {ran:?}");
    assert!(ran.stderr.contains("not fetched: ") && ran.stderr.contains(said), "{said:?} in {ran:?}");
    assert!(!ran.stderr.contains("panicked") && ran.stdout.is_empty(), "{ran:?}");
    assert_eq!(kept(home), [""; 0], "{said:?}: nothing is kept");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_the_pinned_component_is_refused_and_nothing_is_kept() -> anyhow::Result<()> {
    let registry = Registry::start().await?;
    let bytes = guests::bytes("minimal");
    let reference = registry.push(NAME, &bytes);
    let home = unsigned(&reference);
    let manifest = format!("{NAME}/manifests/{}", sha256_of(&reference));
    let other = [&bytes[..bytes.len() - 1], b"x"].concat();
    let blob = at_blob(&bytes);
    for (path, fault, said) in [
        (&manifest, Fault::Status(404), "is not there (404)"),
        (&manifest, Fault::Status(403), "is refused (403)"),
        (&manifest, Fault::Status(429), "answered with status 429"),
        (&manifest, Fault::Status(500), "answered with status 500"),
        (
            &manifest,
            Fault::Bytes(b"{}".to_vec()),
            "has sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a, and not",
        ),
        (&manifest, Fault::Endless, "has more than 4194304 bytes"),
        (&manifest, Fault::Redirect(format!("/v2/{manifest}")), "leads on and on"),
        (&blob, Fault::Status(404), "is not there (404)"),
        (&blob, Fault::Bytes(other), "and not sha256:"),
        (&blob, Fault::Short, &format!("of {} bytes; try again", bytes.len())),
        (&blob, Fault::Breaks, "cannot be read: "),
        (&blob, Fault::Endless, &format!("has more than {} bytes", bytes.len())),
        (
            &blob,
            Fault::Redirect("http://127.0.0.1:1/b".to_owned()),
            "[network] allowed_private_hosts = [\"127.0.0.1:1\"]",
        ),
        (&blob, Fault::Redirect("https://169.254.169.254/b".to_owned()), "which is not public"),
        (&blob, Fault::Redirect("file:///etc/passwd".to_owned()), "the scheme file is not contacted"),
    ] {
        registry.fault(path, fault);
        not_fetched(&home, &fetch(&home, &[]), said);
        registry.mend();
    }
    let ran = fetch(&home, &[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_component_is_refused_by_its_manifest() -> anyhow::Result<()> {
    let registry = Registry::start().await?;
    let (bytes, module) = (guests::bytes("minimal"), b"\0asm\x01\0\0\0".as_slice());
    let layer = |kind: &str, bytes: &[u8]| json!({ "mediaType": kind, "digest": registry.blob(NAME, bytes), "size": bytes.len() });
    let wasm = layer("application/wasm", &bytes);
    let config = "application/vnd.wasm.config.v0+json";
    let huge = json!({ "mediaType": "application/wasm", "digest": digest(b""), "size": (96 << 20) + 1 });
    let index = json!({ "schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [] });
    let index = registry.manifest(NAME, None, "application/vnd.oci.image.index.v1+json", &index);
    for (reference, said) in [
        (
            registry.push_layers(
                NAME,
                "application/vnd.oci.image.config.v1+json",
                std::slice::from_ref(&wasm),
            ),
            "it is no component",
        ),
        (registry.push_layers(NAME, config, &[]), "it has 0 layers"),
        (registry.push_layers(NAME, config, &[wasm.clone(), wasm]), "it has 2 layers"),
        (registry.push_layers(NAME, config, &[layer("text/plain", &bytes)]), "its layer is text/plain"),
        (registry.push_layers(NAME, config, &[huge]), "at most 100663296 are taken"),
        (format!("{}/{NAME}@{index}", registry.host()), "an index of several manifests"),
        (registry.push(NAME, module), "is a core module, not a component"),
        (registry.push(NAME, b"no WebAssembly"), "is not a component"),
    ] {
        let home = unsigned(&reference);
        not_fetched(&home, &fetch(&home, &[]), said);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_stalls_is_not_waited_for_without_end() -> anyhow::Result<()> {
    let registry = Registry::start().await?;
    let bytes = guests::bytes("minimal");
    let reference = registry.push(NAME, &bytes);
    let home = unsigned(&reference);
    registry.fault(&at_blob(&bytes), Fault::Stalls);
    let started = Instant::now();
    not_fetched(&home, &fetch(&home, &["--timeout", "1s"]), "was not fetched within 1s");
    assert!(started.elapsed() >= Duration::from_secs(1));
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fetched_component_loads_and_runs_without_any_network() -> anyhow::Result<()> {
    let registry = Registry::start().await?;
    registry.access(Access::Token);
    let bytes = guests::bytes("minimal");
    let reference = registry.push(NAME, &bytes);
    let home = unsigned(&reference);
    let how = format!("run: cofferdam tool fetch {reference}");
    let ran = home.call(&["hello", "name=Ada"]);
    assert_eq!((ran.code, &*ran.error()), (Some(1), "tool_unavailable"), "{ran:?}");
    let checked = home.run(&["policy", "check"]);
    assert!(checked.code == Some(3) && checked.stdout.contains(&how), "{checked:?}");
    assert!(registry.requests().is_empty(), "nothing is fetched when tools load");

    let ran = fetch(&home, &["--json"]);
    let sha256 = guests::sha256(&bytes);
    let one = &ran.json()["components"][0];
    assert_eq!(
        (ran.code, &one["fetched"], &one["sha256"]),
        (Some(0), &true.into(), &sha256.as_str().into()),
        "{ran:?}"
    );
    assert_eq!(one["oci"], reference);
    assert_eq!(kept(&home).len(), 3);
    let asked = registry.requests().len();
    let again = fetch(&home, &["--json"]);
    assert_eq!(
        (again.code, &again.json()["components"][0]["fetched"]),
        (Some(0), &false.into()),
        "{again:?}"
    );
    assert_eq!(registry.requests().len(), asked, "what is there is not asked for");

    drop(registry);
    let checked = home.run(&["policy", "check"]);
    assert_eq!(checked.code, Some(0), "{checked:?}");
    let ran = home.call(&["hello", "name=Ada"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let last = home.audit().pop().expect("a record");
    assert!(last.to_string().contains(&sha256), "the audit names what ran: {last}");
    let replayed = home.run(&["audit", "replay", &last["seq"].to_string()]);
    assert_eq!(replayed.code, Some(0), "{replayed:?}");
    let shown = home.run(&["policy", "show", "hello"]);
    assert!(shown.stdout.contains(&format!("component {reference} sha256 {sha256}")), "{shown:?}");
    let seen = home.run(&["tool", "inspect", one["file"].as_str().expect("a file"), "--policy", "policies"]);
    assert_eq!(seen.code, Some(0), "it is the one that the policy pins: {seen:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_to_run_next_is_written_for_a_shell() -> anyhow::Result<()> {
    let registry = Registry::start().await?;
    let reference = registry.push(NAME, &guests::bytes("minimal"));
    let home = unsigned(&reference);
    let state = home.dir().join("it's $(touch owned); state");
    let mut command = home.command(&["tool", "fetch", "--plain-http"]);
    let ran = Ran::from(command.env("COFFERDAM_STATE_DIR", &state).output()?);
    let next = ran.stdout.lines().find_map(|line| line.strip_prefix("  look at it: cofferdam "));
    let next = next.unwrap_or_else(|| panic!("{ran:?}"));
    let mut shell = Command::new("sh");
    let read = shell.current_dir(home.dir()).args(["-c", &format!("printf '%s\\n' {next}")]).output()?;
    let name = format!("{}.wasm", sha256_of(&reference).replace(':', "-"));
    let file = state.join("components").join(name);
    assert!(file.exists(), "{ran:?}");
    assert_eq!(String::from_utf8(read.stdout)?, format!("tool\ninspect\n{}\n", file.display()), "{next}");
    assert!(!home.dir().join("owned").exists());
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_kept_and_was_changed_does_not_load() -> anyhow::Result<()> {
    let registry = Registry::start().await?;
    let reference = registry.push(NAME, &guests::bytes("minimal"));
    let home = unsigned(&reference);
    assert_eq!(fetch(&home, &[]).code, Some(0));
    let base = home.state().join("components").join(sha256_of(&reference).replace(':', "-"));
    for kind in ["json", "wasm"] {
        let file = base.with_extension(kind);
        let whole = std::fs::read(&file)?;
        let changed = [&whole[..whole.len() - 1], &[whole[whole.len() - 1] ^ 1]].concat();
        std::fs::write(&file, changed)?;
        let checked = home.run(&["policy", "check"]);
        let said = checked.code == Some(3) && checked.stdout.contains("was changed");
        assert!(said && checked.stdout.contains("tool fetch"), "{kind}: {checked:?}");
        assert_eq!(home.call(&["hello", "name=Ada"]).error(), "tool_unavailable");
        assert_eq!(fetch(&home, &[]).code, Some(0), "it is fetched again");
        assert_eq!(std::fs::read(&file)?, whole);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_asks_is_told_to_the_registry_alone_and_as_it_wants_it() -> anyhow::Result<()> {
    let registry = Registry::start().await?;
    let reference = registry.push(NAME, &guests::bytes("minimal"));
    for (access, credentials, refused) in [
        (Access::Strange, None, Some("wants to know who asks, neither by a token nor by a password")),
        (Access::TokenOfUser, None, Some("is refused (401)")),
        (Access::TokenOfUser, Some("robot:wrong-word"), Some("is refused (401)")),
        (Access::User, None, Some("is refused (401)")),
        (Access::User, Some("robot:wrong-word"), Some("is refused (401)")),
        (Access::Token, None, None),
        (Access::Token, Some(USER), None),
        (Access::TokenOfUser, Some(USER), None),
        (Access::User, Some(USER), None),
        (Access::Anyone, Some(USER), None),
    ] {
        registry.access(access);
        let home = unsigned(&reference);
        let before = registry.requests().len();
        let mut command = home.command(&["tool", "fetch", "--plain-http"]);
        if let Some(credentials) = credentials {
            command.args(["--credentials-env", "REGISTRY_USER"]).env("REGISTRY_USER", credentials);
        }
        let ran = Ran::from(command.output()?);
        assert!(!format!("{ran:?}").contains("-word"), "no password is told: {ran:?}");
        match refused {
            Some(said) => not_fetched(&home, &ran, said),
            None => assert_eq!(ran.code, Some(0), "{access:?}: {ran:?}"),
        }
        let asked = registry.requests().split_off(before);
        let told = |request: &String| request.contains("authorization: basic");
        let where_it_may = |request: &&String| access == Access::User || request.starts_with("get /token");
        assert!(asked.iter().filter(|r| told(r)).all(|r| where_it_may(&r)), "{access:?}: {asked:?}");
        let scope = "scope=repository%3aacme%2fhello%3apull";
        assert!(asked.iter().filter(|r| r.starts_with("get /token")).all(|r| r.contains(scope)), "{asked:?}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_server_that_the_registry_names_is_asked_under_the_rules_for_others() -> anyhow::Result<()> {
    let (registry, files, tokens) =
        (Registry::start().await?, FileServer::start().await?, FileServer::start().await?);
    let bytes = guests::bytes("minimal");
    let reference = registry.push(NAME, &bytes);
    registry.access(Access::Token);
    registry.realm(&tokens.url("/token"));
    let token = json!({ "access_token": guests::sha256(format!("repository:{NAME}:pull").as_bytes()) });
    tokens.answer("/token", Answer::Bytes(token.to_string().into_bytes()));
    registry.fault(&at_blob(&bytes), Fault::Redirect(files.url("/bytes?signature=s3cret")));
    files.answer("/bytes", Answer::Chunks(bytes.clone()));

    let home = unsigned(&reference);
    not_fetched(
        &home,
        &fetch(&home, &[]),
        &format!("[network] allowed_private_hosts = [{:?}]", tokens.host()),
    );
    let allowed = |hosts: &[&str]| {
        unsigned(&reference).config(&format!("[network]\nallowed_private_hosts = {hosts:?}\n"))
    };
    let home = allowed(&[tokens.host()]);
    let ran = fetch(&home, &[]);
    not_fetched(&home, &ran, &format!("[network] allowed_private_hosts = [{:?}]", files.host()));
    assert!(!ran.stderr.contains("s3cret"), "{ran:?}");
    let home = allowed(&[tokens.host(), files.host()]);
    let mut command = home.command(&["tool", "fetch", "--plain-http", "--credentials-env", "REGISTRY_USER"]);
    let ran = Ran::from(command.env("REGISTRY_USER", USER).output()?);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        tokens.requests().iter().any(|r| r.contains("authorization: basic")),
        "whom the registry names for it"
    );
    assert!(!files.requests().is_empty() && files.requests().iter().all(|r| !r.contains("authorization")));
    // A redirect is not told who asks.
    tokens.answer("/elsewhere", Answer::Bytes(token.to_string().into_bytes()));
    tokens.answer("/token", Answer::Redirect(tokens.url("/elsewhere")));
    let home = allowed(&[tokens.host(), files.host()]);
    let mut command = home.command(&["tool", "fetch", "--plain-http", "--credentials-env", "REGISTRY_USER"]);
    let ran = Ran::from(command.env("REGISTRY_USER", USER).output()?);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let last = tokens.requests().pop().expect("asked");
    assert!(last.starts_with("get /elsewhere") && !last.contains("authorization"), "{last}");
    for (answer, said) in [
        (Answer::Bytes(b"{}".to_vec()), "gave no token"),
        (Answer::Bytes(b"{\"token\": \"a\\nb\"}".to_vec()), "gave no token"),
        (Answer::Bytes(vec![b' '; 64 * 1024 + 1]), "has more than 65536 bytes"),
        (Answer::Status(503), "503"),
    ] {
        let home = allowed(&[tokens.host(), files.host()]);
        tokens.answer("/token", answer);
        not_fetched(&home, &fetch(&home, &[]), said);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_registry_is_asked_over_tls_that_the_operator_trusts() -> anyhow::Result<()> {
    let (registry, ours) = (Registry::start().await?, Authority::new()?);
    let front = ours.before(registry.host(), "127.0.0.1", Validity::Good).await?;
    let reference = registry.push(NAME, &guests::bytes("minimal")).replace(registry.host(), &front.host());
    let home = unsigned(&reference);
    let trusting = |mut command: Command| -> anyhow::Result<Ran> {
        command.env("COFFERDAM_NETWORK_CA_FILE", home.file("ca.pem", ours.pem().as_bytes()));
        Ok(command.output()?.into())
    };
    not_fetched(&home, &home.run(&["tool", "fetch"]), "UnknownIssuer");
    assert!(registry.requests().is_empty(), "nobody was asked");
    let ran = trusting(home.command(&["tool", "fetch"]))?;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    // In the clear only where that was asked for.
    let plain = unsigned(&registry.push(NAME, &guests::bytes("minimal")));
    not_fetched(&plain, &plain.run(&["tool", "fetch"]), "if it speaks plain http, add --plain-http");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fetch_that_is_killed_leaves_nothing_that_would_load() -> anyhow::Result<()> {
    let registry = Registry::start().await?;
    let bytes = guests::bytes("minimal");
    let reference = registry.push(NAME, &bytes);
    let home = unsigned(&reference);
    registry.fault(&at_blob(&bytes), Fault::Stalls);
    let mut running = home.command(&["tool", "fetch", "--plain-http"]).spawn()?;
    let blob = format!("/v2/{}", at_blob(&bytes));
    let started = Instant::now();
    while !registry.requests().iter().any(|request| request.contains(&blob)) {
        assert!(started.elapsed() < Duration::from_secs(30), "the blob is never asked for");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    running.kill()?;
    running.wait()?;
    assert_eq!(kept(&home), [""; 0]);
    assert_eq!(home.call(&["hello", "name=Ada"]).error(), "tool_unavailable");
    registry.mend();
    assert_eq!(fetch(&home, &[]).code, Some(0));
    assert_eq!(home.call(&["hello", "name=Ada"]).code, Some(0));
    Ok(())
}

#[test]
fn what_names_no_component_is_refused_before_anybody_is_asked() {
    let home = Home::new();
    let hex = "0".repeat(64);
    let of = |name: &str| format!("{name}@sha256:{hex}");
    let (one, two) = (of("a.test/a"), of("b.test/a"));
    let empty = home.file("empty.pub", b"");
    for (arguments, said) in [
        (vec!["ghcr.io/acme/hello:1.0"], "names no digest"),
        (vec!["acme/hello"], "names no digest"),
        (vec![&*one, "--timeout", "0"], "not a duration"),
        (vec![&*one, "--timeout", "2d"], "at most 1h"),
        (vec![&*one, "--signer", "missing.pub"], "cannot read missing.pub"),
        (vec![&*one, "--signer", &empty], "neither a P-256 nor an Ed25519 public key"),
        (vec!["--signer", &empty], "REF"),
        (vec![&*one, "--credentials-env", "NO_SUCH"], "there is no such variable"),
        (vec![&*one, "--credentials-env", "HOME"], "does not hold USER:PASSWORD"),
        (vec![&*one, &*two, "--credentials-env", "HOME"], "is for one registry"),
        (vec!["--policies", "missing"], "missing"),
    ] {
        refused(&home.run(&[&["tool", "fetch"], &arguments[..]].concat()), &[said]);
    }
    let none = home.run(&["tool", "fetch"]);
    assert!(none.code == Some(0) && none.stderr.contains("no policy names a component"), "{none:?}");
    let none = home.run(&["tool", "fetch", "--json"]);
    assert_eq!(none.json(), json!({ "components": Value::from(Vec::<Value>::new()) }));
}
