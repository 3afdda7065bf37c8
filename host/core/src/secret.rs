//! A text that must not be shown, such as a token or a key: it prints as `***`, and is taken out of
//! all that might repeat it.
//!
//! A value that becomes a [`Secret`] is known to [`redact`] from then on, for as long as the
//! process runs: a log that passes every line through it cannot be told one by a library, an error
//! or a forgotten place. It takes out the text as it is, percent-encoded as in URLs, and escaped as
//! writers of JSON and HTML do it; no other disguise of it.

mod forms;

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

/// What stands in for a secret where text is shown.
const HIDDEN: &str = "***";
/// Secrets that [`redact`] knows at once: a token, a key, and those that a reload has brought. Of
/// more, the oldest that nobody holds are forgotten; what is held may still be sent, and is known.
pub const KNOWN_MAX: usize = 64;
/// A shorter text is nobody's secret, and taking it out would leave no text whole.
const KNOWN_BYTES_MIN: usize = 4;

/// A secret. Only [`Secret::reveal`] gives it away.
#[derive(Clone)]
pub struct Secret(Arc<str>);

impl Secret {
    /// Takes the text as it is, and has [`redact`] know it.
    pub fn new(text: impl Into<String>) -> Self {
        let text: String = text.into();
        Self(KNOWN.write().unwrap_or_else(PoisonError::into_inner).insert(&text))
    }

    /// The secret itself, for the one place that sends it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HIDDEN)
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HIDDEN)
    }
}

/// `text` without any secret of this process.
pub fn redact(text: &str) -> Cow<'_, str> {
    KNOWN.read().unwrap_or_else(PoisonError::into_inner).redact(text)
}

/// Takes the secrets of this process out of a text that comes in pieces.
#[derive(Debug, Default)]
pub struct Redactor {
    /// What may be the beginning of a secret.
    held: String,
}

impl Redactor {
    /// What can be shown once this piece has come: the end that may turn out to be a secret is held
    /// back.
    pub fn take(&mut self, piece: &str) -> String {
        self.held.push_str(piece);
        let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
        let (shown, held) = known.redact_so_far(&self.held);
        self.held = held;
        shown
    }

    /// What was held back, once nothing more comes: a shorter secret may still be in it.
    pub fn rest(&mut self) -> String {
        redact(&std::mem::take(&mut self.held)).into_owned()
    }
}

/// Takes certain secrets out of bytes that come in pieces: what a server says that was sent one.
#[derive(Clone, Default)]
pub struct Blanker {
    /// How they may be written, the longest first.
    forms: Vec<String>,
    /// What may be the beginning of one.
    held: Vec<u8>,
}

impl Blanker {
    /// For these secrets, and for what stands in them after a scheme: `Bearer TOKEN`.
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a Secret>) -> Self {
        let mut parts: Vec<&str> = Vec::new();
        for Secret(whole) in secrets {
            parts.push(whole);
            parts.extend(whole.rsplit_once(' ').map(|(_, token)| token));
        }
        let forms = all_forms(parts.into_iter().filter(|part| part.len() >= KNOWN_BYTES_MIN));
        Self { forms, held: Vec::new() }
    }

    /// What can be handed on once this piece has come: the end that may turn out to be a secret is
    /// held back.
    pub fn take(&mut self, piece: &[u8]) -> Vec<u8> {
        if self.forms.is_empty() {
            return piece.to_vec();
        }
        self.held.extend_from_slice(piece);
        let (shown, held) = blank_so_far(&self.forms, &self.held);
        self.held = held;
        shown
    }

    /// What was held back, once nothing more comes: a shorter secret may still be in it.
    pub fn rest(&mut self) -> Vec<u8> {
        let mut rest = std::mem::take(&mut self.held);
        let mut shown = Vec::new();
        while !rest.is_empty() {
            // Longer ones cannot become whole any more.
            let found = self.forms.iter().find(|form| rest.starts_with(form.as_bytes())).map(String::len);
            shown.extend_from_slice(if found.is_some() { HIDDEN.as_bytes() } else { &rest[..1] });
            rest.drain(..found.unwrap_or(1));
        }
        shown
    }

    /// Whether one of the secrets is in a text, in letters of any case: hosts, schemes and
    /// names of headers are read without it.
    pub fn is_in(&self, text: &[u8]) -> bool {
        let text = text.to_ascii_lowercase();
        self.forms.iter().any(|form| {
            let form = form.to_ascii_lowercase();
            text.windows(form.len()).any(|part| part == form.as_bytes())
        })
    }

    /// All of a text without the secrets.
    pub fn redact_all(&self, text: &[u8]) -> Vec<u8> {
        let mut fresh = Self { forms: self.forms.clone(), held: Vec::new() };
        let mut shown = fresh.take(text);
        shown.extend(fresh.rest());
        shown
    }
}

