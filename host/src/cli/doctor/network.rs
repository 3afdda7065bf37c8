//! Whether the bot's token and the model's key are accepted, and whether the clock is right: one
//! request without effect to each server, side by side. `getUpdates` is never asked for, because
//! that would take messages away.

use super::finding::DoctorFinding;
use crate::config::Config;
use cofferdam_agent::llm::{self, KeyStanding, ModelStanding, Probed, ServerFacts};
use cofferdam_agent::server::{MissingSecret, UnusableKey};
use cofferdam_chat::setup::{BotFacts, LIMITED, Obstacle, ProbeError};
use cofferdam_core::text::one_line;
use cofferdam_discord as discord;
use cofferdam_egress::authority_count;
use cofferdam_telegram as telegram;
use serde::Serialize;
use std::path::Path;
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

/// A server that has not answered by then is not reached.
const PROBE_TIME_MAX: Duration = Duration::from_secs(10);
/// Where another token of a bot is made.
const OTHER_TELEGRAM: &str = "ask @BotFather: /mybots, API Token";
const OTHER_DISCORD: &str = "Discord's Developer Portal: Bot, Reset Token";
/// A clock that is off by more makes certificates, budgets and the audit's times doubtful.
const SKEW_SECONDS_MAX: i64 = 60;

#[derive(Serialize)]
pub(super) struct NetworkReport {
    /// Nobody was contacted.
    offline: bool,
    /// How many authorities of the operator's own are trusted; not there without `ca_file`.
    #[serde(skip_serializing_if = "Option::is_none")]
    own_authorities: Option<usize>,
    /// None without such a channel, or offline.
    telegram: Option<BotReport>,
    /// The same of Discord; not there without such a channel.
    #[serde(skip_serializing_if = "Option::is_none")]
    discord: Option<BotReport>,
    /// None without a model, or offline.
    model: Option<ModelReport>,
    /// By how much this machine's clock is ahead of theirs; none when no answer told the time.
    clock_ahead_seconds: Option<i64>,
}

#[derive(Serialize)]
struct BotReport {
    server: String,
    /// None when that is not known.
    bot: Option<String>,
    /// Where it is invited; on Discord alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    invite: Option<String>,
}

#[derive(Serialize)]
struct ModelReport {
    server: String,
    /// None when nothing is known.
    key: Option<KeyStanding>,
    model: Option<ModelStanding>,
}

/// What came of the requests, each with the time of its answer.
#[derive(Default)]
pub(super) struct ProbeAnswers {
    telegram: Option<(BotFacts, SystemTime)>,
    discord: Option<(BotFacts, SystemTime)>,
    model: Option<(Probed, SystemTime)>,
}

/// Reads token and key, and asks the servers that they are for. None and nobody asked if `offline`.
pub(super) fn ask(
    config: &Config,
    offline: bool,
    findings: &mut Vec<DoctorFinding>,
) -> Option<JoinHandle<ProbeAnswers>> {
    let mut problem = |error: UnusableKey, source: &str, other: &str| {
        findings.push(DoctorFinding::problem("network", error.to_string(), mend(&error, source, other)));
    };
    let token = config.telegram.as_ref().and_then(|telegram| {
        let token = telegram.token().map_err(|error| problem(error, " (from @BotFather)", OTHER_TELEGRAM));
        Some((telegram.clone(), token.ok()?))
    });
    let discord = config.discord.as_ref().and_then(|discord| {
        let source = " (from Discord's Developer Portal, Bot)";
        let token = discord.token().map_err(|error| problem(error, source, OTHER_DISCORD));
        Some((discord.clone(), token.ok()?))
    });
    let other = "copy the key again from where it was made";
    let key = config.provider.key().map_err(|error| problem(error, "", other)).ok();
    let provider = config.provider.clone();
    (!offline).then(|| {
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let Ok(runtime) = runtime else { return ProbeAnswers::default() };
            let telegram = async {
                let (config, token) = token?;
                Some((telegram::probe_account(&config, token, PROBE_TIME_MAX).await, SystemTime::now()))
            };
            let model =
                async { Some((llm::probe(&provider, key?, PROBE_TIME_MAX).await?, SystemTime::now())) };
            let discord = async {
                let (config, token) = discord?;
                Some((discord::examine(&config, token, PROBE_TIME_MAX).await, SystemTime::now()))
            };
            let all = async { tokio::join!(telegram, discord, model) };
            let (telegram, discord, model) = runtime.block_on(all);
            ProbeAnswers { telegram, discord, model }
        })
    })
}

