//! Logistic regression with an L2 penalty towards given weights.

use std::convert::Infallible;

use super::newton::{Local, minimise};

/// Minimises the log-loss of the rows plus `l2`/2 · |(w − prior) · sd|², where `sd` is each
/// column's standard deviation. The first weight, of prior likewise, is the bias; without a prior
/// it is free.
pub fn fit<const N: usize>(rows: &[([f64; N], bool)], l2: f64, prior: Option<&[f64]>) -> Vec<f64> {
    let count = rows.len().max(1) as f64;
    let mean = |at: usize| rows.iter().map(|(row, _)| row[at]).sum::<f64>() / count;
    let sd: Vec<f64> = (0..N)
        .map(|at| {
            let mean = mean(at);
            rows.iter().map(|(row, _)| (row[at] - mean).powi(2)).sum::<f64>() / count
        })
        .map(|variance| if variance > 0.0 { variance.sqrt() } else { 1.0 })
        .collect();
    let width = N + 1;
    let of = |i: usize| if i == 0 { 1.0 } else { sd[i - 1] };
    let start: Vec<f64> = (0..width).map(|i| prior.map_or(0.0, |prior| prior[i] * of(i))).collect();
    let penalty = |i: usize| if i == 0 && prior.is_none() { 1e-9 } else { l2 };
    let solved = minimise(start.clone(), |x| {
        let mut local = Local::zero(width);
        for (row, label) in rows {
            let value = |i: usize| if i == 0 { 1.0 } else { row[i - 1] / sd[i - 1] };
            let odds = (0..width).map(|i| x[i] * value(i)).sum::<f64>();
            // ln(1 + e^±odds) without overflow.
            let signed = if *label { -odds } else { odds };
            local.loss += signed.max(0.0) + (-signed.abs()).exp().ln_1p();
            let p = 1.0 / (1.0 + (-odds).exp());
            let error = p - f64::from(u8::from(*label));
            let curve = (p * (1.0 - p)).max(1e-12);
            for i in 0..width {
                local.gradient[i] += error * value(i);
                for j in 0..=i {
                    local.hessian[i * width + j] += curve * value(i) * value(j);
                }
            }
        }
        local.pull(x, &start, penalty);
        Ok::<_, Infallible>(local)
    });
    let Ok(solved) = solved;
    (0..width).map(|i| solved[i] / of(i)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_binary_feature_by_hand() {
        // 8 of 10 with the feature happen, 2 of 10 without: bias = ln(.2/.8), bias + w = ln(.8/.2).
        let rows: Vec<_> = (0..20)
            .map(|at| ([f64::from(u8::from(at < 10))], if at < 10 { at < 8 } else { at < 12 }))
            .collect();
        let fitted = fit(&rows, 1e-9, None);
        let four = 4.0f64.ln();
        assert!(
            (fitted[0] + four).abs() < 1e-6 && (fitted[1] - 2.0 * four).abs() < 1e-6,
            "{fitted:?}"
        );
        let held = fit(&rows, 1e9, Some(&[0.5, -3.0]));
        assert!((held[0] - 0.5).abs() < 1e-6 && (held[1] + 3.0).abs() < 1e-6, "{held:?}");
    }

    #[test]
    fn separable_data_stays_finite() {
        let rows = [([0.0], false), ([1.0], true)];
        assert!(fit(&rows, 0.1, None).iter().all(|x| x.is_finite()));
        assert_eq!(fit::<1>(&[], 0.1, None), [0.0, 0.0]);
    }
}
