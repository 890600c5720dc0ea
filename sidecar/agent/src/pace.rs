use std::time::Duration;

/// How fast the model is, learned from its last turn, to leave time for the answer.
///
/// One figure: the time of a prompt token, a sampled one counting [`Pace::SAMPLED`] of them (on
/// CPUs prefill is 5 to 7 times as fast as decoding; where the ratio is larger, both are fast).
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Pace {
    seconds: Option<f64>,
}

impl Pace {
    const SAMPLED: f64 = 6.0;

    pub fn learn(&mut self, prompt: u32, sampled: u32, took: Duration) {
        let units = units(prompt, sampled);
        if units > 0.0 {
            self.seconds = Some(took.as_secs_f64() / units);
        }
    }

    /// Time for so many tokens; `None` before the first turn.
    pub fn estimate(&self, prompt: u32, sampled: u32) -> Option<Duration> {
        let seconds = self.seconds? * units(prompt, sampled);
        Some(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
    }
}

fn units(prompt: u32, sampled: u32) -> f64 {
    f64::from(prompt) + Pace::SAMPLED * f64::from(sampled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_turn_sets_the_pace() {
        let mut pace = Pace::default();
        assert_eq!(pace.estimate(1, 1), None);
        pace.learn(0, 0, Duration::from_secs(1));
        assert_eq!(pace.estimate(1, 1), None);
        pace.learn(400, 100, Duration::from_secs(10));
        assert_eq!(pace.estimate(40, 10), Some(Duration::from_secs(1)));
    }
}
