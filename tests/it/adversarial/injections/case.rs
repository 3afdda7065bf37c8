//! What the table says: what comes, what the model does about it, and what must then be true.

use crate::adversarial::things::Thing;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use support::llm::{Call, Turn};
use support::telegram::{Incoming, Media};

/// The file of cases.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::adversarial) struct Table {
    pub(in crate::adversarial) case: Vec<Case>,
}

/// One case: one message of a person whom nobody knows yet, alone with the bot or in a group. In
/// its texts `${person}` is the person's number, and `${ab*3}` is `ababab`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::adversarial) struct Case {
    pub(in crate::adversarial) name: String,
    /// What lies in `/shared` before.
    #[serde(default)]
    pub(super) prepare: Vec<Thing>,

    /// Text or caption.
    #[serde(default = "please")]
    pub(super) says: String,
    /// What the model is to hear of it, where that is not the text as it is.
    pub(super) heard: Option<String>,
    #[serde(default)]
    file: Option<File>,
    /// The listing of the file that the model is to be given.
    pub(super) told: Option<String>,
    /// The title of a group, in which the message is.
    group: Option<String>,
    /// Fields of the sender, and of the message.
    #[serde(default)]
    sender: Map<String, Value>,
    #[serde(default)]
    fields: Map<String, Value>,

    /// What the model does, step by step, before it answers.
    #[serde(default)]
    pub(super) steps: Vec<Step>,
    /// What it answers.
    #[serde(default = "done")]
    pub(super) answer: String,

    /// Codes of the calls in order, `ok` for success.
    #[serde(default)]
    pub(super) codes: Vec<String>,
    /// What the model is shown of each call's outcome: values by their place (RFC 6901).
    #[serde(default)]
    pub(super) shown: Vec<BTreeMap<String, Value>>,
    /// Approvals in order.
    #[serde(default)]
    pub(super) asks: Vec<Asked>,
    /// Parts of the reply, where it is not the answer alone.
    #[serde(default)]
    pub(super) reply: Vec<String>,
    /// What the model must not have been told anywhere.
    #[serde(default)]
    pub(super) untold: Vec<String>,
    /// Files of `/shared` that are then there with this content, or not at all (`-`). Every other
    /// is as before.
    #[serde(default)]
    pub(super) then: BTreeMap<String, String>,
}

/// A file as its sender describes it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: Option<String>,
    mime: Option<String>,
    /// Absent: the server does not have it.
    holds: Option<String>,
    /// Bytes in hex before that.
    #[serde(default)]
    hex: String,
}

/// One step of the model.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Step {
    /// Words beside the calls.
    #[serde(default)]
    says: String,
    pub(super) calls: Vec<Wanted>,
}

/// A call: a tool, and its arguments as a table or as any text.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    pub(super) tool: String,
    arguments: Option<Value>,
    text: Option<String>,
    id: Option<String>,
}

/// An approval, and what becomes of it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked {
    /// Lines that it has.
    pub(super) lines: usize,
    /// Whole lines among them.
    #[serde(default)]
    pub(super) says: Vec<String>,
    /// Presses before anybody decides, none of which may.
    #[serde(default)]
    pub(super) presses: Vec<Press>,
    /// What the person presses at last.
    pub(super) then: Verb,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Verb {
    Approve,
    Deny,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Press {
    pub(super) by: By,
    /// What it carries: `approve`, `deny` (of this approval), the same with the number of another
    /// one, or any text.
    pub(super) data: String,
    /// What the presser is told begins so.
    pub(super) told: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum By {
    /// Who asked.
    Person,
    /// Somebody else who is served.
    Other,
    /// Somebody who is not.
    Stranger,
    /// A bot under the person's number.
    Bot,
}

fn please() -> String {
    "please".to_owned()
}

fn done() -> String {
    "Done.".to_owned()
}

impl Case {
    /// The case with every text written out.
    pub(super) fn expanded(mut self, expand: &dyn Fn(&str) -> String) -> Self {
        let json = |value: &Value| -> Value {
            serde_json::from_str(&expand(&value.to_string())).expect("still JSON")
        };
        let map =
            |fields: &mut Map<String, Value>| fields.values_mut().for_each(|value| *value = json(value));
        let all = |texts: &mut Vec<String>| texts.iter_mut().for_each(|text| *text = expand(text));
        self.says = expand(&self.says);
        self.heard = self.heard.as_deref().map(expand);
        self.answer = expand(&self.answer);
        map(&mut self.sender);
        map(&mut self.fields);
        if let Some(file) = &mut self.file {
            for text in [&mut file.name, &mut file.mime, &mut file.holds].into_iter().flatten() {
                *text = expand(text);
            }
        }
        for call in self.steps.iter_mut().flat_map(|step| &mut step.calls) {
            call.arguments = call.arguments.as_ref().map(json);
        }
        self.shown.iter_mut().flat_map(BTreeMap::values_mut).for_each(|value| *value = json(value));
        for asked in &mut self.asks {
            all(&mut asked.says);
            asked.presses.iter_mut().for_each(|press| press.told = expand(&press.told));
        }
        all(&mut self.reply);
        self
    }

    /// The message, of this person.
    pub(super) fn message(&self, person: i64, group: i64) -> Incoming {
        let message = match self.group {
            Some(_) => Incoming::group(group, person),
            None => Incoming::private(person),
        };
        let message = match &self.file {
            None => message.text(&self.says),
            Some(file) => message.document(file.media(person)).caption(&self.says),
        };
        let mut message =
            self.fields.iter().fold(message, |message, (name, value)| message.field(name, value.clone()));
        if let Some(title) = &self.group {
            let chat = serde_json::json!({ "id": group, "type": "supergroup", "title": title });
            message = message.field("chat", chat);
        }
        if !self.sender.is_empty() {
            let mut sender = serde_json::json!({ "id": person, "is_bot": false, "first_name": "Ann" });
            sender.as_object_mut().expect("an object").extend(self.sender.clone());
            message = message.field("from", sender);
        }
        message
    }

    /// What the model says, request by request.
    pub(super) fn turns(&self) -> Vec<Turn> {
        let step = |step: &Step| Turn::say(&step.says).and_calls(step.calls.iter().map(Wanted::call));
        self.steps.iter().map(step).chain([Turn::say(&self.answer).in_pieces(3)]).collect()
    }

    /// All calls in order.
    pub(super) fn calls(&self) -> impl Iterator<Item = &Wanted> {
        self.steps.iter().flat_map(|step| &step.calls)
    }
}

impl File {
    fn media(&self, person: i64) -> Media {
        let id = format!("file-{person}");
        let media = match &self.holds {
            Some(text) => {
                Media::with_content(&id, [hex::decode(&self.hex).expect("hex"), text.clone().into()].concat())
            }
            None => Media::new(&id).size(7),
        };
        let media = self.name.iter().fold(media, |media, name| media.name(name));
        self.mime.iter().fold(media, |media, mime| media.mime(mime))
    }
}

impl Wanted {
    fn call(&self) -> Call {
        let call = match (&self.arguments, &self.text) {
            (Some(arguments), None) => Call::new(&self.tool, arguments.clone()),
            (None, Some(text)) => Call::raw(&self.tool, text),
            _ => panic!("{}: either arguments or their text", self.tool),
        };
        let call = call.in_pieces(2);
        self.id.iter().fold(call, |call, id| call.id(id))
    }
}
