//! The routes of the REST API that the bot uses, each with the place that its bucket is of.

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

/// A snowflake.
pub(super) type Id = i64;

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

impl Route {
    pub(super) fn answer(interaction: Id, token: &str) -> Self {
        let ids = [interaction.to_string(), token.to_owned()];
        Self::new("POST interactions/{}/{}/callback", &ids, Authority::Callback)
    }

    pub(super) fn edit_answer(application: Id, token: &str) -> Self {
        let ids = [application.to_string(), token.to_owned()];
        let name = "PATCH webhooks/{}/{}/messages/@original";
        Self { place: ids.join("/"), ..Self::new(name, &ids, Authority::Interaction) }
    }

    pub(super) fn delete_answer(application: Id, token: &str) -> Self {
        let ids = [application.to_string(), token.to_owned()];
        let name = "DELETE webhooks/{}/{}/messages/@original";
        Self { place: ids.join("/"), ..Self::new(name, &ids, Authority::Interaction) }
    }

    /// One of these, which the bot's token opens, with its ids.
    pub(super) fn bot(name: &'static str, ids: &[Id]) -> Self {
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

    /// The address below a base; each step is percent-encoded, slashes within it, too.
    pub(super) fn below(&self, base: &Url) -> Url {
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
            let url = route.below(&base);
            assert_eq!((route.verb.as_str(), url.path(), route.place.as_str()), (verb, path, place));
        };
        check(Route::bot(ME, &[]), "GET", "/api/v10/users/@me", "");
        check(Route::bot(EDIT, &[5, 6]), "PATCH", "/api/v10/channels/5/messages/6", "5");
        check(Route::answer(5, "a/b?"), "POST", "/api/v10/interactions/5/a%2Fb%3F/callback", "5");
        check(Route::edit_answer(5, "tok"), "PATCH", "/api/v10/webhooks/5/tok/messages/@original", "5/tok");
    }
}
