use super::*;

#[test]
fn a_private_entry_is_the_poppers() {
    let mut entries = Entries::new(3, 2);
    let peer = entries.peer();
    assert_eq!(peer.worker(), 3);
    let (a, b) = (entries.store(1_u32).unwrap(), entries.store(2).unwrap());
    assert_eq!(entries.store(3), Err(Full(3)));
    assert_eq!(entries.acquire(b), Acquired::Item(2));
    assert_eq!(peer.acquire(a), Acquired::Item(1));
    assert!(entries.store(3).is_ok() && entries.store(4).is_ok());
}

#[test]
fn an_offer_that_was_taken_back_stays_void() {
    let mut entries = Entries::new(0, 1);
    let peer = entries.peer();
    let entry = entries.store(1_u32).unwrap();
    let first = entries.share(&entry).unwrap();
    assert!(entries.retract(&entry));
    assert!(entries.is_void(first));
    let second = entries.share(&entry).unwrap();
    assert!(entries.is_void(first) && !entries.is_void(second));
    assert_eq!(peer.accept(first), None);
    assert_eq!(peer.accept(second), Some(1));
    assert!(!entries.retract(&entry));
    assert_eq!(entries.acquire(entry), Acquired::Ghost);
}

#[test]
fn an_accepted_entry_is_a_ghost() {
    let mut entries = Entries::new(0, 1);
    let peer = entries.peer();
    let entry = entries.store(1_u32).unwrap();
    let offer = entries.share(&entry).unwrap();
    assert_eq!(entries.share(&entry), Some(offer));
    assert!(!entries.is_void(offer));
    assert_eq!(peer.accept(offer), Some(1));
    assert!(entries.is_void(offer));
    assert_eq!(peer.accept(offer), None);
    assert_eq!(entries.share(&entry), None);
    assert!(!entries.retract(&entry));
    assert_eq!(entries.acquire(entry), Acquired::Ghost);
}

#[test]
fn an_old_offer_is_void() {
    let mut entries = Entries::starting_at(0, 1, u64::MAX >> AGE_SHIFT);
    let peer = entries.peer();
    let mut old = Vec::new();
    for item in 0..4_u32 {
        let entry = entries.store(item).unwrap();
        let offer = entries.share(&entry).unwrap();
        assert!(old.iter().all(|&old| peer.accept(old).is_none()));
        old.push(offer);
        assert_eq!(peer.acquire(entry), Acquired::Item(item));
    }
}

#[test]
fn a_retracted_entry_is_private_again() {
    let mut entries = Entries::new(0, 1);
    let entry = entries.store(1_u32).unwrap();
    let offer = entries.share(&entry).unwrap();
    assert!(entries.retract(&entry));
    assert_eq!(entries.peer().accept(offer), None);
    assert_eq!(entries.acquire(entry), Acquired::Item(1));
}

#[test]
fn a_foreign_pointer_comes_back() {
    let (mut one, mut two) = (Entries::<u32>::new(0, 1), Entries::<u32>::new(0, 1));
    let entry = one.store(1).unwrap();
    assert_eq!(two.share(&entry), None);
    assert!(!two.retract(&entry));
    let Acquired::Foreign(entry) = two.acquire(entry) else {
        panic!("taken")
    };
    let Acquired::Foreign(entry) = two.peer().acquire(entry) else {
        panic!("taken")
    };
    assert_eq!(one.acquire(entry), Acquired::Item(1));
}

#[test]
fn what_is_inside_is_dropped_once() {
    let item = std::sync::Arc::new(());
    let mut entries = Entries::new(0, 4);
    let refs = [(); 4].map(|()| entries.store(std::sync::Arc::clone(&item)).unwrap());
    let offer = entries.share(&refs[1]).unwrap();
    let peer = entries.peer();
    drop(peer.accept(offer));
    let [first, ..] = refs;
    drop(entries.acquire(first));
    drop(entries);
    assert_eq!(std::sync::Arc::strong_count(&item), 3);
    drop(peer);
    assert_eq!(std::sync::Arc::strong_count(&item), 1);
}