impl fmt::Debug for Blanker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Blanker of {} forms", self.forms.len())
    }
}

static KNOWN: RwLock<KnownSecrets> =
    RwLock::new(KnownSecrets { secrets: VecDeque::new(), forms: Vec::new() });

/// The secrets of a process.
struct KnownSecrets {
    /// The oldest first. What is held elsewhere too may still be sent.
    secrets: VecDeque<Arc<str>>,
    /// How they may be written, the longest first: one may be a part of another.
    forms: Vec<String>,
}

impl KnownSecrets {
    /// Takes a secret in as the latest, to be held for as long as it is in use.
    fn insert(&mut self, secret: &str) -> Arc<str> {
        if secret.len() < KNOWN_BYTES_MIN {
            return secret.into();
        }
        let at = self.secrets.iter().position(|known| **known == *secret);
        if let Some(known) = at.and_then(|at| self.secrets.remove(at)) {
            self.secrets.push_back(known.clone());
            return known;
        }
        while self.secrets.len() >= KNOWN_MAX
            && let Some(unused) = self.secrets.iter().position(|known| Arc::strong_count(known) == 1)
        {
            self.secrets.remove(unused);
        }
        let known: Arc<str> = secret.into();
        self.secrets.push_back(known.clone());
        self.forms = all_forms(self.secrets.iter().map(|known| &**known));
        known
    }

    fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut redacted = Cow::Borrowed(text);
        for form in &self.forms {
            if redacted.contains(form.as_str()) {
                redacted = redacted.replace(form.as_str(), HIDDEN).into();
            }
        }
        redacted
    }

    /// What can be shown of a text that may go on, and what must wait.
    fn redact_so_far(&self, text: &str) -> (String, String) {
        let (shown, held) = blank_so_far(&self.forms, text.as_bytes());
        // A secret is text, so neither it nor its beginning ends within a character.
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        (text(shown), text(held))
    }
}

/// What can be shown of a text that may go on, without what is written in any of these forms, and
/// the end that must wait.
fn blank_so_far(forms: &[String], text: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let mut shown = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.first() {
        // The longest comes first, so what may still become a longer one is waited for.
        let begins = |form: &&[u8]| rest.starts_with(form) || form.starts_with(rest);
        let mut alike = forms.iter().map(String::as_bytes).filter(|form| form.first() == Some(first));
        match alike.find(begins) {
            Some(form) if rest.starts_with(form) => {
                shown.extend_from_slice(HIDDEN.as_bytes());
                rest = &rest[form.len()..];
            }
            Some(_) => break,
            None => {
                shown.push(*first);
                rest = &rest[1..];
            }
        }
    }
    (shown, rest.to_vec())
}

