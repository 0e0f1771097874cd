//! Every source, compared with the sequential iterator of `std`.

use std::fmt::Debug;

use locksley::par::{Par, Split, tiles};
use locksley::prelude::*;
use proptest::prelude::*;

use crate::{busy, pools};

/// Compares a loop, whose items are slowed down, with a sequential iterator.
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
            let high = i64::MAX - 300 + end % 100;
            same((high..i64::MAX).into_par(), high..i64::MAX)?;
            same((u128::MAX - 200..=u128::MAX).into_par(), u128::MAX - 200..=u128::MAX)?;
            let (a, b) = (usize::from(a), usize::from(b) * 5);
            same((a..b).par(), a..b)
        })?;
    }

    #[test]
    fn slices(
        numbers in prop::collection::vec(any::<u16>(), 0..600),
        size in 1..40_usize,
        pool in 0..pools().len(),
    ) {
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
            let third = &numbers[..numbers.len() / 3];
            same(numbers.par().chain(third), numbers.iter().chain(third))?;
            let (mut par, mut seq) = (numbers.clone(), numbers.clone());
            par.par_mut().for_each(|n| { busy(1); *n ^= 0xff; });
            seq.iter_mut().for_each(|n| *n ^= 0xff);
            prop_assert_eq!(&par, &seq);
            par.par_chunks_mut(size).for_each(|chunk| { busy(3); chunk.reverse(); });
            seq.chunks_mut(size).for_each(|chunk| chunk.reverse());
            prop_assert_eq!(&par, &seq);
            let doubled = (0..400_u32).into_par().map(|n| n * 2);
            let zipped = numbers.par().copied().zip(doubled).enumerate().inspect(|_| busy(1));
            let zipped: Vec<(usize, (u16, u32))> = zipped.collect();
            let doubled = (0..400_u32).map(|n| n * 2);
            let twin: Vec<_> = numbers.iter().copied().zip(doubled).enumerate().collect();
            prop_assert_eq!(zipped, twin);
            Ok(())
        })?;
    }
}

