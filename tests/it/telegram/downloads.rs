//! Downloads that go wrong on their way: what can heal is tried again, and what cannot is told in
//! the one answer, under the index that the file has. No part of a file is ever saved.

use super::world::{ANN, World, save};
use std::time::Duration;
use support::samples;
use support::telegram::{Fault, Incoming, Media, RedirectSink, Target};

/// More often than any download is tried.
const ALWAYS: usize = 9;

fn document(id: &str, bytes: &[u8]) -> Incoming {
    let media = Media::with_content(id, bytes.to_vec()).name(&format!("{id}.txt"));
    Incoming::private(ANN).document(media).caption(&save(0, &format!("/shared/{id}")))
}

/// The request that goes wrong.
#[derive(Clone, Copy)]
enum Request {
    Download,
    GetFile,
}

/// Lets each request go wrong so often, all at once in topics of their own, and returns the
/// answers.
async fn answers(
    world: &World,
    faults: Vec<(Request, &'static str, Fault)>,
    times: usize,
    bytes: &[u8],
) -> anyhow::Result<Vec<(&'static str, String)>> {
    let mut asked = Vec::new();
    for (topic, (request, id, fault)) in (1..).zip(faults) {
        let target = match request {
            Request::Download => Target::download_of(id),
            Request::GetFile => Target::method("getFile").with("file_id", id),
        };
        world.server.fault(target, times, fault);
        asked.push((id, world.server.push(document(id, bytes).thread(topic))));
    }
    let mut answers = Vec::new();
    for (id, question) in asked {
        answers.push((id, world.answer(&question).await?.text));
    }
    Ok(answers)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_heals_is_tried_again_and_saved_whole() -> anyhow::Result<()> {
    use Request::{Download, GetFile};
    let world = World::running().await?;
    let faults = vec![
        (Download, "cut", Fault::truncated(400_000)),
        (Download, "closed", Fault::close()),
        (Download, "closed_in_head", Fault::close_in_head()),
        (Download, "failing", Fault::internal_error()),
        (Download, "gateway", Fault::bad_gateway()),
        (Download, "expired", Fault::api_error(404, "Not Found")),
        (Download, "busy", Fault::too_many_requests(1)),
        (Download, "unsized", Fault::without_length()),
        (Download, "pieces", Fault::drip(50_000, Duration::from_millis(5))),
        (GetFile, "get_busy", Fault::too_many_requests(1)),
        (GetFile, "get_failing", Fault::internal_error()),
        (GetFile, "get_gateway", Fault::bad_gateway()),
        (GetFile, "get_closed", Fault::close()),
        (GetFile, "get_garbage", Fault::garbage()),
        (GetFile, "get_with_200", Fault::refused_with_200(500, "Internal Server Error")),
    ];
    let count = faults.len();
    // Larger than what is held in memory, so that a second attempt goes on in a spool file.
    let bytes = samples::jpeg(700_000);
    for (id, said) in answers(&world, faults, 1, &bytes).await? {
        assert!(said.contains(r#""saved":true"#), "{id}: {said}");
        assert!(world.saved(&format!("/shared/{id}")) == bytes, "{id}");
    }
    assert_eq!(world.server.remaining_faults(), 0);
    world.end(count)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_does_not_heal_is_told_under_its_index() -> anyhow::Result<()> {
    use Request::{Download, GetFile};
    let world = World::running().await?;
    let page = || Fault::status(200, "text/html", "<html>log in</html>");
    let too_big = || Fault::refused_with_200(400, "Bad Request: file is too big");
    let all = [
        (Download, "cut", Fault::truncated(3), "its download broke off; send it again"),
        (Download, "closed", Fault::close(), "its download broke off; send it again"),
        (Download, "empty", Fault::status(200, "text/plain", ""), "truncated: 0 of 15 bytes arrived"),
        (Download, "longer", Fault::overlong(5), "truncated: 20 of 15 bytes arrived"),
        (Download, "page", page(), "truncated: 19 of 15 bytes arrived"),
        (Download, "failing", Fault::internal_error(), "its download failed with HTTP status 500"),
        (Download, "forbidden", Fault::api_error(403, "no"), "its download failed with HTTP status 403"),
        (Download, "partial", Fault::status(206, "a/b", "0"), "its download failed with HTTP status 206"),
        (Download, "busy", Fault::too_many_requests(900), "its download failed with HTTP status 429"),
        (GetFile, "refused", Fault::api_error(400, "no"), "Telegram does not hand it out: no"),
        (GetFile, "wait", Fault::too_many_requests(900), "Telegram does not hand it out: too many requests"),
        (GetFile, "with_200", too_big(), "the file is too large for a bot"),
        (GetFile, "garbage", Fault::garbage(), "its download broke off; send it again"),
    ];
    let faults = all.iter().map(|(request, id, fault, _)| (*request, *id, fault.clone())).collect();
    let answers = answers(&world, faults, ALWAYS, b"0123456789abcde").await?;
    for ((.., reason), (id, said)) in all.iter().zip(answers) {
        let (notice, result) = said.split_once('\n').unwrap_or_else(|| panic!("{id}: {said}"));
        assert!(notice.starts_with(&format!("[0] {id}.txt: {reason}")), "{id}: {said}");
        assert!(result.starts_with("attachment_unavailable: "), "{id}: {said}");
        assert!(!world.home.host(&format!("/shared/{id}")).exists());
    }
    world.end(all.len())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_rest_of_an_album_keeps_its_places() -> anyhow::Result<()> {
    let world = World::running().await?;
    world.server.fault(Target::download_of("b"), ALWAYS, Fault::status(403, "text/html", "no"));
    let part = |id: &str| document(id, id.as_bytes()).media_group("g").without("caption");
    let said = world.server.push_all([part("a"), part("b"), part("c")]).remove(0);
    let listing = world.answer(&said).await?.text;
    let expected = "[1] b.txt: its download failed with HTTP status 403.\n3 files came:\n[0] a.txt text/plain (~1B)\n\
        [2] c.txt text/plain (~1B)\n";
    assert!(listing.starts_with(expected), "{listing}");
    // What failed once may be there now.
    world.server.clear_faults();
    let reply = Incoming::private(ANN).text(&save(1, "/shared/b")).reply_to(&said.message);
    assert!(world.ask(reply).await?.contains(r#""saved":true"#));
    assert_eq!(world.saved("/shared/b"), b"b");
    world.end(2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_redirect_is_not_followed_and_learns_nothing() -> anyhow::Result<()> {
    let world = World::running().await?;
    let sink = RedirectSink::start().await?;
    for (id, status) in [("a", 301), ("b", 302), ("c", 303), ("d", 307), ("e", 308)] {
        let fault = match status {
            302 => Fault::redirect(&sink.url()),
            _ => Fault::status(status, "text/html", ""),
        };
        world.server.fault(Target::download_of(id), ALWAYS, fault);
        let said = world.ask(document(id, b"content")).await?;
        assert!(
            said.contains("its download was redirected elsewhere, which is not followed"),
            "{status}: {said}"
        );
    }
    // Nor is one of a method: the answer to it is none.
    world.server.fault("getFile", 1, Fault::redirect(&sink.url()));
    world.server.fault("sendMessage", 1, Fault::redirect(&sink.url()));
    world.server.fault("getUpdates", 1, Fault::redirect(&sink.url()));
    let said = world.ask(document("f", b"content")).await?;
    assert!(said.contains(r#""saved":true"#), "{said}");
    assert_eq!(sink.received(), Vec::<String>::new());
    world.end(6)
}
