use super::*;

#[test]
fn lists_are_sorted_and_equal_items_stay_in_order() {
    let mut items = [(3, 'a'), (1, 'b'), (3, 'c'), (0, 'd'), (1, 'e')];
    sort_by(&mut items, |one, other| one.0 < other.0);
    assert_eq!(items, [(0, 'd'), (1, 'b'), (1, 'e'), (3, 'a'), (3, 'c')]);
    sort_by(&mut [] as &mut [u8], |one, other| one < other);
}
