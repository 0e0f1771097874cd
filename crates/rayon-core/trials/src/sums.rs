//! Sums of floating-point numbers, whose last bits depend on the order of addition.

use std::sync::OnceLock;

use rayon::prelude::*;

/// Returns a million numbers of very different magnitude, the same in every process.
fn numbers() -> &'static [f64] {
    static NUMBERS: OnceLock<Vec<f64>> = OnceLock::new();
    NUMBERS.get_or_init(|| {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut next = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        let number = |_| {
            let (sign, size) = (next() % 2, (next() % 60) as i32 - 30);
            let digits = (next() >> 11) as f64 / (1_u64 << 53) as f64;
            (if sign == 0 { digits } else { -digits }) * 2_f64.powi(size)
        };
        (0..1_000_000).map(number).collect()
    })
}

/// Returns the bits of the sum.
pub(crate) fn sum(pool: &rayon::ThreadPool) -> String {
    let sum: f64 = pool.install(|| numbers().par_iter().sum());
    format!("{:016x}", sum.to_bits())
}

/// Count, mean and squared deviations, which are combined by a formula that rounds.
#[derive(Clone, Copy, Default)]
struct Statistics {
    count: f64,
    mean: f64,
    squares: f64,
}

impl Statistics {
    fn with(self, value: f64) -> Statistics {
        let one = Statistics {
            count: 1.0,
            mean: value,
            squares: 0.0,
        };
        self.and(one)
    }

    fn and(self, other: Statistics) -> Statistics {
        let count = self.count + other.count;
        if count == 0.0 {
            return self;
        }
        let apart = other.mean - self.mean;
        Statistics {
            count,
            mean: self.mean + apart * other.count / count,
            squares: self.squares
                + other.squares
                + apart * apart * self.count * other.count / count,
        }
    }
}

/// Returns the bits of mean and squared deviations.
pub(crate) fn statistics(pool: &rayon::ThreadPool) -> String {
    let result = pool.install(|| {
        let parts = numbers()
            .par_iter()
            .fold(Statistics::default, |all, &value| all.with(value));
        parts.reduce(Statistics::default, Statistics::and)
    });
    assert_eq!(result.count, 1e6);
    format!(
        "{:016x} {:016x}",
        result.mean.to_bits(),
        result.squares.to_bits()
    )
}