/// How these secrets may be written, the longest first.
fn all_forms<'a>(secrets: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut all: Vec<String> = secrets.flat_map(forms::forms).collect();
    all.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_never_prints() {
        let secret = Secret::new("sk-1");
        assert_eq!(secret.reveal(), "sk-1");
        assert_eq!(format!("{secret} {secret:?} {:?}", Some(&secret)), "*** *** Some(***)");
    }

    #[test]
    fn whatever_became_a_secret_is_known_in_every_form() {
        let said = "key k/1+\"x\\ in a URL: k%2F1%2B%22x%5C or k%2f1%2b%22x%5c; in JSON: \"k/1+\\\"x\\\\\"";
        assert_eq!(redact(said), said);
        drop(Secret::new("k/1+\"x\\"));
        assert_eq!(redact(said), "key *** in a URL: *** or ***; in JSON: \"***\"");
        assert_eq!(
            redact(r#"PHP: k\/1+\"x\\, C#: k/1\u002B\u0022x\\, HTML: k/1+&quot;x\"#),
            "PHP: ***, C#: ***, HTML: ***"
        );
        // The longest first: a part of it is a secret, too.
        drop((Secret::new("half-of-it"), Secret::new("7:half-of-it")));
        assert_eq!(redact("/bot7:half-of-it/x /bot7%3Ahalf-of-it/x half-of-it2"), "/bot***/x /bot***/x ***2");
        assert!(matches!(redact("nothing of it"), Cow::Borrowed(_)));
    }

    #[test]
    fn no_part_of_a_secret_is_shown_of_a_text_that_comes_in_pieces() {
        let mut known = KnownSecrets { secrets: VecDeque::new(), forms: Vec::new() };
        for secret in ["abcabd", "token", "tokens-of-it"] {
            known.insert(secret);
        }
        for (text, expected) in [
            ("a token and abcabcabd!", "a *** and abc***!"),
            ("tokens-of-it, tokens", "***, ***s"),
            ("é abcab", "é abcab"),
            ("abcabdabcabd", "******"),
        ] {
            let starts = text.char_indices().map(|(at, _)| at);
            for at in starts {
                let (first, held) = known.redact_so_far(&text[..at]);
                let (second, held) = known.redact_so_far(&format!("{held}{}", &text[at..]));
                assert_eq!(known.redact(&format!("{first}{second}{held}")), expected, "{text:?} at {at}");
                assert!(!format!("{first}{second}").contains("token"), "{text:?} at {at}");
            }
        }
        assert_eq!(known.redact_so_far("see tok"), ("see ".into(), "tok".into()));
        drop(Secret::new("a-key-in-pieces"));
        let mut redactor = Redactor::default();
        let shown: Vec<_> = ["it is a-key", "-in-", "pieces", "; a"].map(|piece| redactor.take(piece)).into();
        assert_eq!(shown, ["it is ", "", "***", "; "]);
        assert_eq!((redactor.rest(), redactor.rest()), ("a".into(), String::new()));
        // A shorter one that begins a longer one, which does not come to its end.
        drop((Secret::new("begun-key"), Secret::new("begun-key-and-more")));
        assert_eq!((redactor.take("; begun-key-and").as_str(), redactor.rest().as_str()), ("; ", "***-and"));
    }

    #[test]
    fn bytes_are_blanked_wherever_they_are_cut() {
        let secrets = [Secret::new("Bearer tok/en-1234"), Secret::new("tok/en")];
        let text = b"\xffBearer tok/en-1234, tok%2Fen-1234 tok/enx Bearer tok/en-12";
        let expected = b"\xff***, *** ***x Bearer ***-12";
        for at in 0..=text.len() {
            for between in at..=text.len() {
                let mut blanker = Blanker::new(&secrets);
                let mut shown = blanker.take(&text[..at]);
                shown.extend(blanker.take(&text[at..between]));
                shown.extend(blanker.take(&text[between..]));
                shown.extend(blanker.rest());
                let shown = String::from_utf8_lossy(&shown);
                assert_eq!(shown, String::from_utf8_lossy(expected), "cut at {at} and {between}");
            }
        }
        assert_eq!(Blanker::new(&secrets).redact_all(b"tok/en"), b"***");
        assert_eq!(Blanker::default().redact_all(b"as it is"), b"as it is");
    }

    #[test]
    fn a_secret_is_found_in_letters_of_any_case() {
        let blanker = Blanker::new(&[Secret::new("Bearer tOk/en-1")]);
        for with in ["x-bearer tok/en-1", "TOK/EN-1.evil.test", "tok%2fen-1", "https://a/TOK%2FEN-1?x"] {
            assert!(blanker.is_in(with.as_bytes()), "{with}");
        }
        for without in ["", "tok/en-", "bearer", "tok/en 1"] {
            assert!(!blanker.is_in(without.as_bytes()), "{without}");
        }
        assert!(!Blanker::default().is_in(b"tok/en-1"));
    }

    #[test]
    fn what_is_no_secret_of_anybodys_takes_nothing_out() {
        let mut known = KnownSecrets { secrets: VecDeque::new(), forms: Vec::new() };
        for short in ["", "a", "abc"] {
            known.insert(short);
        }
        assert_eq!(known.redact("abc"), "abc");
        for n in 0..=KNOWN_MAX {
            known.insert(&format!("secret-{n:04}"));
            known.insert(&format!("secret-{n:04}"));
        }
        assert_eq!(known.secrets.len(), KNOWN_MAX);
        assert_eq!(known.redact("secret-0000 secret-0001 secret-0064"), "secret-0000 *** ***");
    }

    /// As where a reload brings a new one every hour, and the token of a bot stays.
    #[test]
    fn what_is_held_or_was_read_again_is_not_forgotten_for_newer_ones() {
        let mut known = KnownSecrets { secrets: VecDeque::new(), forms: Vec::new() };
        let held = known.insert("held-by-somebody");
        known.insert("read-again");
        known.insert("never-again");
        for n in 0..KNOWN_MAX {
            known.insert(&format!("newer-{n:04}"));
            known.insert("read-again");
        }
        assert_eq!(known.secrets.len(), KNOWN_MAX);
        let said = "held-by-somebody read-again never-again newer-0001 newer-0002";
        assert_eq!(known.redact(said), "*** *** never-again newer-0001 ***");
        drop(held);
        known.insert("one-more");
        assert_eq!(known.redact("held-by-somebody one-more"), "held-by-somebody ***");
        // As many as are held, and no more than there may be once they are not.
        let all: Vec<_> = (0..=KNOWN_MAX).map(|n| known.insert(&format!("in-use-{n:04}"))).collect();
        assert_eq!((all.len(), known.secrets.len()), (KNOWN_MAX + 1, KNOWN_MAX + 1));
        assert_eq!(known.redact("in-use-0000 in-use-0001 in-use-0064"), "*** *** ***");
        drop(all);
        known.insert("after-them");
        assert_eq!(known.secrets.len(), KNOWN_MAX);
    }
}
