//! `cofferdam allow`: who is served, and letting in anyone who has a one-time code. It works on the
//! state folder alone, beside a `serve` that runs or without one.

use super::call::this_user;
use super::{Exit, Output};
use crate::config::{Config, FILE_NAME, Setting, SettingOrigin};
use crate::gateway;
use anyhow::{Context, bail};
use cofferdam_core::audit::{AccessChange, AuditEvent};
use cofferdam_core::id::Caller;
use cofferdam_core::text::{escape_deceptive_json, one_line};
use cofferdam_store::machine_now_ms;
use cofferdam_store::people::{PairedPerson, People, PeopleError, PeopleList, WaitingStranger, read_code};
use cofferdam_warden::audit::Durability;
use serde_json::{Value, json};
use std::io::Write;

const EXAMPLES: &str = "Examples: cofferdam allow             who is served, and whose code waits\n          \
cofferdam allow 7KQ2-M9XD   lets in whoever was told this code\n          \
cofferdam allow --remove 6660000000\n\nA running serve notices by itself.";

/// The channels that have `allowed_users`.
pub(super) const TELEGRAM: &str = "telegram";
pub(super) const DISCORD: &str = "discord";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// The one-time code that a stranger was told by the bot
    code: Option<String>,
    /// No longer serve the person of this id whom a code has let in
    #[arg(long, value_name = "ID", conflicts_with = "code")]
    remove: Option<String>,
    #[command(flatten)]
    output: Output,
}

pub(super) fn run(config: &Config, arguments: &Arguments) -> anyhow::Result<Exit> {
    let people = People::new(&config.state_dir);
    if arguments.code.is_some() || arguments.remove.is_some() {
        gateway::check_account(config)?;
    }
    let (text, json) = match (&arguments.code, &arguments.remove) {
        (Some(code), _) => let_in(config, &people, code)?,
        (None, Some(id)) => remove(config, &people, id)?,
        (None, None) => list(config, &*people.load()?),
    };
    let mut out = super::stdout();
    match arguments.output.json {
        true => writeln!(out, "{}", escape_deceptive_json(&json.to_string()))?,
        false => write!(out, "{text}")?,
    }
    Ok(Exit::Done)
}

fn let_in(config: &Config, people: &People, typed: &str) -> anyhow::Result<(String, Value)> {
    let Some(code) = read_code(typed) else {
        bail!("{:?} is not a code; one looks like 7KQ2-M9XD", one_line(typed, 80));
    };
    // Without a lock, which makes a file: there may be no state yet.
    if !people.load()?.waiting.iter().any(|waiting| waiting.code == code) {
        return Err(PeopleError::UnknownCode(code).into());
    }
    let mut edit = people.edit()?;
    let paired = edit.accept(&code, &this_user("cli").to_string(), machine_now_ms())?;
    // In the audit first: nobody is served of whom it says nothing.
    note(config, &paired, AccessChange::Allowed)?;
    edit.commit()?;
    let text = format!("allowed {}\n", display_name(&paired));
    Ok((text, json!({ "allowed": paired_json(&paired) })))
}

fn remove(config: &Config, people: &People, id: &str) -> anyhow::Result<(String, Value)> {
    let configured = explain_configured(config, id);
    if !people.load()?.paired.iter().any(|one| one.sender == id) {
        if let Some(explained) = configured {
            bail!(explained);
        }
        bail!(
            "nobody of the id {:?} was let in by a code; `cofferdam allow` lists who was",
            one_line(id, 80)
        );
    }
    let mut edit = people.edit()?;
    let removed = edit.remove(id);
    for one in &removed {
        note(config, one, AccessChange::Removed)?;
    }
    edit.commit()?;
    let mut text: String = removed.iter().map(|one| format!("removed {}\n", display_name(one))).collect();
    if let Some(explained) = &configured {
        text.push_str(&format!("still served: {explained}\n"));
    }
    let removed: Vec<Value> = removed.iter().map(paired_json).collect();
    Ok((text, json!({ "removed": removed, "still_configured": configured.is_some() })))
}