/// What to do about a token or key that is not there; `source` says where one is from, and `other`
/// what to do about one that is something else.
pub(super) fn mend(error: &UnusableKey, source: &str, other: &str) -> String {
    match &error.missing {
        Some(MissingSecret::Variable(name)) => format!("export {name}=…{source}, where serve is started"),
        Some(MissingSecret::Exposed(file, _)) => {
            format!("chmod 600 {}", super::finding::shell(Path::new(file)))
        }
        Some(MissingSecret::Unreadable(file, _)) => {
            format!("(umask 077; cat > {}), and type it there", super::finding::shell(Path::new(file)))
        }
        None => other.to_owned(),
    }
}

/// Waits for the answers; each is there, or given up, within [`PROBE_TIME_MAX`].
pub(super) fn await_answers(
    asked: Option<JoinHandle<ProbeAnswers>>,
    config: &Config,
    findings: &mut Vec<DoctorFinding>,
) -> NetworkReport {
    let offline = asked.is_none();
    let answers = asked.and_then(|asked| asked.join().ok()).unwrap_or_default();
    let dates = [
        answers.telegram.as_ref().and_then(|(found, at)| Some((found.date?, *at))),
        answers.discord.as_ref().and_then(|(found, at)| Some((found.date?, *at))),
        answers.model.as_ref().and_then(|(probed, at)| Some((probed.date?, *at))),
    ];
    // Where two clocks differ, the one that is nearer to this one.
    let ahead = dates.into_iter().flatten().map(|(theirs, ours)| clock_difference(ours, theirs));
    let clock_ahead_seconds = ahead.min_by_key(|seconds| seconds.abs());
    findings.extend(clock_ahead_seconds.and_then(clock));
    let telegram = answers.telegram.zip(config.telegram.as_ref());
    let telegram = telegram.map(|((found, _), telegram)| {
        let at = (telegram.api_url.as_str(), telegram.token_at().place());
        bot(found, at, ("the Bot API", OTHER_TELEGRAM), findings)
    });
    let discord = answers.discord.zip(config.discord.as_ref());
    let discord = discord.map(|((found, _), discord)| {
        let at = (discord.api_url.as_str(), discord.token_at().place());
        bot(found, at, ("Discord's API", OTHER_DISCORD), findings)
    });
    let model = answers.model.map(|(probed, _)| model(probed, config, findings));
    let own_authorities = authority_count();
    NetworkReport { offline, own_authorities, telegram, discord, model, clock_ahead_seconds }
}

/// What was found of a bot at this server, whose token is in this place; `called` is what
/// the server is, and where another token is made.
fn bot(
    found: BotFacts,
    (server, place): (&str, String),
    called: (&str, &str),
    findings: &mut Vec<DoctorFinding>,
) -> BotReport {
    let (api, whence) = called;
    findings.extend(found.obstacles.into_iter().map(|Obstacle { what, mend, is_minor }| match is_minor {
        true => DoctorFinding::notice("network", what, mend),
        false => DoctorFinding::problem("network", what, mend),
    }));
    let failed = found.bot.as_ref().err();
    findings.extend(failed.map(|error| match error {
        ProbeError::Refused(..) => DoctorFinding::problem(
            "network",
            format!("{error}; it is in {place}"),
            format!("{whence}; then put the new one there"),
        ),
        ProbeError::Limited(..) => DoctorFinding::problem("network", error.to_string(), LIMITED),
        ProbeError::Unreachable(said) => {
            let what = format!("{api} does not answer at {server}: {said}");
            DoctorFinding::problem("network", what, format!("curl -sSI {server}"))
        }
    }));
    let bot = found.bot.ok().map(|name| one_line(&name, 80));
    BotReport { server: server.to_owned(), bot, invite: found.invite }
}

