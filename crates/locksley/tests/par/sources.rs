//! Every source beside its twin of `std`.

use std::fmt::Debug;

use locksley::par::Par;
use locksley::prelude::*;
use proptest::prelude::*;

use crate::{busy, pools};

/// Compares a loop, whose items are made slow, with a sequential iterator.
fn same<S>(par: Par<S>, seq: impl Iterator<Item = S::Item>) -> Result<(), TestCaseError>
where
    S: Split + Send,
    S::Item: Send + PartialEq + Debug,
{
    let all: Vec<S::Item> = par.inspect(|_| busy(1)).collect();
    prop_assert_eq!(all, seq.collect::<Vec<_>>());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn ranges(start in any::<i8>(), end in any::<i8>(), pool in 0..pools().len()) {
        pools()[pool].install(|| {
            let (a, b) = (start.unsigned_abs(), end.unsigned_abs());
            same((start..end).into_par(), start..end)?;
            same((start..=end).into_par(), start..=end)?;
            same((a..b).into_par(), a..b)?;
            same((a..=b).into_par(), a..=b)?;
            let (start, end) = (i64::from(start) * 7, i64::from(end) * 7);
            same((start..end).into_par(), start..end)?;
            same((i64::MAX - 300 + end % 100..i64::MAX).into_par(), i64::MAX - 300 + end % 100..i64::MAX)?;
            same((u128::MAX - 200..=u128::MAX).into_par(), u128::MAX - 200..=u128::MAX)?;
            let (a, b) = (usize::from(a), usize::from(b) * 5);
            same((a..b).par(), a..b)
        })?;
    }

    #[test]
    fn slices(numbers in prop::collection::vec(any::<u16>(), 0..600), size in 1..40_usize, pool in 0..pools().len()) {
        pools()[pool].install(|| {
            same(numbers.par(), numbers.iter())?;
            same((&numbers).into_par(), numbers.iter())?;
            same(numbers.par().rev(), numbers.iter().rev())?;
            same((3..numbers.len()).par().rev(), (3..numbers.len()).rev())?;
            same(numbers.par().step_by(size), numbers.iter().step_by(size))?;
            same(numbers.par_chunks(size), numbers.chunks(size))?;
            same(numbers.par_chunks_exact(size), numbers.chunks_exact(size))?;
            same(numbers.par_windows(size), numbers.windows(size))?;
            same(numbers.clone().into_par(), numbers.iter().copied())?;
            same(numbers.par().chain(&numbers[..numbers.len() / 3]), numbers.iter().chain(&numbers[..numbers.len() / 3]))?;
            let (mut par, mut seq) = (numbers.clone(), numbers.clone());
            par.par_mut().for_each(|n| { busy(1); *n ^= 0xff; });
            seq.iter_mut().for_each(|n| *n ^= 0xff);
            prop_assert_eq!(&par, &seq);
            par.par_chunks_mut(size).for_each(|chunk| { busy(3); chunk.reverse(); });
            seq.chunks_mut(size).for_each(|chunk| chunk.reverse());
            prop_assert_eq!(&par, &seq);
            let zipped: Vec<(usize, (u16, u32))> = numbers.par().copied().zip((0..400_u32).into_par().map(|n| n * 2)).enumerate()
                .inspect(|_| busy(1)).collect();
            let twin: Vec<_> = numbers.iter().copied().zip((0..400_u32).map(|n| n * 2)).enumerate().collect();
            prop_assert_eq!(zipped, twin);
            Ok(())
        })?;
    }
}

/// The same bits on any number of workers, and under any strategy.
#[test]
fn deterministic_sums_are_the_same_everywhere() {
    for len in [0_u32, 1, 7, 9, 1000, 5000] {
        let sum = || {
            let numbers = (0..len).par().map(|n| {
                busy(1);
                1.0 / f64::from(n + 1)
            });
            let state = numbers.deterministic().map_init(
                || 0.0,
                |sum, n| {
                    *sum += n;
                    *sum
                },
            );
            state.sum::<f64>().to_bits()
        };
        let sums: Vec<u64> = pools().iter().map(|pool| pool.install(sum)).collect();
        assert!(sums.iter().all(|&bits| bits == sums[0]), "{len}: {sums:x?}");
        assert_eq!(sum(), sums[0], "outside of the pools");
    }
}

/// A slice whose length is the largest number has as many windows of one item.
#[test]
fn the_longest_slice_has_windows() {
    let items = vec![(); usize::MAX];
    assert!(items.par_windows(1).any(|_| true));
    assert_eq!(items.par_windows(usize::MAX).count(), 1);
}
