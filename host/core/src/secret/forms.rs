//! How a secret may be written where it is shown: as it is, in URLs, in JSON, and in HTML.

/// How writers of JSON spell what they need not escape, by what servers use. All that can be
/// combined would be too many, and most secrets are alike in most of these.
///
/// Each is the characters that it spells as `\u00XX`, whether it does so with all beyond ASCII,
/// whether it puts a backslash before a `/`, and whether its digits are `AF` instead of `af`.
const JSON_WRITERS: &[(&str, bool, bool, bool)] = &[
    // Most.
    ("", false, false, false),
    // Python.
    ("", true, false, false),
    // PHP, with JSON_UNESCAPED_UNICODE and without.
    ("", false, true, false),
    ("", true, true, false),
    // Go; Gson.
    ("<>&", false, false, false),
    ("<>&='", false, false, false),
    // System.Text.Json, and those that do the same in small letters.
    ("\"&'+<>`", true, false, true),
    ("\"&'+<>`", true, false, false),
];

/// How writers of HTML and XML spell `"` and `'`.
const HTML_QUOTES: &[(&str, &str)] = &[
    ("\"", "'"),
    ("&quot;", "&#39;"),
    ("&quot;", "&#x27;"),
    ("&quot;", "&#039;"),
    ("&quot;", "&apos;"),
    ("&#34;", "&#39;"),
];

/// Each form once, in no order.
pub(super) fn forms(secret: &str) -> Vec<String> {
    let mut forms = vec![secret.to_owned()];
    forms.push(url(secret, |b| format!("%{b:02X}")));
    forms.push(url(secret, |b| format!("%{b:02x}")));
    forms.extend(JSON_WRITERS.iter().map(|writer| json(secret, *writer)));
    forms.extend(HTML_QUOTES.iter().map(|quotes| html(secret, *quotes)));
    forms.sort_unstable();
    forms.dedup();
    forms
}

fn url(secret: &str, digits: fn(u8) -> String) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~".contains(&b);
    secret.bytes().map(|b| if plain(b) { char::from(b).to_string() } else { digits(b) }).collect()
}

fn json(secret: &str, (hex, is_ascii, escapes_slash, is_upper): (&str, bool, bool, bool)) -> String {
    let one = |c: char| -> String {
        if hex.contains(c) || (is_ascii && !c.is_ascii()) {
            let mut units = [0; 2];
            let digits = |unit: &u16| match is_upper {
                true => format!("\\u{unit:04X}"),
                false => format!("\\u{unit:04x}"),
            };
            return c.encode_utf16(&mut units).iter().map(digits).collect();
        }
        if c == '/' && escapes_slash {
            return "\\/".to_owned();
        }
        let quoted = serde_json::Value::from(c.to_string()).to_string();
        quoted[1..quoted.len() - 1].to_owned()
    };
    secret.chars().map(one).collect()
}

fn html(secret: &str, (double, single): (&str, &str)) -> String {
    let plain = secret.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    plain.replace('"', double).replace('\'', single)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_known_as_servers_spell_it() {
        for (secret, spelled) in [
            ("k/1+x", "k/1+x"),
            ("k/1+x", "k%2F1%2Bx"),
            ("k/1+x", "k%2f1%2bx"),
            ("k/1+x", r"k\/1+x"),
            ("k/1+x", r"k/1\u002Bx"),
            ("k/1+x", r"k/1\u002bx"),
            ("a&<b>='\"c", r#"a&<b>='\"c"#),
            ("a&<b>='\"c", r"a\u0026\u003Cb\u003E=\u0027\u0022c"),
            ("a&<b>='\"c", r"a\u0026\u003cb\u003e=\u0027\u0022c"),
            ("a&<b>='\"c", r#"a\u0026\u003cb\u003e='\"c"#),
            ("a&<b>='\"c", r#"a\u0026\u003cb\u003e\u003d\u0027\"c"#),
            ("a&<b>='\"c", "a&amp;&lt;b&gt;='\"c"),
            ("a&<b>='\"c", "a&amp;&lt;b&gt;=&#39;&quot;c"),
            ("a&<b>='\"c", "a&amp;&lt;b&gt;=&#x27;&quot;c"),
            ("a&<b>='\"c", "a&amp;&lt;b&gt;=&#39;&#34;c"),
            ("é/😀k", r"\u00e9/\ud83d\ude00k"),
            ("é/😀k", r"\u00e9\/\ud83d\ude00k"),
            ("é/😀k", r"\u00E9/\uD83D\uDE00k"),
        ] {
            let forms = forms(secret);
            assert!(forms.iter().any(|form| form == spelled), "{spelled} is none of {forms:?}");
        }
    }

    #[test]
    fn what_is_spelled_alike_by_all_is_one_form() {
        assert_eq!(forms("sk-proj_0.1~a"), ["sk-proj_0.1~a"]);
        assert_eq!(forms("Bearer k1"), ["Bearer k1", "Bearer%20k1"]);
        assert_eq!(forms("a/b"), ["a%2Fb", "a%2fb", "a/b", r"a\/b"]);
    }
}
