//! Machine code that the cache could not keep, within a bound: of more, what came first goes, and is compiled again
//! when a worker wants it.

use super::protocol::COMPILED_BYTES_MAX;
use std::collections::VecDeque;
use std::sync::Arc;

/// Bytes of code that are kept in memory where the cache keeps none: whatever one component may have fits.
pub const UNKEPT_BYTES_MAX: usize = COMPILED_BYTES_MAX;

/// Code by its component's SHA-256, the latest at the end.
pub(super) struct Unkept {
    bytes_max: usize,
    codes: VecDeque<(String, Arc<[u8]>)>,
}

impl Default for Unkept {
    fn default() -> Self {
        Self::of(UNKEPT_BYTES_MAX)
    }
}

impl Unkept {
    fn of(bytes_max: usize) -> Self {
        Self { bytes_max, codes: VecDeque::new() }
    }

    pub(super) fn get(&self, sha256: &str) -> Option<Arc<[u8]>> {
        self.codes.iter().find(|(known, _)| known == sha256).map(|(_, code)| code.clone())
    }

    pub(super) fn keep(&mut self, sha256: &str, code: Arc<[u8]>) {
        self.codes.retain(|(known, _)| known != sha256);
        self.codes.push_back((sha256.to_owned(), code));
        while self.bytes() > self.bytes_max {
            self.codes.pop_front();
        }
    }

    fn bytes(&self) -> usize {
        self.codes.iter().map(|(_, code)| code.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_bytes_are_kept_and_what_came_first_goes() {
        let mut unkept = Unkept::of(10);
        let code = |bytes: usize| Arc::from(vec![7; bytes]);
        let kept = |unkept: &Unkept| {
            let all = ["a", "b", "c", "d"].into_iter();
            all.filter(|name| unkept.get(name).is_some()).collect::<String>()
        };
        for (name, bytes, there) in
            [("a", 4, "a"), ("b", 6, "ab"), ("c", 1, "bc"), ("b", 6, "bc"), ("d", 4, "bd"), ("a", 10, "a")]
        {
            unkept.keep(name, code(bytes));
            assert_eq!(kept(&unkept), there, "after {bytes} of {name}");
            assert!(unkept.bytes() <= 10);
        }
        // What no bound would let in is not kept, and goes after everything else.
        unkept.keep("b", code(11));
        assert_eq!((kept(&unkept), unkept.bytes()), (String::new(), 0));
    }

    #[test]
    fn whatever_one_component_may_have_is_kept_and_a_byte_more_makes_the_first_go() {
        let mut unkept = Unkept::default();
        // Shared, so that the bound is reached in a quarter of its memory.
        let quarter: Arc<[u8]> = Arc::from(vec![7; UNKEPT_BYTES_MAX / 4]);
        for name in ["a", "b", "c", "d"] {
            unkept.keep(name, quarter.clone());
        }
        assert!(unkept.get("a").is_some() && unkept.bytes() == COMPILED_BYTES_MAX);
        unkept.keep("e", Arc::from([7]));
        assert!(unkept.get("a").is_none() && unkept.get("b").is_some() && unkept.get("e").is_some());
    }
}
