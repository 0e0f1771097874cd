//! Sorting short lists, or such as are almost in order, with little code: each use of the standard
//! library's sort adds some four kilobytes to a program.

/// Sorts a list, given whether one of two items comes before another. Takes quadratic time; linear
/// if the list is in order.
pub(crate) fn sort_by<T>(items: &mut [T], before: impl Fn(&T, &T) -> bool) {
    for end in 1..items.len() {
        let mut place = end;
        while place > 0 && before(&items[place], &items[place - 1]) {
            items.swap(place, place - 1);
            place -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted_and_equal_items_stay_in_order() {
        let mut items = [(3, 'a'), (1, 'b'), (3, 'c'), (0, 'd'), (1, 'e')];
        sort_by(&mut items, |one, other| one.0 < other.0);
        assert_eq!(items, [(0, 'd'), (1, 'b'), (1, 'e'), (3, 'a'), (3, 'c')]);
        sort_by(&mut [] as &mut [u8], |one, other| one < other);
    }
}
