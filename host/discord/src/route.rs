//! The routes of the REST API that the bot uses, each with the place that its bucket is of.

use super::wire::{Interaction, Snowflake};
use reqwest::{Method, Url};

/// A request's verb and path.
#[derive(Clone, Debug)]
pub(super) struct Route {
    pub(super) verb: Method,
    /// Verb and path with `{}` in place of ids: what a bucket is of, and what the log may hold.
    pub(super) name: &'static str,
    /// The channel, or the application and token, that the bucket is of.
    pub(super) place: String,
    path: Vec<String>,
    pub(super) authority: Authority,
}

/// What makes Discord take a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Authority {
    /// The bot's token in a header.
    Bot,
    /// The token of an interaction, in the path.
    Interaction,
    /// The same for its first answer, which no limit counts.
    Callback,
}

pub(super) const ME: &str = "GET users/@me";
pub(super) const APPLICATION: &str = "GET applications/@me";
pub(super) const GATEWAY: &str = "GET gateway/bot";
pub(super) const OPEN_PRIVATE: &str = "POST users/@me/channels";
pub(super) const COMMANDS: &str = "GET applications/{}/commands";
pub(super) const SET_COMMANDS: &str = "PUT applications/{}/commands";
pub(super) const CREATE: &str = "POST channels/{}/messages";
pub(super) const MESSAGE: &str = "GET channels/{}/messages/{}";
pub(super) const MESSAGES: &str = "GET channels/{}/messages";
pub(super) const EDIT: &str = "PATCH channels/{}/messages/{}";
pub(super) const DELETE: &str = "DELETE channels/{}/messages/{}";
pub(super) const TYPING: &str = "POST channels/{}/typing";
pub(super) const EDIT_ANSWER: &str = "PATCH webhooks/{}/{}/messages/@original";
pub(super) const DELETE_ANSWER: &str = "DELETE webhooks/{}/{}/messages/@original";

impl Route {
    /// The first answer to an interaction.
    pub(super) fn answer(of: &Interaction) -> Self {
        let ids = [of.id.to_string(), of.token.clone()];
        Self::new("POST interactions/{}/{}/callback", &ids, Authority::Callback)
    }

    /// What the answer to a command is changed or taken away by: [`EDIT_ANSWER`] or
    /// [`DELETE_ANSWER`].
    pub(super) fn on_answer(name: &'static str, of: &Interaction) -> Self {
        let ids = [of.application.to_string(), of.token.clone()];
        Self { place: ids.join("/"), ..Self::new(name, &ids, Authority::Interaction) }
    }

    /// One of these, which the bot's token opens, with its ids.
    pub(super) fn bot(name: &'static str, ids: &[Snowflake]) -> Self {
        let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
        Self::new(name, &ids, Authority::Bot)
    }

    /// The first id is that of the place.
    fn new(name: &'static str, ids: &[String], authority: Authority) -> Self {
        let (verb, path) = name.split_once(' ').unwrap_or(("GET", name));
        let mut left = ids.iter();
        let step = |step: &str| match step {
            "{}" => left.next().cloned().unwrap_or_default(),
            step => step.to_owned(),
        };
        let path = path.split('/').map(step).collect();
        let verb = Method::from_bytes(verb.as_bytes()).unwrap_or_default();
        Self { verb, name, place: ids.first().cloned().unwrap_or_default(), path, authority }
    }

    /// What a server has said, without the token of the interaction, which is the second id of the
    /// path.
    pub(super) fn scrub(&self, said: &str) -> String {
        match (self.authority, self.path.get(2)) {
            (Authority::Callback | Authority::Interaction, Some(token)) => said.replace(token, "***"),
            _ => said.to_owned(),
        }
    }

    /// The address below a base; each step is percent-encoded, slashes within it, too.
    pub(super) fn url(&self, base: &Url) -> Url {
        let mut url = base.clone();
        url.path_segments_mut().expect("an http URL has a path").pop_if_empty().extend(&self.path);
        url
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_keep_the_base_and_know_their_bucket() {
        let base = Url::parse("http://127.0.0.1:8/api/v10").expect("an address");
        let check = |route: Route, verb: &str, path: &str, place: &str| {
            let url = route.url(&base);
            assert_eq!((route.verb.as_str(), url.path(), route.place.as_str()), (verb, path, place));
        };
        let of =
            |token: &str| Interaction { id: 5, application: 6, token: token.into(), acknowledged: false };
        check(Route::bot(ME, &[]), "GET", "/api/v10/users/@me", "");
        check(Route::bot(EDIT, &[5, 6]), "PATCH", "/api/v10/channels/5/messages/6", "5");
        check(Route::answer(&of("a/b?")), "POST", "/api/v10/interactions/5/a%2Fb%3F/callback", "5");
        let tok = of("tok");
        let edit = Route::on_answer(EDIT_ANSWER, &tok);
        for route in [&Route::answer(&tok), &edit, &Route::on_answer(DELETE_ANSWER, &tok)] {
            assert_eq!(route.scrub("no webhook 6/tok"), "no webhook 6/***");
        }
        assert_eq!(Route::bot(EDIT, &[5, 6]).scrub("6 is not there"), "6 is not there");
        check(edit, "PATCH", "/api/v10/webhooks/6/tok/messages/@original", "6/tok");
    }
}
