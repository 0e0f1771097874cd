use super::*;

/// A sequence of `len` items that is split after its first item.
fn ruled(len: usize) -> SplitWhere<Range<usize>, impl Fn(Range<usize>) -> usize + Clone> {
    SplitWhere::new(0..len, |left: Range<usize>| left.start + 1)
}

#[test]
fn a_rule_applies_on_both_sides_of_a_zip() {
    assert_eq!(Zip::new(ruled(8), 0..8_usize).middle(), 1);
    assert_eq!(Zip::new(0..8_usize, ruled(8)).middle(), 1);
    assert_eq!(Zip::new(0..8_usize, 0..8_usize).middle(), 4);
}

#[test]
fn a_chain_follows_a_rule_when_one_side_is_left() {
    let (left, right) = Chain::new(ruled(8), ruled(8)).split_at(8);
    assert_eq!((left.middle(), right.middle()), (1, 1));
    assert_eq!(Chain::new(ruled(8), ruled(4)).middle(), 6);
}

#[test]
fn a_rule_applies_below_a_step() {
    let late = SplitWhere::new(0..30_usize, |_| 24);
    assert_eq!(StepBy::new(late, 3).middle(), 8);
    assert_eq!(StepBy::new(0..9_usize, 4).middle(), 1);
}
