//! Randomness for tests that is the same in every run.

/// A generator (xorshift64*): small, and good enough to pick bytes.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % bound
    }

    /// Up to `longest` bytes out of `choice`.
    pub(crate) fn bytes(&mut self, choice: &[u8], longest: usize) -> Vec<u8> {
        let length = self.below(longest + 1);
        (0..length).map(|_| choice[self.below(choice.len())]).collect()
    }
}
