use super::*;

#[test]
fn pieces_are_aligned_and_apart() {
    let arena = Arena::default();
    let mut places = Vec::new();
    for n in 0..1000_u64 {
        let byte = arena.put(n as u8);
        let wide = arena.put([n; 5]);
        assert!(wide.is_aligned());
        places.push((byte, wide));
    }
    for (n, (byte, wide)) in (0..).zip(places) {
        // SAFETY: both are in the arena.
        assert_eq!(unsafe { (byte.read(), wide.read()) }, (n as u8, [n; 5]));
    }
}

#[test]
fn large_and_empty_pieces_have_room() {
    #[repr(align(256))]
    struct Wide([u8; 3 * CHUNK]);
    let arena = Arena::default();
    assert!(arena.put([0_u64; 0]).is_aligned());
    let wide = arena.put(Wide([7; 3 * CHUNK]));
    assert!(wide.is_aligned());
    // SAFETY: it is in the arena.
    assert!(unsafe { wide.as_ref() }.0.iter().all(|&byte| byte == 7));
    let many = arena.put([3_u32; 5000]);
    // SAFETY: as above.
    assert_eq!(unsafe { many.as_ref() }, &[3; 5000]);
    // SAFETY: the pieces are not used again.
    unsafe { arena.clear() };
    assert_eq!(arena.left.get(), 0);
}