/// Text with short and long lines, empty ones, and both kinds of line ends.
fn text() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        Just(String::new()),
        "[a-zä]{0,12}",
        (1..4000_usize).prop_map(|len| "x".repeat(len)),
    ];
    let ended = (line, prop_oneof![Just("\n"), Just("\r\n"), Just("")]);
    let lines = prop::collection::vec(ended, 0..120);
    lines.prop_map(|lines| lines.into_iter().map(|(line, end)| line + end).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn strings(text in text(), pool in 0..pools().len()) {
        pools()[pool].install(|| {
            let lines: Vec<&str> = text.par_lines().inspect(|_| busy(2)).collect();
            prop_assert_eq!(lines, text.lines().collect::<Vec<_>>());
            let letters = text.par_bytes().filter(|byte| byte.is_ascii_lowercase()).count();
            prop_assert_eq!(letters, text.bytes().filter(u8::is_ascii_lowercase).count());
            Ok(())
        })?;
    }

    /// Each item of a slice with rows is in one tile, once.
    #[test]
    fn tiles_cover_all(
        rows in 0..40_usize,
        columns in 1..40_usize,
        tile in (1..12_usize, 1..12_usize),
        pool in 0..pools().len(),
    ) {
        pools()[pool].install(|| {
            let mut items = vec![0; rows * columns];
            items.par_tiles_mut(columns, tile).for_each(|mut tile| {
                busy(1);
                let left = tile.tile().columns.start;
                tile.rows_mut().for_each(|(row, part)| {
                    let numbers = row * columns + left + 1..;
                    part.iter_mut().zip(numbers).for_each(|(item, n)| *item += n);
                });
            });
            prop_assert!(items.into_iter().eq(1..rows * columns + 1));
            let covered = tiles(rows, columns, tile).map(|tile| {
                busy(1);
                tile.rows.count() * tile.columns.count()
            });
            prop_assert_eq!(covered.sum::<usize>(), rows * columns);
            Ok(())
        })?;
    }

    #[test]
    fn parts(
        numbers in prop::collection::vec(any::<u16>(), 0..600),
        count in 0..700_usize,
        size in 1..40_usize,
        pool in 0..pools().len(),
    ) {
        pools()[pool].install(|| {
            same(numbers.par().take(count), numbers.iter().take(count))?;
            same(numbers.par().skip(count), numbers.iter().skip(count))?;
            // Rules of all kinds, including some that are out of bounds.
            same(numbers.par().split_where(|left| left.start + 1), numbers.iter())?;
            same(numbers.par().split_where(|left| left.end - left.end / 5), numbers.iter())?;
            same(numbers.par().split_where(|left| left.end * 2), numbers.iter())?;
            same(numbers.par().split_where(|_| 0), numbers.iter())?;
            let (mut par, mut seq) = (numbers.clone(), numbers.clone());
            par.par_chunks_exact_mut(size).for_each(|chunk| { busy(3); chunk.reverse(); });
            seq.chunks_exact_mut(size).for_each(|chunk| chunk.reverse());
            prop_assert_eq!(&par, &seq);
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

/// The same for all loops of a pool that is built as deterministic, while other pools are not.
#[test]
fn sums_in_deterministic_pools_are_the_same_everywhere() {
    let numbers: Vec<f64> = (0..20_000_u32).map(|n| 1.0 / f64::from(n + 1)).collect();
    let slow = |number: &f64| {
        busy(1);
        *number
    };
    let wanted = numbers.par().map(slow).deterministic().sum::<f64>();
    for workers in [1, 2, 3, 8] {
        let builder = locksley::Pool::builder().workers(workers);
        let pool = builder.deterministic(true).build().expect("a pool");
        for _ in 0..10 {
            let sum = pool.install(|| numbers.par().map(slow).sum::<f64>());
            assert_eq!(sum.to_bits(), wanted.to_bits(), "{workers} workers");
        }
    }
    let in_order: f64 = numbers.iter().sum();
    assert_ne!(in_order.to_bits(), wanted.to_bits(), "the order shows");
}

/// A loop whose source is made of a deterministic loop is deterministic too.
#[test]
fn deterministic_loops_stay_so_behind_other_sources() {
    let cost = |n: u32| {
        busy(1);
        1.0 / f64::from(n + 1)
    };
    let sums = |pool: &locksley::Pool| {
        pool.install(|| {
            let numbers = || (0..3000_u32).par();
            let fixed = || numbers().deterministic();
            [
                fixed().rev().map(cost).sum::<f64>(),
                fixed().step_by(2).map(cost).sum(),
                fixed().chain(0..500_u32).map(cost).sum(),
                numbers()
                    .chain((0..500_u32).par().deterministic())
                    .map(cost)
                    .sum(),
                fixed().split_where(|left| left.start + 1).map(cost).sum(),
                numbers().zip(fixed()).map(|(n, _)| cost(n)).sum(),
            ]
            .map(f64::to_bits)
        })
    };
    let first = sums(&pools()[0]);
    for pool in pools() {
        assert_eq!(sums(pool), first);
    }
}

/// A slice of `usize::MAX` items has as many windows of one item.
#[test]
fn the_longest_slice_has_windows() {
    let items = [(); usize::MAX];
    assert!(items.par_windows(1).any(|_| true));
    assert_eq!(items.par_windows(usize::MAX).count(), 1);
}

/// A line is searched once, however many bands it spans.
#[test]
fn a_line_as_long_as_the_text() {
    let text = "x".repeat(2 << 20) + "\ny";
    for pool in &pools()[..4] {
        let lengths = || -> Vec<usize> { text.par_lines().map(str::len).collect() };
        assert_eq!(pool.install(lengths), [2 << 20, 1]);
        let fixed = || text.par_lines().deterministic().count();
        assert_eq!(pool.install(fixed), 2);
    }
}

/// Ranges of all numbers of a type, and ranges at both ends of one.
#[test]
fn whole_and_extreme_ranges() {
    for pool in pools() {
        pool.install(|| {
            let all: Vec<i8> = (i8::MIN..=i8::MAX).par().inspect(|_| busy(1)).collect();
            assert!(all.into_iter().eq(i8::MIN..=i8::MAX));
            let back: Vec<i8> = (i8::MIN..i8::MAX)
                .par()
                .rev()
                .inspect(|_| busy(1))
                .collect();
            assert!(back.into_iter().eq((i8::MIN..i8::MAX).rev()));
            assert_eq!((0..=u16::MAX).par().count(), 1 << 16);
            assert_eq!((i64::MAX - 9..=i64::MAX).par().min(), Some(i64::MAX - 9));
            assert_eq!((u128::MAX - 9..=u128::MAX).par().max(), Some(u128::MAX));
            assert_eq!((i128::MIN..i128::MIN + 9).par().count(), 9);
            assert_eq!((0..u64::MAX).par().find_first(|&n| n == 5000), Some(5000));
            let late = (1..=u64::MAX).par().skip(usize::MAX - 3);
            assert!(
                late.collect::<Vec<_>>()
                    .into_iter()
                    .eq(u64::MAX - 2..=u64::MAX)
            );
            let strided = (i64::MIN..i64::MAX).par().step_by(usize::MAX / 3);
            assert_eq!(strided.count(), 3);
        });
    }
}

/// More than `usize::MAX` items are refused, and so are more tiles.
#[test]
fn too_many_items_are_refused() {
    crate::panics::quieten();
    let refused = |run: fn() -> usize| std::panic::catch_unwind(run).is_err();
    assert!(refused(|| (0..=u64::MAX).par().count()));
    assert!(refused(|| (i128::MIN..0).par().count()));
    assert!(refused(|| tiles(1 << 40, 1 << 40, (1, 1)).count()));
    let wide = tiles(1, usize::MAX, (1, usize::MAX - 1));
    let widths: Vec<usize> = wide
        .map(|tile| tile.columns.end - tile.columns.start)
        .collect();
    assert_eq!(widths, [usize::MAX - 1, 1]);
}
