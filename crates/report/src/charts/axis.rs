//! Axes: the positions and labels of ticks.

use crate::format::{Unit, tick};

/// How values are placed on an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    Linear,
    /// A factor of two is the same distance everywhere.
    Log,
}

/// One axis of a plot.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    pub(crate) label: String,
    pub(crate) scale: Scale,
    /// Values at the ends.
    low: f64,
    high: f64,
    /// Values at the ticks.
    ticks: Vec<f64>,
    /// Factor by which a value is multiplied before it is shown.
    factor: f64,
}

impl Axis {
    /// Returns an axis from 0 to at least `most`, with about `wanted` ticks.
    pub(crate) fn from_zero(label: impl Into<String>, most: f64, wanted: usize) -> Axis {
        let most = if most.is_finite() && most > 0.0 {
            most
        } else {
            1.0
        };
        let step = nice_step(most / wanted.max(1) as f64);
        let steps = (most / step - 1e-9).ceil().max(1.0);
        let ticks = (0..=steps as usize).map(|i| i as f64 * step).collect();
        Axis {
            label: label.into(),
            scale: Scale::Linear,
            low: 0.0,
            high: steps * step,
            ticks,
            factor: 1.0,
        }
    }

    /// Returns an axis of whole numbers from 0.
    pub(crate) fn counts(label: impl Into<String>, most: f64, wanted: usize) -> Axis {
        let mut axis = Axis::from_zero(label, most.max(1.0), wanted);
        axis.ticks.retain(|tick| tick.fract() == 0.0);
        axis
    }

    /// Returns an axis of seconds from 0, shown in a suitable unit.
    pub(crate) fn seconds(label: &str, most: f64, wanted: usize) -> Axis {
        let unit = Unit::for_seconds(most);
        let axis = Axis::from_zero(
            format!("{label} ({})", unit.name),
            most * unit.per_second,
            wanted,
        );
        Axis {
            high: axis.high / unit.per_second,
            ticks: axis
                .ticks
                .iter()
                .map(|tick| tick / unit.per_second)
                .collect(),
            factor: unit.per_second,
            ..axis
        }
    }

    /// Returns a logarithmic axis of seconds.
    pub(crate) fn log_seconds(label: &str, least: f64, most: f64) -> Axis {
        let unit = Unit::for_seconds(most);
        let all = one_two_five(round_down(least * unit.per_second), most * unit.per_second);
        let ticks: Vec<f64> = all.iter().map(|tick| tick / unit.per_second).collect();
        let (low, high) = (ticks[0], *ticks.last().unwrap_or(&most));
        let label = format!("{label} ({})", unit.name);
        Axis {
            label,
            scale: Scale::Log,
            low,
            high,
            ticks: thin(ticks, 7),
            factor: unit.per_second,
        }
    }

    /// Returns an axis of numbers of workers: linear up to 16, otherwise logarithmic with powers of
    /// two.
    pub(crate) fn workers(label: impl Into<String>, numbers: &[usize], wanted: usize) -> Axis {
        let most = numbers.iter().copied().max().unwrap_or(1).max(2);
        if most <= 16 {
            let step = (1..)
                .find(|step| most.div_ceil(*step) <= wanted.max(1))
                .unwrap_or(1);
            let ticks = (0..=most / step).map(|i| (i * step) as f64).collect();
            return Axis {
                label: label.into(),
                scale: Scale::Linear,
                low: 0.0,
                high: most as f64 + 0.3,
                ticks,
                factor: 1.0,
            };
        }
        let least = numbers.iter().copied().min().unwrap_or(1).max(1) as f64;
        let (from, to) = (
            least.log2().floor() as i32,
            (most as f64).log2().ceil() as i32,
        );
        let powers = (from..=to)
            .map(|power| 2f64.powi(power))
            .filter(|power| *power <= most as f64);
        let ticks = thin(powers.collect(), wanted.max(2) + 1);
        let (low, high) = (2f64.powi(from) / 1.08, most as f64 * 1.08);
        Axis {
            label: label.into(),
            scale: Scale::Log,
            low,
            high,
            ticks,
            factor: 1.0,
        }
    }

