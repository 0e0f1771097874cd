//! Sorting short lists, or such as are almost in order, with little code: each use of the standard
//! library's sort adds some four kilobytes to a program.

/// Sorts a list, given whether one of two items comes before another. Takes quadratic time; linear
/// if the list is in order.
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
