//! Insertion sort, for lists that are short or almost in order. It needs little code: each use of
//! the standard library's sort adds some four kilobytes to a program.

/// Sorts a list by `before`, which returns `true` if its first argument comes before the second.
/// Takes quadratic time, or linear time if the list is in order.
pub fn sort_by<T>(items: &mut [T], before: impl Fn(&T, &T) -> bool) {
    for end in 1..items.len() {
        let mut place = end;
        while place > 0 && before(&items[place], &items[place - 1]) {
            items.swap(place, place - 1);
            place -= 1;
        }
    }
}

#[cfg(test)]
#[path = "../tests/unit/insertion.rs"]
mod tests;
