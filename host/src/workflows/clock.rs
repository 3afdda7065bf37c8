//! Whether the clock of people was set, by the clock of the machine.

use cofferdam_store::{now_ms, running_ms};

/// What a clock may be off by between two looks before waits follow it, in milliseconds.
const DRIFT_MAX: i64 = 2_000;

/// Tells a clock that was set from time that went by.
pub(super) struct SteadyClock {
    /// Both in milliseconds: of people, and of the machine since it was started, sleep included.
    wall: i64,
    machine: i64,
}

impl SteadyClock {
    pub(super) fn now() -> Self {
        Self { wall: now_ms(), machine: running_ms() }
    }

    /// By how much the clock was set since the last look, if it was.
    pub(super) fn detect_jump(&mut self) -> Option<i64> {
        let before = std::mem::replace(self, Self::now());
        drift((before.wall, self.wall), (before.machine, self.machine))
    }
}

fn drift(wall: (i64, i64), machine: (i64, i64)) -> Option<i64> {
    let drift = (wall.1 - wall.0) - (machine.1 - machine.0);
    (drift.abs() > DRIFT_MAX).then_some(drift)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_was_set_is_told_from_time_that_went_by() {
        for (wall, machine, expected) in [
            ((1_000, 1_500), (7_000, 7_500), None),
            // The machine slept: both went on.
            ((1_000, 9_000_000), (7_000, 9_006_000), None),
            ((1_000, 3_601_500), (7_000, 7_500), Some(3_600_000)),
            ((3_601_000, 1_500), (7_000, 7_500), Some(-3_600_000)),
            ((0, DRIFT_MAX), (0, 0), None),
        ] {
            assert_eq!(drift(wall, machine), expected, "{wall:?} {machine:?}");
        }
    }
}
