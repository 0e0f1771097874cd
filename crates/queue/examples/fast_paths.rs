//! The owner's operations as named functions, so that their machine code can be found:
//! `scripts/platforms aarch64` counts the barriers in it.
//!
//! ```sh
//! cargo run --release -p locksley-queue --example fast_paths
//! ```

use locksley_queue::{Owner, chase_lev, semi_private, split};

macro_rules! named {
    ($($push:ident, $pop:ident: $deque:ty;)*) => {$(
        #[unsafe(no_mangle)]
        #[inline(never)]
        fn $push(deque: &mut $deque, item: usize) {
            let full = deque.push(item);
            debug_assert!(full.is_ok(), "it grows");
        }

        #[unsafe(no_mangle)]
        #[inline(never)]
        fn $pop(deque: &mut $deque) -> Option<usize> {
            deque.pop()
        }
    )*};
}

named! {
    chase_lev_push, chase_lev_pop: chase_lev::Deque<usize>;
    semi_private_push, semi_private_pop: semi_private::Deque<usize>;
    split_push, split_pop: split::Deque<usize>;
}

fn exercise<D>(mut deque: D, push: fn(&mut D, usize), pop: fn(&mut D) -> Option<usize>) {
    (0..1000).for_each(|item| push(&mut deque, item));
    for item in (0..1000).rev() {
        assert_eq!(pop(&mut deque), Some(item));
    }
    assert_eq!(pop(&mut deque), None);
}

fn main() {
    exercise(chase_lev::Deque::new(), chase_lev_push, chase_lev_pop);
    exercise(
        semi_private::Deque::new(),
        semi_private_push,
        semi_private_pop,
    );
    exercise(split::Deque::new(), split_push, split_pop);
}
