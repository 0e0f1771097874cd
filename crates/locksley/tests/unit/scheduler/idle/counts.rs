use super::*;

#[test]
fn counts_survive_packing() {
    let counts = Counts {
        asleep: 1,
        blocked: 2,
        up: 0xfffe,
        most_spares: 0xffff,
    };
    assert_eq!(Counts::unpack(counts.pack()), counts);
    assert_eq!(Counts::new(1 << 20).most_spares, u16::MAX);
}

#[test]
fn workers_block_while_there_can_be_spares() {
    let none = Counts::new(0);
    assert_eq!(none.begin_block(), None);
    let one = Counts::new(1).begin_block().expect("a spare for one");
    assert!(one.wants_spare() && !one.lacks_spares());
    assert_eq!(one.begin_block(), None, "and for no other");
    let up = one.activate_spare().expect("it is wanted");
    assert_eq!(up.activate_spare(), None);
    assert!(up.end_block().has_spare_left_over());
    let refused = one.limit_spares(0).expect("fewer");
    assert!(refused.lacks_spares() && !refused.wants_spare());
    assert_eq!(refused.limit_spares(1), None, "never more again");
}