fn model(probed: Probed, config: &Config, findings: &mut Vec<DoctorFinding>) -> ModelReport {
    let server = config.provider.base_url().to_owned();
    let name = config.provider.model.clone().unwrap_or_default();
    let finding = match &probed.known {
        Ok(ServerFacts { model: ModelStanding::NotListed, .. }) => Some(DoctorFinding::notice(
            "network",
            format!("the model's server does not name {name:?} among its models"),
            "[provider] model = \"…\", as the server calls it",
        )),
        Ok(_) => None,
        Err(error @ llm::ProbeError::Key(_)) => {
            let mend = match (&config.provider.api_key_env, &config.provider.api_key_file) {
                (Some(name), _) => {
                    format!("export {name}=… with a key of that server, where serve is started")
                }
                (None, Some(file)) => format!("put a key of that server into {}", file.display()),
                (None, None) => "[provider] api_key_file = \"…\"".to_owned(),
            };
            Some(DoctorFinding::problem("network", error.to_string(), mend))
        }
        Err(error @ llm::ProbeError::NoList(_)) => {
            let what = format!("{error}; it may be the wrong address, or one without such a list");
            let end = match config.provider.kind {
                llm::ProviderKind::Anthropic => "/v1 is added to it",
                _ => "many end in /v1",
            };
            Some(DoctorFinding::notice("network", what, format!("[provider] base_url = \"…\"; {end}")))
        }
        Err(llm::ProbeError::Unreachable(said)) => {
            let what = format!("the model's server does not answer at {server}: {said}");
            Some(DoctorFinding::problem("network", what, format!("curl -sSI {server}")))
        }
    };
    findings.extend(finding);
    let known = probed.known.ok();
    ModelReport { server, key: known.map(|known| known.key), model: known.map(|known| known.model) }
}

/// By how many seconds `ours` is ahead.
fn clock_difference(ours: SystemTime, theirs: SystemTime) -> i64 {
    let seconds = |span: Duration| i64::try_from(span.as_secs()).unwrap_or(i64::MAX);
    match ours.duration_since(theirs) {
        Ok(ahead) => seconds(ahead),
        Err(behind) => -seconds(behind.duration()),
    }
}

fn clock(ahead: i64) -> Option<DoctorFinding> {
    let direction = if ahead > 0 { "ahead of" } else { "behind" };
    let what = format!("this machine's clock is {} s {direction} the servers' clocks", ahead.abs());
    (ahead.abs() > SKEW_SECONDS_MAX)
        .then(|| DoctorFinding::problem("network", what, "timedatectl set-ntp true"))
}

impl NetworkReport {
    pub(super) fn tell(&self, line: &mut impl FnMut(String)) {
        if self.offline {
            line("network: not tried (--offline)".to_owned());
            return;
        }
        line("network:".to_owned());
        if let Some(number) = self.own_authorities {
            line(format!("  trusted besides the public authorities: {number} of [network] ca_file"));
        }
        let discord = self.discord.iter().map(|bot| ("discord", Some(bot)));
        for (channel, bot) in std::iter::once(("telegram", self.telegram.as_ref())).chain(discord) {
            line(match bot {
                None => format!("  {channel}: not configured"),
                Some(BotReport { server, bot: Some(bot), invite }) => {
                    let invite = invite.as_ref().map(|link| format!("; it is invited with {link}"));
                    format!("  {channel}: {server} accepts the token of {bot}{}", invite.unwrap_or_default())
                }
                Some(BotReport { server, bot: None, .. }) => format!("  {channel}: {server}, NOT USABLE"),
            });
        }
        match &self.model {
            None => line("  model: none to ask".to_owned()),
            Some(ModelReport { server, key: None, .. }) => line(format!("  model: {server}, NOTHING KNOWN")),
            Some(ModelReport { server, key: Some(key), model }) => {
                let key = match key {
                    KeyStanding::NoKey => "answers without a key",
                    KeyStanding::Accepted => "accepts the key",
                    KeyStanding::Unproven => {
                        "answers, with or without the key: it is proven by the first message alone"
                    }
                };
                let model = match model {
                    Some(ModelStanding::Listed) => "has the model",
                    Some(ModelStanding::NotListed) => "does NOT NAME the model",
                    Some(ModelStanding::Unknown) | None => "does not say which models it has",
                };
                line(format!("  model: {server} {key}, and {model}"));
            }
        }
        line(match self.clock_ahead_seconds {
            Some(ahead) if ahead.abs() <= 1 => "  clock: as theirs".to_owned(),
            Some(ahead) => {
                format!("  clock: {} s {} theirs", ahead.abs(), if ahead > 0 { "ahead of" } else { "behind" })
            }
            None => "  clock: not compared with another".to_owned(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_may_be_off_by_a_minute() {
        let (now, span) = (SystemTime::now(), Duration::from_secs);
        assert_eq!(
            (clock_difference(now, now - span(61)), clock_difference(now, now + span(3600))),
            (61, -3600)
        );
        assert!(clock(60).is_none() && clock(-60).is_none());
        assert!(clock(61).is_some_and(|finding| finding.what.contains("61 s ahead of")));
        assert!(clock(-3600).is_some_and(|finding| finding.what.contains("3600 s behind")));
    }
}
