//! The thesis's predictions about sharing, as functions of the ratio of idle processors (Rito,
//! "Scheduling computations", section 5.3).
//!
//! All assume a round in which every busy processor enables two nodes and a ratio `idle` of all
//! processors is idle. They are lower bounds: measured values are higher.

/// Returns (1 - e^-x)/x, which is 1 at 0 and decreases.
fn share(x: f64) -> f64 {
    if x == 0.0 { 1.0 } else { -(-x).exp_m1() / x }
}

/// Returns the gain of Greedy sharing over stealing: the factor by which more work leaves a busy
/// processor (section 5.3.3; the thesis's psi). From 1, where no processor is idle, to 2.
///
/// ```
/// assert!((locksley_policy::gain_of_greedy(0.5) - 1.39347).abs() < 1e-5);
/// ```
pub fn gain_of_greedy(idle: f64) -> f64 {
    1.0 + idle * share(1.0 - idle)
}

/// Returns the gain of Tit-for-tat over stealing (the thesis's delta). From 1 to 1.632.
///
/// ```
/// assert!((locksley_policy::gain_of_tit_for_tat(0.5) - 1.17859).abs() < 1e-5);
/// ```
pub fn gain_of_tit_for_tat(idle: f64) -> f64 {
    let asked = -(-idle).exp_m1();
    1.0 + idle * asked * share((1.0 - idle) * asked)
}

/// Returns the expected number of nodes that leave a busy processor in a round under Greedy
/// (section 5.3.4; the bound of Claim 5.1). At 1 the queues do not grow.
///
/// ```
/// use locksley_policy::{GREEDY_STABLE, leaving_greedy};
///
/// assert!((leaving_greedy(GREEDY_STABLE, 0.0, 0.0) - 1.0).abs() < 1e-6);
/// ```
pub fn leaving_greedy(idle: f64, theta_r: f64, theta_s: f64) -> f64 {
    let stolen = -(-idle * (1.0 - theta_r)).exp_m1();
    stolen + donated(idle, theta_r, 1.0 - theta_s)
}

/// Returns the expected number of nodes that leave a busy processor in a round under Tit-for-tat
/// (the bound of Claim 5.2).
///
/// ```
/// use locksley_policy::{TIT_FOR_TAT_STABLE, leaving_tit_for_tat};
///
/// assert!((leaving_tit_for_tat(TIT_FOR_TAT_STABLE, 0.0, 0.0) - 1.0).abs() < 1e-6);
/// assert!(leaving_tit_for_tat(0.999, 0.5, 0.0) < 1.0);
/// ```
pub fn leaving_tit_for_tat(idle: f64, theta_r: f64, theta_s: f64) -> f64 {
    let stolen = -(-idle * (1.0 - theta_r)).exp_m1();
    // A flag is set as often as a thief tries a processor.
    stolen + donated(idle, theta_r, (1.0 - theta_s) * stolen)
}

/// Returns the donations per busy processor, if each makes an offer with this probability.
fn donated(idle: f64, theta_r: f64, offers: f64) -> f64 {
    let unlucky = 1.0 - (1.0 - idle) * (1.0 - theta_r);
    idle * unlucky * offers * share((1.0 - idle) * offers)
}

/// The ratio of idle processors from which on queues shrink under Greedy with theta_r = theta_s =
/// 0: the one root of [`leaving_greedy`] = 1 (Claim 5.1; the thesis rounds it up to .7375).
pub const GREEDY_STABLE: f64 = 0.737_466_333_447_721;

/// The ratio of idle processors from which on queues shrink under Tit-for-tat with theta_r =
/// theta_s = 0: the one root of [`leaving_tit_for_tat`] = 1 (Claim 5.2; the thesis rounds it up to
/// .8675).
pub const TIT_FOR_TAT_STABLE: f64 = 0.867_426_790_594_917;

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64, tolerance: f64) {
        assert!(
            (found - expected).abs() < tolerance,
            "{found} for {expected}"
        );
    }

    #[test]
    fn gains_are_those_of_the_thesis() {
        close(gain_of_greedy(0.5), 1.39347, 1e-5);
        close(gain_of_greedy(0.6), 1.4945, 1e-4);
        close(gain_of_greedy(1.0), 2.0, 1e-12);
        close(gain_of_tit_for_tat(0.5), 1.17859, 1e-5);
        close(gain_of_tit_for_tat(0.8), 1.417, 1e-3);
        close(gain_of_tit_for_tat(1.0), 1.632, 1e-3);
        assert_eq!(gain_of_greedy(0.0), 1.0);
        assert_eq!(gain_of_tit_for_tat(0.0), 1.0);
    }

    /// Claims 5.1 and 5.2, which the thesis does not prove: both functions grow, so each root is
    /// the only one.
    #[test]
    fn piles_shrink_from_the_thresholds_on() {
        for step in 1..1000 {
            let idle = f64::from(step) / 1000.0;
            let greedy = leaving_greedy(idle, 0.0, 0.0);
            let tit_for_tat = leaving_tit_for_tat(idle, 0.0, 0.0);
            assert_eq!(greedy >= 1.0, idle >= GREEDY_STABLE, "at {idle}");
            assert_eq!(tit_for_tat >= 1.0, idle >= TIT_FOR_TAT_STABLE, "at {idle}");
            assert!(tit_for_tat <= greedy);
        }
    }

    #[test]
    fn flexibility_moves_the_thresholds() {
        close(leaving_greedy(0.80965, 0.5, 0.0), 1.0, 1e-4);
        close(leaving_greedy(0.90831, 0.0, 0.5), 1.0, 1e-4);
        for (theta_r, theta_s) in [(0.5, 0.0), (0.0, 0.5), (0.5, 0.5)] {
            for step in 1..1000 {
                let idle = f64::from(step) / 1000.0;
                assert!(leaving_tit_for_tat(idle, theta_r, theta_s) < 1.0);
            }
        }
    }
}
