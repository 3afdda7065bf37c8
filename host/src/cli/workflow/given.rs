//! What a run is given on the command line: its input, and limits on attachments.

use anyhow::{Context as _, bail};
use cofferdam_core::arguments::from_pairs;
use cofferdam_core::json::parse_strict;
use cofferdam_workflow::Workflow;
use serde_json::{Map, Value};
use std::io::Read;

/// Bytes of an input.
pub(in crate::cli) const INPUT_BYTES_MAX: u64 = 1 << 20;

/// The input of a run as it is typed.
#[derive(Clone, Debug, Default, clap::Args)]
pub(in crate::cli) struct Given {
    /// A value of the input, typed by its schema; repeat for several
    #[arg(long = "input", value_name = "KEY=VALUE")]
    pub(super) pairs: Vec<String>,
    /// The whole input as one JSON object: the text itself, @FILE, or - for stdin
    #[arg(long, value_name = "JSON|@FILE|-", conflicts_with = "pairs")]
    pub(super) args: Option<String>,
}

impl Given {
    /// The input, complete.
    ///
    /// # Errors
    /// What is wrong with it; nothing began.
    pub(in crate::cli) fn input(&self, workflow: &Workflow) -> anyhow::Result<Value> {
        let given = match &self.args {
            None => from_pairs(&workflow.input().schema, &self.pairs).context("--input")?,
            Some(text) => parse_strict(&text_of(text)?).context("--args is no JSON")?,
        };
        Ok(workflow.input().complete(given)?)
    }
}

fn text_of(args: &str) -> anyhow::Result<String> {
    let source: Box<dyn Read> = match args.strip_prefix('@') {
        Some(file) => Box::new(std::fs::File::open(file).with_context(|| format!("cannot read {file}"))?),
        None if args == "-" => Box::new(std::io::stdin()),
        None => return Ok(args.to_owned()),
    };
    let mut text = String::new();
    source.take(INPUT_BYTES_MAX + 1).read_to_string(&mut text).context("cannot read --args")?;
    if text.len() as u64 > INPUT_BYTES_MAX {
        bail!("--args has more than {INPUT_BYTES_MAX} bytes; give a smaller input");
    }
    Ok(text)
}

/// Limits on attachments for this command alone, before environment and file.
#[derive(Clone, Debug, Default, clap::Args)]
pub(in crate::cli) struct Settings {
    /// Bytes of one attachment [default: 10000000]
    #[arg(long, value_name = "BYTES", help_heading = "Limits on attachments")]
    attachments_max_download_size_bytes: Option<u64>,
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

impl Settings {
    /// The variables that say the same.
    pub(in crate::cli) fn variables(&self) -> Vec<(&'static str, String)> {
        let bytes = self.attachments_max_download_size_bytes.map(|bytes| bytes.to_string());
        [
            ("COFFERDAM_ATTACHMENTS_MAX_DOWNLOAD_SIZE_BYTES", bytes),
            (
                "COFFERDAM_ATTACHMENTS_ALLOWED_MIME_TYPES_IMAGE",
                self.attachments_allowed_mime_types_image.clone(),
            ),
            (
                "COFFERDAM_ATTACHMENTS_ALLOWED_MIME_TYPES_AUDIO",
                self.attachments_allowed_mime_types_audio.clone(),
            ),
            (
                "COFFERDAM_ATTACHMENTS_ALLOWED_MIME_TYPES_VIDEO",
                self.attachments_allowed_mime_types_video.clone(),
            ),
            ("COFFERDAM_ATTACHMENTS_ALLOWED_MIME_TYPES_PDF", self.attachments_allowed_mime_types_pdf.clone()),
            (
                "COFFERDAM_ATTACHMENTS_ALLOWED_MIME_TYPES_FILE",
                self.attachments_allowed_mime_types_file.clone(),
            ),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .collect()
    }
}

/// The variables that the operator lists, as they are in this process.
pub(in crate::cli) fn listed_variables(names: &[String]) -> Map<String, Value> {
    let value = |name: &String| std::env::var(name).map_or(Value::Null, Value::String);
    names.iter().map(|name| (name.clone(), value(name))).collect()
}
