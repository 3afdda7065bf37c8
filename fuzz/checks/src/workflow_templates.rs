//! Templates: any text is read or refused; what is put in comes out as it is, wherever it stands.
//!
//! The bytes are a template up to the first NUL, and what is put in.

use crate::assert_plain;
use cofferdam_workflow::template::{RenderScope, Template, ValueRoot};
use serde_json::{Value, json};

/// Parses and renders; holds both to what they promise.
pub fn workflow_templates(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (text, put_in) = text.split_once('\0').unwrap_or((text, ""));
    let template = match Template::parse(text) {
        Ok(template) => template,
        Err(error) => {
            assert!(text.is_char_boundary(error.at), "{error:?}");
            assert!(!error.problem.is_empty() && text.contains('{'), "{error:?}");
            return;
        }
    };
    let input = json!({ "x": put_in, "list": [put_in, 1, null], "map": { "k": put_in }, "n": 1.5 });
    let scope =
        RenderScope::default().with(ValueRoot::Input, input).with(ValueRoot::Env, json!({ "HOME": put_in }));
    let rendered = template.render_text(&scope);
    assert_eq!(rendered, template.render_text(&scope), "twice the same");
    match (&rendered, template.literal()) {
        (Ok(rendered), Some(literal)) => assert_eq!((rendered.as_str(), literal), (text, text)),
        (Err(error), None) => assert_plain(&error.expression),
        (Err(error), Some(_)) => panic!("plain text fails: {error}"),
        (Ok(_), None) => {}
    }
    if let (Ok(Value::String(value)), Ok(text)) = (template.render_value(&scope), &rendered) {
        assert_eq!(&value, text, "a text is the same as a value");
    }
    // With data at its end, it ends with the data, as it is.
    if let Ok(rendered) = rendered.filter_braces(text) {
        let longer =
            Template::parse(&format!("{text}{{{{ input.x }}}}")).expect("a template and an expression");
        if let Ok(longer) = longer.render_text(&scope) {
            assert_eq!(longer, format!("{rendered}{put_in}"));
        }
    }
}

trait FilterBraces {
    /// Refuses what would run together with an expression after it.
    fn filter_braces(self, text: &str) -> Result<String, ()>;
}

impl<E> FilterBraces for Result<String, E> {
    fn filter_braces(self, text: &str) -> Result<String, ()> {
        if text.ends_with('{') { Err(()) } else { self.map_err(|_| ()) }
    }
}
