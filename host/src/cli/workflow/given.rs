//! What a run is given on the command line: its input, and limits on attachments.

use crate::cli::call::this_user;
use crate::config::Config;
use crate::workflows::check_addresses;
use anyhow::{Context as _, bail};
use cofferdam_core::arguments::from_pairs;
use cofferdam_core::json::parse_strict;
use cofferdam_workflow::{Context, RunPlan, Workflow};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::io::Read;
use std::sync::Arc;

/// Bytes of an input.
pub(in crate::cli) const INPUT_BYTES_MAX: u64 = 1 << 20;

/// The input of a run as it is typed.
#[derive(Clone, Debug, Default, clap::Args)]
pub(in crate::cli) struct RunInput {
    /// A value of the input, typed by its schema; repeat for several
    #[arg(long = "input", value_name = "KEY=VALUE")]
    pub(super) pairs: Vec<String>,
    /// The whole input as one JSON object: the text itself, @FILE, or - for stdin
    #[arg(long, value_name = "JSON|@FILE|-", conflicts_with = "pairs")]
    pub(super) args: Option<String>,
}

impl RunInput {
    /// What a run of this id begins with, and its plan. The tools are asked for where a template
    /// names tools.
    ///
    /// # Errors
    /// What is wrong with the input or the file; nothing began.
    pub(in crate::cli) fn plan(
        &self,
        config: &Config,
        workflow: &Arc<Workflow>,
        run: String,
        describe_tools: impl FnOnce() -> anyhow::Result<Map<String, Value>>,
    ) -> anyhow::Result<(Context, RunPlan)> {
        let file = || workflow.sources[0].name.clone();
        let caller = this_user("cli");
        let context = Context {
            run,
            input: self.input(workflow).with_context(file)?,
            env: redact_variables(&config.workflows.env),
            trigger: json!({ "kind": "cli", "channel": caller.channel, "sender": caller.sender, "files": [] }),
            tools: if workflow.names_tools() { describe_tools()? } else { Map::new() },
        };
        let plan = RunPlan::begin(workflow.clone(), &context)?;
        let refused = check_addresses(&plan, &config.workflow_attachments).map_err(|error| error.message);
        refused.map_err(anyhow::Error::msg).with_context(file)?;
        Ok((context, plan))
    }

    /// The input, complete.
    fn input(&self, workflow: &Workflow) -> anyhow::Result<Value> {
        let given = match &self.args {
            None => from_pairs(&workflow.input.schema, &self.pairs).context("--input")?,
            Some(text) => parse_strict(&text_of(text)?).context("--args is no JSON")?,
        };
        workflow.input.complete(given).map_err(anyhow::Error::msg)
    }
}

fn text_of(args: &str) -> anyhow::Result<String> {
    let source: Box<dyn Read> = match args.strip_prefix('@') {
        Some(file) => Box::new(std::fs::File::open(file).with_context(|| format!("cannot read {file}"))?),
        None if args == "-" => Box::new(std::io::stdin()),
        None => return Ok(args.to_owned()),
    };
    let text = std::io::read_to_string(source.take(INPUT_BYTES_MAX + 1)).context("cannot read --args")?;
    if text.len() as u64 > INPUT_BYTES_MAX {
        bail!("--args has more than {INPUT_BYTES_MAX} bytes; give a smaller input");
    }
    Ok(text)
}

/// Limits on attachments for this command alone, before environment and file.
// Each is called as its key in the configuration is.
#[derive(Clone, Debug, Default, Serialize, clap::Args)]
pub(in crate::cli) struct RunSettings {
    /// Bytes of one attachment [default: 10000000]
    #[arg(long, value_name = "BYTES", help_heading = "Limits on attachments")]
    attachments_max_download_size_bytes: Option<u64>,
    /// One download, from its first look-up to its last byte [default: 30s]
    #[arg(long, value_name = "TIME", help_heading = "Limits on attachments")]
    attachments_download_timeout: Option<String>,
    /// Redirects that one download follows [default: 3]
    #[arg(long, value_name = "N", help_heading = "Limits on attachments")]
    attachments_max_redirects: Option<u32>,
    /// Bytes of all downloads that a run has at once [default: no limit]
    #[arg(long, value_name = "BYTES", help_heading = "Limits on attachments")]
    attachments_temp_dir_quota_bytes: Option<u64>,
    /// Hosts that may be private and plain http, with commas between [default: none]
    #[arg(long, value_name = "HOST:PORT", help_heading = "Limits on attachments")]
    attachments_allowed_private_hosts: Option<String>,
    /// Media types of images, with commas between [default: image/*]
    #[arg(long, value_name = "TYPES", help_heading = "Limits on attachments")]
    attachments_allowed_mime_types_image: Option<String>,
    /// Media types of audio [default: audio/*]
    #[arg(long, value_name = "TYPES", help_heading = "Limits on attachments")]
    attachments_allowed_mime_types_audio: Option<String>,
    /// Media types of video [default: video/*]
    #[arg(long, value_name = "TYPES", help_heading = "Limits on attachments")]
    attachments_allowed_mime_types_video: Option<String>,
    /// Media types of pdf [default: application/pdf]
    #[arg(long, value_name = "TYPES", help_heading = "Limits on attachments")]
    attachments_allowed_mime_types_pdf: Option<String>,
    /// Media types of file [default: */*]
    #[arg(long, value_name = "TYPES", help_heading = "Limits on attachments")]
    attachments_allowed_mime_types_file: Option<String>,
}

impl RunSettings {
    /// What is given here, by the variables of the configuration before which it stands.
    pub(in crate::cli) fn variables(&self) -> BTreeMap<String, String> {
        let given = serde_json::to_value(self).unwrap_or_default();
        let variable = |(name, value): (&String, &Value)| {
            let text = match value {
                Value::Null => return None,
                Value::String(text) => text.clone(),
                number => number.to_string(),
            };
            Some((format!("COFFERDAM_{}", name.to_uppercase()), text))
        };
        given.as_object().into_iter().flatten().filter_map(variable).collect()
    }
}

/// The variables that the operator lists, as they are in this process.
pub(in crate::cli) fn redact_variables(names: &[String]) -> Map<String, Value> {
    let value = |name: &String| std::env::var(name).map_or(Value::Null, Value::String);
    names.iter().map(|name| (name.clone(), value(name))).collect()
}