    /// Returns an axis with the scale of `other`, an axis of workers, so that the ideal speed-up is
    /// a straight line.
    pub(crate) fn like(
        other: &Axis,
        label: impl Into<String>,
        least: f64,
        most: f64,
        wanted: usize,
    ) -> Axis {
        match other.scale {
            Scale::Linear => Axis::from_zero(label, most, wanted),
            Scale::Log => {
                let (from, to) = (
                    least.clamp(1e-3, 1.0).log2().floor() as i32,
                    most.max(2.0).log2().ceil() as i32,
                );
                let ticks: Vec<f64> = (from..=to).map(|power| 2f64.powi(power)).collect();
                let (low, high) = (ticks[0], *ticks.last().unwrap_or(&most));
                Axis {
                    label: label.into(),
                    scale: Scale::Log,
                    low,
                    high,
                    ticks: thin(ticks, 8),
                    factor: 1.0,
                }
            }
        }
    }

    /// Ends the axis at `most`, without the space up to the next tick.
    pub(crate) fn ending_at(mut self, most: f64) -> Axis {
        if most > self.low && most < self.high {
            self.high = most;
            self.ticks.retain(|tick| *tick <= most);
        }
        self
    }

    /// Returns the position of a value on the axis.
    pub(crate) fn at(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear => value.clamp(self.low, self.high),
            Scale::Log => value.clamp(self.low, self.high).log2(),
        }
    }

    /// Returns the positions of the ends.
    pub(crate) fn range(&self) -> std::ops::Range<f64> {
        self.at(self.low)..self.at(self.high)
    }

    /// Returns the positions of the ticks.
    pub(crate) fn places(&self) -> Vec<f64> {
        self.ticks.iter().map(|tick| self.at(*tick)).collect()
    }

    /// Returns the label of the tick at a position.
    pub(crate) fn say(&self, place: f64) -> String {
        let value = if self.scale == Scale::Log {
            place.exp2()
        } else {
            place
        };
        // Removes the rounding errors of log2 and of the unit.
        let value = value * self.factor;
        let rounded: f64 = format!("{value:.9e}").parse().unwrap_or(value);
        tick(rounded)
    }

    /// Returns the length of the longest label, in characters.
    pub(crate) fn widest(&self) -> usize {
        self.places()
            .into_iter()
            .map(|place| self.say(place).chars().count())
            .max()
            .unwrap_or(1)
    }
}

/// Returns the smallest of 1, 2, 5 times a power of ten that is at least `raw`.
fn nice_step(raw: f64) -> f64 {
    let power = 10f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 5.0]
        .into_iter()
        .map(|m| m * power)
        .find(|step| *step >= raw * (1.0 - 1e-9));
    step.unwrap_or(10.0 * power)
}

/// Returns the largest of 1, 2, 5 times a power of ten that is not above `value`.
fn round_down(value: f64) -> f64 {
    if value <= 0.0 || !value.is_finite() {
        return 1e-3;
    }
    let power = 10f64.powf(value.log10().floor());
    [5.0, 2.0, 1.0]
        .into_iter()
        .map(|m| m * power)
        .find(|v| *v <= value * (1.0 + 1e-9))
        .unwrap_or(power)
}

/// Returns 1, 2, 5 times powers of ten from `low`, which is one of them, to the first that is not
/// below `high`.
fn one_two_five(low: f64, high: f64) -> Vec<f64> {
    let mut ticks = vec![low];
    while ticks.len() < 200 && ticks[ticks.len() - 1] < high * (1.0 - 1e-9) {
        let last = ticks[ticks.len() - 1];
        ticks.push(nice_step(last * 1.5));
    }
    if ticks.len() == 1 {
        ticks.push(nice_step(low * 1.5));
    }
    ticks
}

