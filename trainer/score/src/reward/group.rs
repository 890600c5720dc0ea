/// Added to a group's deviation, as TRL does, so that equal rewards give 0 and not a fault.
pub const STD_FLOOR: f64 = 1e-4;

/// What a group's centred rewards are divided by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scaling {
    /// The group's own standard deviation (n − 1), plus [`STD_FLOOR`].
    Group,
    /// Nothing.
    None,
}

/// Advantages of the rollouts of one prompt, group-normalised first and then each multiplied by
/// its scale (spec 2). `None` where the lengths differ.
pub fn group_advantages(rewards: &[f64], scales: &[f64], scaling: Scaling) -> Option<Vec<f64>> {
    if rewards.len() != scales.len() {
        return None;
    }
    let n = rewards.len() as f64;
    let mean = rewards.iter().sum::<f64>() / n;
    let divisor = match scaling {
        Scaling::None => 1.0,
        Scaling::Group => {
            let squares = rewards.iter().map(|reward| (reward - mean).powi(2)).sum::<f64>();
            (squares / (n - 1.0).max(1.0)).sqrt() + STD_FLOOR
        }
    };
    Some(rewards.iter().zip(scales).map(|(r, s)| (r - mean) / divisor * s).collect())
}