/// Everywhere that the configuration names this person, and what takes them out of it; none where
/// it does not.
fn explain_configured(config: &Config, id: &str) -> Option<String> {
    let named = configured_people(config).filter(|(_, user)| user.to_string() == id);
    let mut keys: Vec<String> =
        named.map(|(channel, _)| format!("channels.{channel}.allowed_users")).collect();
    keys.dedup();
    let place = |key: &String| config.place(key).unwrap_or_else(|| FILE_NAME.to_owned());
    let places: Vec<String> = keys.iter().map(|key| format!("allowed_users ({})", place(key))).collect();
    let is_variable = |setting: &Setting| {
        setting.origin == SettingOrigin::Environment && keys.iter().any(|key| setting.key == *key)
    };
    // A process keeps the environment that it was started with.
    let by_variable = config.settings.iter().any(is_variable);
    let then = if by_variable { "restart the gateway" } else { "run `cofferdam reload`" };
    let places = places.join(" and ");
    (!keys.is_empty()).then(|| format!("{id} is named in {places}; take it out there, then {then}"))
}

fn list(config: &Config, listed: &PeopleList) -> (String, Value) {
    let now = machine_now_ms();
    let waiting: Vec<&WaitingStranger> = listed.waiting.iter().filter(|one| one.is_good(now)).collect();
    let mut text = String::new();
    for (channel, user) in configured_people(config) {
        text.push_str(&format!("{channel}:{user} from the configuration\n"));
    }
    for one in &listed.paired {
        text.push_str(&format!(
            "{} let in {} by {}\n",
            display_name(one),
            time(one.since),
            one_line(&one.by, 80)
        ));
    }
    if text.is_empty() {
        text.push_str("nobody is served\n");
    }
    for one in &waiting {
        let name = one_line(&one.name, 80);
        text.push_str(&format!("waiting: {}:{} {name:?}", one.channel, one.sender));
        text.push_str(&format!(
            " until {}; to let them in: cofferdam allow {}\n",
            time(one.expires_at),
            one.code
        ));
    }
    let from_file = configured_people(config)
        .map(|(channel, user)| json!({ "channel": channel, "id": user.to_string(), "origin": "config" }));
    let allowed: Vec<Value> = from_file.chain(listed.paired.iter().map(paired_json)).collect();
    let waiting: Vec<Value> = waiting
        .iter()
        .map(|one| {
            json!({ "channel": one.channel, "id": one.sender, "name": one.name, "code": one.code,
                    "expires": time(one.expires_at) })
        })
        .collect();
    (text, json!({ "allowed": allowed, "waiting": waiting }))
}

/// Those whom the configuration names, each with the channel.
fn configured_people(config: &Config) -> impl Iterator<Item = (&'static str, i64)> {
    let telegram = config.telegram.iter().flat_map(|telegram| &telegram.allowed_users);
    let discord = config.discord.iter().flat_map(|discord| &discord.allowed_users);
    telegram.map(|user| (TELEGRAM, *user)).chain(discord.map(|user| (DISCORD, *user)))
}

fn note(config: &Config, paired: &PairedPerson, access: AccessChange) -> anyhow::Result<()> {
    let person = Caller { channel: paired.channel.clone(), sender: paired.sender.clone() };
    let audit = gateway::open_audit(config)?;
    let event = AuditEvent::Access { person, access, by: this_user("cli").to_string() };
    audit
        .append(event, Durability::Synced)
        .context("nothing was changed, since the audit cannot be written")?;
    Ok(())
}

fn display_name(one: &PairedPerson) -> String {
    format!("{}:{} {:?}", one.channel, one.sender, one_line(&one.name, 80))
}

fn paired_json(one: &PairedPerson) -> Value {
    json!({ "channel": one.channel, "id": one.sender, "origin": "paired", "name": one.name,
            "since": time(one.since), "by": one.by })
}

/// Milliseconds since 1970 as RFC 3339 to the second, UTC.
pub(super) fn time(ms: i64) -> String {
    jiff::Timestamp::from_millisecond(ms).map(|time| format!("{time:.0}")).unwrap_or_default()
}