/// Keeps every second, third, ... tick so that at most `limit` remain.
fn thin(ticks: Vec<f64>, limit: usize) -> Vec<f64> {
    let every = ticks.len().div_ceil(limit.max(1));
    ticks.into_iter().step_by(every.max(1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<String> {
        axis.places()
            .into_iter()
            .map(|place| axis.say(place))
            .collect()
    }

    #[test]
    fn linear_axes_have_round_ticks_and_hold_the_largest_value() {
        let axis = Axis::seconds("time", 0.0419, 4);
        assert_eq!(axis.label, "time (ms)");
        assert_eq!(labels(&axis), ["0", "20", "40", "60"]);
        assert!(axis.at(0.0419) < axis.range().end);
        assert_eq!(
            labels(&Axis::from_zero("", 1.0, 5)),
            ["0", "0.2", "0.4", "0.6", "0.8", "1"]
        );
    }

    #[test]
    fn logarithmic_axes_go_by_one_two_five() {
        let axis = Axis::log_seconds("time", 0.0013, 0.04);
        assert_eq!(labels(&axis), ["1", "2", "5", "10", "20", "50"]);
        assert!(axis.range().contains(&axis.at(0.0013)));
    }

    #[test]
    fn workers_are_whole_numbers_or_powers_of_two() {
        assert_eq!(labels(&Axis::workers("", &[1, 2], 8)), ["0", "1", "2"]);
        assert_eq!(
            labels(&Axis::workers("", &[1, 64], 8)),
            ["1", "2", "4", "8", "16", "32", "64"]
        );
        assert!(labels(&Axis::workers("", &[1, 1_000_000], 4)).len() <= 5);
    }

    #[test]
    fn an_axis_can_end_at_the_largest_value() {
        let axis = |most| Axis::from_zero("", 10.0, 5).ending_at(most);
        assert_eq!(labels(&axis(7.0)), ["0", "2", "4", "6"]);
        assert_eq!(axis(7.0).range(), 0.0..7.0);
        assert_eq!(axis(8.0).range(), 0.0..8.0);
        assert_eq!(labels(&axis(8.0)), ["0", "2", "4", "6", "8"]);
        for outside in [0.0, -1.0, 10.0, 99.0, f64::NAN] {
            assert_eq!(axis(outside).range(), 0.0..10.0, "{outside}");
        }
    }

    #[test]
    fn steps_are_one_two_or_five() {
        let steps = [0.9, 1.0, 1.1, 2.0, 2.1, 5.0, 5.1, 10.0, 0.03].map(nice_step);
        assert_eq!(steps, [1.0, 1.0, 2.0, 2.0, 5.0, 5.0, 10.0, 10.0, 0.05]);
        let down = [1.0, 1.9, 2.0, 4.9, 5.0, 9.9, 0.0, f64::NAN].map(round_down);
        assert_eq!(down, [1.0, 1.0, 2.0, 2.0, 5.0, 5.0, 1e-3, 1e-3]);
        assert_eq!(one_two_five(1.0, 20.0), [1.0, 2.0, 5.0, 10.0, 20.0]);
        assert_eq!(one_two_five(5.0, 5.0), [5.0, 10.0]);
        assert_eq!(thin((0..7).map(f64::from).collect(), 3), [0.0, 3.0, 6.0]);
    }

    #[test]
    fn values_beyond_the_ends_are_at_the_ends() {
        let axis = Axis::from_zero("", 10.0, 5);
        assert_eq!(
            [-1.0, 3.0, 11.0].map(|value| axis.at(value)),
            [0.0, 3.0, 10.0]
        );
        let workers = Axis::workers("", &[1, 64], 8);
        assert_eq!([1.0, 8.0].map(|value| workers.at(value)), [0.0, 3.0]);
        assert_eq!(workers.widest(), 2);
        let like = Axis::like(&workers, "", 0.25, 48.0, 6);
        assert_eq!(like.range(), -2.0..6.0);
        assert_eq!(labels(&Axis::counts("", 2.5, 5)), ["0", "1", "2"]);
    }

    #[test]
    fn an_axis_of_workers_has_room_beyond_both_ends() {
        let room = 1.08_f64.log2();
        let range = Axis::workers("", &[4, 48], 8).range();
        assert!((range.start - (2.0 - room)).abs() < 1e-9, "{range:?}");
        assert!(
            (range.end - (48_f64.log2() + room)).abs() < 1e-9,
            "{range:?}"
        );
        assert_eq!(Axis::workers("", &[1, 16], 8).range(), 0.0..16.3);
        let powers = labels(&Axis::workers("", &[1, 256], 8));
        assert_eq!(powers, ["1", "2", "4", "8", "16", "32", "64", "128", "256"]);
        let ticks = |most, wanted| labels(&Axis::workers("", &[most], wanted));
        assert_eq!(
            ticks(16, 8),
            ["0", "2", "4", "6", "8", "10", "12", "14", "16"]
        );
        assert_eq!(ticks(16, 4), ["0", "4", "8", "12", "16"]);
        assert_eq!(ticks(7, 3), ["0", "3", "6"]);
    }

    #[test]
    fn odd_values_make_no_odd_axes() {
        for most in [0.0, f64::NAN, f64::INFINITY, 1e-300, 1e300] {
            for axis in [
                Axis::from_zero("", most, 4),
                Axis::seconds("", most, 4),
                Axis::log_seconds("", most, most),
            ] {
                let range = axis.range();
                assert!(
                    range.start < range.end && range.end.is_finite(),
                    "{most}: {axis:?}"
                );
            }
        }
    }
}
