//! One-time codes: made from 40 random bits, and read as people type them.

use super::PeopleError;

/// 32 letters and digits; none looks like another one of them.
const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/// Letters of a code.
const LETTERS: usize = 8;

/// A code that nobody guesses, as it is shown: `7KQ2-M9XD`.
pub(super) fn new_code() -> Result<String, PeopleError> {
    let mut bytes = [0; LETTERS];
    getrandom::fill(&mut bytes).map_err(|_| PeopleError::NoRandom)?;
    // 256 is a multiple of 32, so each letter is as likely as any other.
    let letters: String = bytes.iter().map(|b| char::from(ALPHABET[usize::from(b % 32)])).collect();
    Ok(display_code(&letters))
}

/// A code as it was typed: in lower case, without its dash, with `O` for `0` and `I` or `L` for
/// `1`. `None` for what can be no code.
pub fn read_code(typed: &str) -> Option<String> {
    let plain = |c: char| match c.to_ascii_uppercase() {
        'O' => '0',
        'I' | 'L' => '1',
        other => other,
    };
    let letters: String =
        typed.chars().filter(|c| *c != '-' && !c.is_whitespace()).take(LETTERS + 1).map(plain).collect();
    let known = |c: char| u8::try_from(c).is_ok_and(|b| ALPHABET.contains(&b));
    (letters.chars().count() == LETTERS && letters.chars().all(known)).then(|| display_code(&letters))
}

fn display_code(letters: &str) -> String {
    format!("{}-{}", &letters[..LETTERS / 2], &letters[LETTERS / 2..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_code_is_read_however_it_is_typed() {
        for typed in ["7KQ2-M9X0", "7kq2m9xo", " 7k-q2 m9-xO ", "7KQ2M9X0"] {
            assert_eq!(read_code(typed).as_deref(), Some("7KQ2-M9X0"), "{typed}");
        }
        for typed in ["", "7KQ2", "7KQ2-M9X00", "7KQ2-M9XU", "7KQ2-M9Xé", "123456789", "../../.."] {
            assert_eq!(read_code(typed), None, "{typed}");
        }
    }

    #[test]
    fn codes_are_of_40_bits_and_differ() {
        let codes: BTreeSet<String> = (0..1000).map(|_| new_code().expect("random numbers")).collect();
        assert_eq!(codes.len(), 1000);
        assert!(codes.iter().all(|code| read_code(code).as_ref() == Some(code)));
        let letters: BTreeSet<char> = codes.iter().flat_map(|code| code.chars()).collect();
        assert_eq!(letters.len(), ALPHABET.len() + 1, "each letter is used");
    }
}
