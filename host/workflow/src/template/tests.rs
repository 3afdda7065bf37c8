//! Templates: what is refused, what each filter gives, and that data is never a template.

use super::{RenderScope, Template, ValueRoot};
use proptest::prelude::*;
use serde_json::{Value, json};

fn scope() -> RenderScope {
    RenderScope::default()
        .with(
            ValueRoot::Input,
            json!({
                "name": "Ada", "blank": "  x ", "n": 1.5, "yes": true, "none": null, "list": ["a", 2, null],
                "empty": [], "map": { "any key": "k", "gen-image": "g" }, "evil": "{{ env.SECRET }}",
            }),
        )
        .with(ValueRoot::Env, json!({ "HOME": "/h", "UNSET": null }))
        .with(ValueRoot::Tasks, json!({ "gen-image": { "output": { "path": "p.png" } } }))
}

fn refused(text: &str) -> String {
    match Template::parse(text) {
        Err(error) => error.to_string(),
        Ok(template) => match template.render_text(&scope()) {
            Err(error) => error.to_string(),
            Ok(text) => format!("accepted: {text}"),
        },
    }
}

#[test]
fn what_is_no_template_is_refused_with_what_to_write() {
    for (text, said) in [
        ("{{", "a path begins with one of workflow, input"),
        ("{{ input.name", "has no `}}`"),
        ("{{ }}", "a path begins with"),
        ("{{ input }}", "needs a name after input"),
        ("{{ .input }}", "needs a name"),
        ("{{ inputs.name }}", "`inputs` is nothing that a path begins with"),
        ("{{ input..name }}", "after a dot comes a name"),
        ("{{ input.0 }}", "after a dot comes a name"),
        ("{{ input . name }}", "needs a name after input"),
        ("{{ input.list[-1] }}", "a key in quotes or a number"),
        ("{{ input.list[0 }}", "`[` has no `]`"),
        ("{{ input[\"a }}", "a quote is not closed"),
        ("{{ input.n + 1 }}", "no arithmetic"),
        ("{{ input.n == 1 }}", "no arithmetic and no comparison"),
        ("{{ input.list() }}", "no functions"),
        ("{{ range(3) }}", "`range` is nothing that a path begins with"),
        ("{{ \"x\" }}", "a path begins with"),
        ("{{- input.name }}", "is nothing that a path begins with"),
        ("{{ input.name if input.yes }}", "`if` does not belong there"),
        ("{% if input.yes %}", "no statements"),
        ("a {%- raw %}", "no statements"),
        ("{{ input.name | }}", "after `|` comes a filter; there is default, upper"),
        ("{{ input.name | title }}", "there is no filter `title`; there is default"),
        ("{{ input.name | default }}", "default takes one argument"),
        ("{{ input.name | default(1, 2) }}", "default takes one argument"),
        ("{{ input.name | default(input.n) }}", "is no argument"),
        ("{{ input.name | default(['a']) }}", "is no argument"),
        ("{{ input.name | upper(1) }}", "upper takes no arguments"),
        ("{{ input.name | join }}", "join takes one text"),
        ("{{ input.name | replace(\"a\") }}", "replace takes two texts"),
        ("{{ input.name | replace(\"\", \"a\") }}", "the first not empty"),
        ("{{ input.name | replace(\"a\" \"b\") }}", "between arguments comes a comma"),
        // When it is rendered.
        ("{{ input.nobody }}", "input.nobody is missing or null; give it, or write `| default"),
        ("{{ input.none }}", "is missing or null"),
        ("{{ input.name.deeper }}", "is missing or null"),
        ("{{ input.list.a }}", "is missing or null"),
        ("{{ input.nobody | upper | default(\"x\") }}", "is missing or null"),
        ("{{ input.empty | first }}", "is missing or null"),
        ("{{ input.list | last }}", "is missing or null"),
        ("{{ input.n | upper }}", "upper takes a text, and this is a number"),
        ("{{ input.name | join(\"\") }}", "join takes a list, and this is a text"),
        ("{{ input.n | length }}", "length takes a list, a text or an object"),
        ("{{ env.SECRET }}", "the variable SECRET is not listed; write it into [workflows] env"),
        ("{{ env.SECRET | default(\"x\") }}", "is not listed"),
        ("{{ env.UNSET }}", "is missing or null"),
        ("{{ trigger.text }}", "is missing or null"),
    ] {
        assert!(refused(text).contains(said), "{text}: {}", refused(text));
    }
}

