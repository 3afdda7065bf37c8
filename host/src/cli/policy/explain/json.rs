//! An explanation as JSON: `suggestions[].edits[]` can be made by a program.

use super::Explanation;
use cofferdam_review::explain::Explained;
use serde_json::{Value, json};

pub(super) fn to_json(answer: &Explanation<'_>) -> Value {
    let policy = answer.policy;
    json!({
        "tool": answer.tool,
        "verdict": answer.verdict(),
        "code": answer.refusal.as_ref().map(|refusal| refusal.code),
        "reason": answer.refusal.as_ref().map(|refusal| &refusal.message),
        "profile": policy.map(|policy| &policy.profile),
        "policy_sha256": policy.map(|policy| &policy.sha256),
        "asks": answer.asks,
        "problems": answer.problems,
        "arguments": answer.places.iter().map(|place| argument(answer, place)).collect::<Vec<_>>(),
        "change_call": answer.change_call,
        "suggestions": answer.suggestions,
    })
}

fn argument(answer: &Explanation<'_>, place: &Explained) -> Value {
    let rule = answer.policy.zip(place.line);
    let mounts = place.mounts.iter();
    json!({
        "name": place.at,
        "class": place.class,
        "values": place.values,
        "rule": rule.map(|(policy, line)| json!({ "file": policy.file, "line": line })),
        "mounts": mounts
            .map(|(guest, (access, at))| json!({ "guest": guest, "access": access, "at": at }))
            .collect::<Vec<_>>(),
        "hosts": place.hosts.iter().map(|(host, at)| json!({ "host": host, "at": at })).collect::<Vec<_>>(),
        "denied": place
            .denials
            .iter()
            .map(|told| json!({ "code": told.denial.code, "reason": told.denial.reason, "at": told.decided_at }))
            .collect::<Vec<_>>(),
    })
}
