//! What a call passes before anything runs: its length, its JSON, the tool's schema, the judge. One
//! way in, for calls that run and for explanations of calls alike.

use super::RegisteredTool;
use cofferdam_core::id::CallId;
use cofferdam_core::json::parse_strict;
use cofferdam_core::tool::{ErrorCode, ToolError};
use cofferdam_policy::{JudgedCall, Verdict, judge};
use serde_json::Value;

impl RegisteredTool {
    /// The arguments of a call from their text, completed as the policy says, and with integers in
    /// digits, in which every language that a guest is written in reads them: audit, schema, judge
    /// and guest see the same.
    ///
    /// # Errors
    /// `too_large` above the policy's limit, which is looked at first; `invalid_arguments` when the
    /// text is no JSON, or has a key twice.
    pub fn read(&self, text: &str) -> Result<Value, ToolError> {
        let limit = self.policy.limits.arguments;
        if text.len() as u64 > limit.0 {
            let said = format!(
                "the arguments have {} bytes; {} takes at most {limit}",
                text.len(),
                self.policy.tool
            );
            return Err(ToolError::new(ErrorCode::TooLarge, said));
        }
        let mut arguments = parse_strict(text).map_err(|e| {
            ToolError::new(ErrorCode::InvalidArguments, format!("the arguments are not JSON: {e}"))
        })?;
        self.policy.complete(&mut arguments);
        self.schema.write_integers(&mut arguments);
        Ok(arguments)
    }

    /// The verdict on a call with these arguments: the schema first, as long as `stopped` says
    /// nothing, then the judge.
    ///
    /// # Errors
    /// The arguments do not fit the tool's schema, or the time was over before that was known.
    pub fn judge(
        &self,
        id: CallId,
        arguments: Value,
        stopped: &dyn Fn() -> Option<ToolError>,
    ) -> Result<Verdict, ToolError> {
        self.validate(&arguments, stopped)?;
        Ok(judge(JudgedCall { id, tool: self.policy.tool.clone(), arguments }, &self.policy))
    }
}

#[cfg(test)]
mod tests {
    use cofferdam_core::schema::Schema;
    use serde_json::json;
    use std::time::{Duration, Instant};

    /// What is done before arguments are checked ends by itself: nobody looks at the time then.
    #[test]
    fn many_empty_lists_take_no_time_whatever_their_items_would_have_to_be() {
        let schema = json!({ "items": { "items": { "allOf": vec![json!({}); 9000] } } });
        let schema = Schema::compile(&schema).expect("sound");
        let mut arguments = json!(vec![json!([]); 200_000]);
        arguments[0] = json!(1.0);
        let began = Instant::now();
        schema.write_integers(&mut arguments);
        assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    }
}
