//! Newton's method for smooth convex losses, damped by halving.

/// What a loss says at a point: its value, gradient, and the lower triangle of its Hessian
/// (row-major, full width).
pub struct Local {
    pub loss: f64,
    pub gradient: Vec<f64>,
    pub hessian: Vec<f64>,
}

impl Local {
    pub fn zero(width: usize) -> Self {
        Self { loss: 0.0, gradient: vec![0.0; width], hessian: vec![0.0; width * width] }
    }

    pub fn add(&mut self, other: &Self) {
        self.loss += other.loss;
        self.gradient.iter_mut().zip(&other.gradient).for_each(|(a, b)| *a += b);
        self.hessian.iter_mut().zip(&other.hessian).for_each(|(a, b)| *a += b);
    }

    /// Adds `l2[i] / 2 · (x[i] − prior[i])²` for each dimension.
    pub fn pull(&mut self, x: &[f64], prior: &[f64], l2: impl Fn(usize) -> f64) {
        let width = x.len();
        for i in 0..width {
            let off = x[i] - prior[i];
            self.loss += l2(i) / 2.0 * off * off;
            self.gradient[i] += l2(i) * off;
            self.hessian[i * width + i] += l2(i);
        }
    }
}

/// The minimum of a convex loss, from `start` on.
///
/// # Errors
/// Whatever `at` gives: it is asked some ten times, and may take long.
pub fn minimise<E>(
    start: Vec<f64>,
    mut at: impl FnMut(&[f64]) -> Result<Local, E>,
) -> Result<Vec<f64>, E> {
    let mut x = start;
    let mut here = at(&x)?;
    for _ in 0..50 {
        let Some(step) = solve(here.hessian.clone(), here.gradient.clone(), x.len()) else { break };
        let size = step.iter().fold(0.0f64, |most, d| most.max(d.abs()));
        let mut scale = 1.0;
        let (next, there) = loop {
            let next: Vec<f64> = x.iter().zip(&step).map(|(x, d)| x - scale * d).collect();
            let there = at(&next)?;
            if there.loss <= here.loss || scale < 1e-6 {
                break (next, there);
            }
            scale /= 2.0;
        };
        if there.loss > here.loss {
            break;
        }
        (x, here) = (next, there);
        if size < 1e-7 {
            break;
        }
    }
    Ok(x)
}

/// Solves `matrix` · x = `right` by Cholesky; only the lower triangle is read. `None` when the
/// matrix is not positive definite.
fn solve(mut matrix: Vec<f64>, mut right: Vec<f64>, n: usize) -> Option<Vec<f64>> {
    for i in 0..n {
        for j in 0..=i {
            let mut sum = matrix[i * n + j];
            for k in 0..j {
                sum -= matrix[i * n + k] * matrix[j * n + k];
            }
            if i == j {
                if sum <= 0.0 || !sum.is_finite() {
                    return None;
                }
                matrix[i * n + i] = sum.sqrt();
            } else {
                matrix[i * n + j] = sum / matrix[j * n + j];
            }
        }
    }
    for i in 0..n {
        for k in 0..i {
            right[i] -= matrix[i * n + k] * right[k];
        }
        right[i] /= matrix[i * n + i];
    }
    for i in (0..n).rev() {
        for k in i + 1..n {
            right[i] -= matrix[k * n + i] * right[k];
        }
        right[i] /= matrix[i * n + i];
    }
    Some(right)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_by_hand() {
        // [4 2; 2 2] · [1, 2] = [8, 6]
        assert_eq!(solve(vec![4.0, 0.0, 2.0, 2.0], vec![8.0, 6.0], 2), Some(vec![1.0, 2.0]));
        assert_eq!(solve(vec![0.0], vec![1.0], 1), None);
    }
}