#[test]
fn what_is_named_is_put_in() {
    for (text, rendered) in [
        ("", ""),
        ("plain } }} { text {# and # }", "plain } }} { text {# and # }"),
        ("Hello {{ input.name }}!\n", "Hello Ada!\n"),
        ("{{input.name}}{{ .input.name }}", "AdaAda"),
        ("{{ tasks.gen-image.output.path }}", "p.png"),
        ("{{ .tasks.gen-image.output.path }}", "p.png"),
        ("{{ tasks[\"gen-image\"].output['path'] }}", "p.png"),
        ("{{ input.map[\"any key\"] }} {{ input.map.gen-image }}", "k g"),
        ("{{ input.n }} {{ input.yes }} {{ input.list[1] }} {{ input.list }}", "1.5 true 2 [\"a\",2,null]"),
        ("{{ input.nobody | default(\"x\") }}{{ input.none | default(7) }}", "x7"),
        ("{{ input.empty | first | default('n') }}", "n"),
        ("{{ input.nobody | default(null) | tojson }}", "null"),
        ("{{ input.nobody | default([]) | length }}{{ input.nobody|default({})|length }}", "00"),
        ("{{ input.name | upper | lower }}", "ada"),
        ("[{{ input.blank | trim }}]", "[x]"),
        ("{{ input.name | replace(\"da\", \"\\n\\\"\") }}", "A\n\""),
        ("{{ input.list | join(', ') }}", "a, 2, null"),
        ("{{ input.list | first }}{{ input.name | first }}{{ input.name | last }}", "aAa"),
        ("{{ input.name | length }}{{ input.list|length }}{{ input.map | length }}", "332"),
        (
            "{{ input.name | tojson }}{{ input.map | tojson }}",
            "\"Ada\"{\"any key\":\"k\",\"gen-image\":\"g\"}",
        ),
        ("{{ env.HOME }}{{ env.UNSET | default(\"-\") }}", "/h-"),
        ("{{ input.evil }}", "{{ env.SECRET }}"),
    ] {
        let template = Template::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(template.render_text(&scope()).as_deref(), Ok(rendered), "{text}");
    }
}

#[test]
fn one_expression_is_the_value_itself() {
    for (text, value) in [
        ("{{ input.n }}", json!(1.5)),
        ("{{ input.list }}", json!(["a", 2, null])),
        ("{{ input.list }} ", json!("[\"a\",2,null] ")),
        ("{{ input.nobody | default(null) }}", Value::Null),
        ("{{ input.list | length }}", json!(3)),
        ("x", json!("x")),
    ] {
        assert_eq!(Template::parse(text).expect(text).render_value(&scope()), Ok(value), "{text}");
    }
}

#[test]
fn no_text_grows_without_end() {
    let big = "a".repeat(super::RENDERED_BYTES_MAX / 2 + 1);
    let half = super::RENDERED_BYTES_MAX / 2;
    let input = json!({
        "big": big, "list": [big, big], "longer": "a".repeat(2 * half + 1),
        // In capitals three letters of two bytes each; in small letters three bytes instead of two.
        "sharp": "\u{390}".repeat(half), "dotted": "\u{130}".repeat(half),
    });
    let scope = RenderScope::default().with(ValueRoot::Input, input);
    for text in [
        "{{ input.big }}{{ input.big }}",
        "{{ input.big | replace(\"a\", \"aaaa\") }}",
        "{{ input.list | join(\"\") }}",
        "{{ input.list | tojson }}",
        "{{ input.sharp | upper }}",
        "{{ input.dotted | lower }}",
        "{{ input.longer }}",
    ] {
        let template = Template::parse(text).expect(text);
        for error in
            [template.render_text(&scope).expect_err(text), template.render_value(&scope).expect_err(text)]
        {
            assert!(error.to_string().contains("1048576 bytes"), "{error}");
        }
    }
    for fits in ["{{ input.big }}", "{{ input.longer | length }}"] {
        let template = Template::parse(fits).expect("a template");
        assert!(template.render_text(&scope).is_ok() && template.render_value(&scope).is_ok(), "{fits}");
    }
}

/// Each `tojson` writes every quote and backslash of the one before as two letters.
#[test]
fn a_chain_of_filters_is_cut_off_where_it_grows_too_long() {
    let text = format!("{{{{ input.name{} }}}}", " | tojson".repeat(40));
    let template = Template::parse(&text).expect("a template");
    let error = template.render_value(&scope()).expect_err("it grows");
    assert!(error.to_string().contains("1048576 bytes"), "{error}");
    let shrinks = text.replace(" }}", " | length }}");
    let error = Template::parse(&shrinks).expect("a template").render_value(&scope()).expect_err("it grew");
    assert!(error.to_string().contains("1048576 bytes"), "{error}");
}

proptest! {
    /// Whatever a value holds, it comes out as it is: alone, within text, in phase one or two.
    #[test]
    fn data_is_never_a_template(before in "[^{]{0,8}", data in ".*|.*\\{\\{ ?(env|input)\\.[a-z]+ ?\\}\\}.*|\\{%.*", after in "[^{]{0,8}") {
        let text = format!("{before}{{{{ input.x }}}}{after}");
        let scope = RenderScope::default().with(ValueRoot::Input, json!({ "x": data })).with(ValueRoot::Env, json!({ "secret": "s3cret" }));
        let template = Template::parse(&text).expect("a template");
        prop_assert_eq!(template.render_text(&scope), Ok(format!("{before}{data}{after}")));
    }

    /// No text makes the parser panic, and a text without `{{` and `{%` is itself.
    #[test]
    fn any_text_is_read_or_refused(text in ".*|[{}%# a-z.|()\"\\[\\]]*") {
        let parsed = Template::parse(&text);
        if let Err(error) = &parsed {
            prop_assert!(error.at <= text.len() && text.is_char_boundary(error.at));
        }
        if !text.contains("{{") && !text.contains("{%") {
            prop_assert_eq!(parsed.expect("plain").render_text(&RenderScope::default()), Ok(text));
        }
    }
}
