//! The CDN: signed links, their end, and everything that goes wrong with downloads.

use std::time::Duration;

use super::client::Rest;
use crate::discord::{DiscordServer, Fault, Hold, Incoming, Media, Pushed, RedirectSink, Target};

async fn with_file() -> (DiscordServer, Rest, Pushed) {
    let server = DiscordServer::start().await.unwrap();
    let pushed = server.push(Incoming::private(7).attachment(Media::new("a.txt", "0123456789")));
    let rest = Rest::new(&server).await;
    (server, rest, pushed)
}

fn url(pushed: &Pushed) -> String {
    pushed.message["attachments"][0]["url"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn links_that_are_over_or_forged_are_refused() {
    let (server, mut rest, pushed) = with_file().await;
    let url = url(&pushed);
    assert!(url.starts_with("https://cdn.discordapp.com/attachments/"), "{url}");
    let (bare, _) = url.split_once('?').unwrap();
    for forged in [
        bare.to_owned(),
        url.replace("&hm=", "&hm=0"),
        url.replace("?ex=", "?ex=f"),
        url.replace("a.txt", "b.txt"),
    ] {
        assert_eq!(rest.download(&forged).await.status, 404, "{forged}");
    }
    assert_eq!(rest.download(&url).await.body, b"0123456789");
    server.advance(Duration::from_secs(24 * 60 * 60));
    assert_eq!(rest.download(&url).await.status, 404);
    server.set_expired_status(403);
    assert_eq!(rest.download(&url).await.status, 403);
    let path = format!("/channels/{}/messages/{}", pushed.channel_id, pushed.message_id);
    let fresh = |reply: crate::exchange::client::Reply| {
        reply.json()["attachments"][0]["url"].as_str().unwrap().to_owned()
    };
    let renewed = fresh(rest.get(&path).await);
    assert_eq!(rest.download(&renewed).await.body, b"0123456789");
    server.expire_links();
    assert_eq!(rest.download(&renewed).await.status, 403);
    let renewed = fresh(rest.get(&path).await);
    assert_eq!(rest.download(&renewed).await.status, 200);
    assert!(server.remove_file(pushed.attachments[0]));
    assert_eq!(rest.download(&renewed).await.status, 404);
}

#[tokio::test]
async fn downloads_go_wrong_as_planned() {
    let (server, mut rest, pushed) = with_file().await;
    let (url, id) = (url(&pushed), pushed.attachments[0].to_string());
    let sink = RedirectSink::start().await.unwrap();
    server.fault(Target::download_of(&id), 1, Fault::redirect(&sink.url()));
    server.fault(Target::download_of(&id), 1, Fault::server_error(503));
    server.fault(Target::download_of(&id), 1, Fault::overlong(5));
    server.fault(Target::download_of("1"), 1, Fault::close());
    assert_eq!(rest.download(&url).await.header("location"), Some(&*sink.url()));
    assert_eq!(rest.download(&url).await.status, 503);
    assert_eq!(rest.download(&url).await.body, b"0123456789     ");
    assert_eq!(server.remaining_faults(), 1);
    server.fault(Target::download(), 1, Fault::truncated(4));
    let path = url.strip_prefix("https://cdn.discordapp.com").unwrap();
    rest.ask("GET", path, None).await;
    assert!(rest.rest().await.ends_with("\r\n\r\n0123"));
    let record = &server.requests(Target::download_of(&id))[0];
    assert!(record.header("authorization").is_some(), "headers are recorded");
    let mut rest = Rest::new(&server).await;
    let gate = server.gate(Target::download(), Hold::InBody(3));
    rest.ask("GET", path, None).await;
    gate.reached().await.unwrap();
    gate.discard();
    assert!(rest.rest().await.ends_with("\r\n\r\n012"));
}

#[tokio::test]
async fn large_and_lying_files_are_served_as_they_are() {
    let server = DiscordServer::start().await.unwrap();
    let mut rest = Rest::new(&server).await;
    let media = [
        Media::repeated("large.bin", b'x', 300_000),
        Media::new("small.bin", "abc").size(5_000_000_000),
        Media::announced("gone.bin", 5),
        Media::new("../../odd näme.TXT", "x").without("content_type"),
    ];
    let pushed = server.push(media.into_iter().fold(Incoming::private(7), Incoming::attachment));
    let attachments = pushed.message["attachments"].as_array().unwrap();
    let link = |n: usize| attachments[n]["url"].as_str().unwrap();
    assert_eq!(rest.download(link(0)).await.body.len(), 300_000);
    assert_eq!(
        (&attachments[1]["size"], rest.download(link(1)).await.body.len()),
        (&5_000_000_000_u64.into(), 3)
    );
    assert_eq!(rest.download(link(2)).await.status, 404);
    assert_eq!(
        (&attachments[3]["filename"], attachments[3].get("content_type")),
        (&"odd_nme.TXT".into(), None)
    );
    assert_eq!(rest.download(link(3)).await.body, b"x");
}
