//! The diagnosis for people: everything that was looked at, then what was found.

use super::{Diagnosis, DoctorFinding, Severity};
use crate::config::Setting;
use cofferdam_policy::spell_word;
use serde_json::Value;

pub(super) fn format_diagnosis(diagnosis: &Diagnosis) -> String {
    let mut text = String::new();
    let mut line = |words: String| {
        text.push_str(&words);
        text.push('\n');
    };
    diagnosis.isolation.tell(&mut line);
    diagnosis.kernel.tell(&mut line);
    line(match &diagnosis.configuration.file {
        Some(file) if diagnosis.configuration.may_be_replaced == Some(false) => format!(
            "configuration: {file} (a reload reads it as long as the file itself is edited; in a folder of its own it \
             may be replaced as well)"
        ),
        Some(file) => format!("configuration: {file}"),
        None => "configuration: no file".to_owned(),
    });
    for Setting { key, value, origin, .. } in &diagnosis.configuration.keys {
        let value = value.as_deref().unwrap_or("(not set)");
        line(format!("  {key} = {value}  ({})", spell_word(origin)));
    }
    line("places:".to_owned());
    for place in &diagnosis.places {
        line(format!("  {place}"));
    }
    line(format!("  {}", diagnosis.tenants));
    line(format!("  {}", diagnosis.leftovers));
    diagnosis.people.tell(&mut line);
    let available = diagnosis.tools.iter().filter(|tool| tool.available).count();
    line(format!("tools: {available} of {} available", diagnosis.tools.len()));
    line(audit(&diagnosis.audit));
    line(match &diagnosis.database {
        Some(database) => format!("database: {database}"),
        None => "database: none yet".to_owned(),
    });
    diagnosis.network.tell(&mut line);
    diagnosis.voice.tell(&mut line);
    diagnosis.serve.tell(&mut line);
    for DoctorFinding { weight, what, mend, .. } in &diagnosis.findings {
        let word = if *weight == Severity::Problem { "problem" } else { "notice" };
        line(format!("{word}: {what}\n  mend: {mend}"));
    }
    let problems = diagnosis.findings.iter().filter(|finding| finding.weight == Severity::Problem).count();
    line(match problems {
        0 => "all is well".to_owned(),
        1 => "1 problem".to_owned(),
        n => format!("{n} problems"),
    });
    text
}

fn audit(audit: &Value) -> String {
    match (audit, audit["head"].as_object()) {
        (Value::Null, _) => "audit: none yet".to_owned(),
        (_, Some(head)) => format!(
            "audit: {} records, head {}:{}",
            audit["records"],
            head.get("seq").unwrap_or(&Value::Null),
            head.get("sha256").and_then(|sha256| sha256.as_str()).unwrap_or_default()
        ),
        (_, None) if audit["ok"].is_null() => "audit: not checked to its end".to_owned(),
        (_, None) => "audit: BAD".to_owned(),
    }
}
