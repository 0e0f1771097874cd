use std::panic::catch_unwind;

use crate::{CancelToken, Pool};

#[test]
fn what_a_program_holds_goes_through_catch_unwind() {
    let pool = Pool::builder().workers(2).build().unwrap();
    let token = CancelToken::new();
    let caught = catch_unwind(|| {
        pool.scope(|s| s.spawn(|_| token.cancel()));
        pool.install(|| panic!("on purpose"))
    });
    assert!(caught.is_err() && token.is_cancelled());
    let sum = pool.run(|worker| catch_unwind(|| worker.join(|_| 1, |_| 2)).ok());
    assert_eq!(sum, Some((1, 2)), "the pool goes on");
}
