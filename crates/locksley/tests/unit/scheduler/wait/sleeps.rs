use super::*;

#[test]
fn a_blocked_waiter_looks_ever_more_rarely_and_thoroughly() {
    let mut sleeps = Sleeps::default();
    assert_eq!(sleeps.look(), Look::Nearby);
    let (mut length, mut last) = (LOOK_AGAIN, 0);
    for _ in 0..100 {
        assert_eq!(sleeps.block(), length);
        sleeps.count_long();
        let Look::Everywhere { most } = sleeps.look() else {
            panic!("it looks everywhere after each sleep");
        };
        assert!(most > last || most == usize::MAX);
        (length, last) = ((2 * length).min(LOOK_RARELY), most);
    }
}

#[test]
fn a_waiter_without_a_spare_looks_everywhere_now_and_then() {
    let mut sleeps = Sleeps::default();
    let mut looks = 0;
    for _ in 0..8 {
        assert!(sleeps.nap() < LOOK_AGAIN);
        assert_eq!(sleeps.look(), Look::Nearby);
    }
    for _ in 0..160 {
        assert_eq!(sleeps.nap(), LOOK_AGAIN);
        looks += u32::from(sleeps.look() != Look::Nearby);
    }
    // After 1, 2, 4, 8, and each 16.
    assert_eq!(looks, 4 + 160 / 16);
}
