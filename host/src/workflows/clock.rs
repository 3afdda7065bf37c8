//! Whether the clock of people was set, by the clock of the machine.

use cofferdam_store::{now_ms, running_ms};

/// What a clock may be off by between two looks before waits follow it, in milliseconds.
const DRIFT_MAX: i64 = 2_000;

/// Tells a clock that was set from time that went by.
pub(super) struct SteadyClock {
    /// Both in milliseconds: of people, and of the machine since it was started, sleep included.
    wall: i64,
    machine: i64,
    /// By how much it was set, as long as waits do not follow, in milliseconds.
    owed: i64,
}

impl SteadyClock {
    pub(super) fn now() -> Self {
        Self { wall: now_ms(), machine: running_ms(), owed: 0 }
    }

    /// By how much the clock was set, in milliseconds, as long as waits do not follow.
    pub(super) fn detect_jump(&mut self) -> i64 {
        let before = std::mem::replace(self, Self::now());
        let jump = drift((before.wall, self.wall), (before.machine, self.machine));
        self.owed = before.owed + jump.unwrap_or(0);
        self.owed
    }

    /// Waits follow.
    pub(super) fn settle(&mut self) {
        self.owed = 0;
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
    fn what_waits_do_not_follow_yet_is_owed() {
        let mut clock = SteadyClock { wall: now_ms() - 3_600_000, machine: running_ms(), owed: 0 };
        let by = clock.detect_jump();
        assert!((by - 3_600_000).abs() < DRIFT_MAX, "{by}");
        assert_eq!(clock.detect_jump(), by, "as nobody has stored it");
        clock.settle();
        assert_eq!(clock.detect_jump(), 0);
    }

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
