use super::*;

const FULL: usize = CHUNK / SIZES[0];

#[test]
fn a_block_comes_back_for_another_type_of_its_size() {
    let (blocks, depot) = (Blocks::default(), Depot::default());
    let first = Blocks::allocate::<[u64; 3]>(Some((&blocks, &depot)));
    // SAFETY: it comes from `allocate`, for all of these.
    unsafe {
        blocks.free(first, &depot);
        let second = Blocks::allocate::<[u64; 7]>(Some((&blocks, &depot)));
        assert_eq!(second.addr(), first.addr());
        let larger = Blocks::allocate::<[u64; 8]>(Some((&blocks, &depot)));
        assert_ne!(larger.addr(), first.addr());
        blocks.free(second, &depot);
        blocks.free(larger, &depot);
    }
}

/// Allocates blocks, writes all of each, and frees them at another worker.
fn pass_on(count: usize, from: &Blocks, to: &Blocks, depot: &Depot) -> Vec<NonNull<[u64; 7]>> {
    let all: Vec<_> = (0..count)
        .map(|_| Blocks::allocate::<[u64; 7]>(Some((from, depot))))
        .collect();
    for &memory in &all {
        // SAFETY: it comes from `allocate`.
        unsafe {
            memory.write([u64::MAX; 7]);
            to.free(memory, depot);
        }
    }
    all
}

fn full_lists(depot: &Depot) -> usize {
    lock(&depot.stocks[0].lists).full.len()
}

#[test]
fn blocks_come_back_from_the_worker_that_freed_them() {
    let (spawner, thief) = (Blocks::default(), Blocks::default());
    let depot = Depot::default();
    let mut first = pass_on(4 * FULL, &spawner, &thief, &depot);
    first.sort();
    first.dedup();
    assert_eq!(first.len(), 4 * FULL, "no block was given twice");
    assert_eq!(full_lists(&depot), 2, "the thief keeps two lists");
    let again = pass_on(2 * FULL, &spawner, &thief, &depot);
    assert!(again.iter().all(|block| first.binary_search(block).is_ok()));
}

#[test]
fn a_worker_that_frees_and_allocates_in_turn_leaves_the_depot_alone() {
    let (blocks, depot) = (Blocks::default(), Depot::default());
    pass_on(2 * FULL, &blocks, &blocks, &depot);
    for count in [1, FULL, FULL + 1, 2 * FULL] {
        pass_on(count, &blocks, &blocks, &depot);
        assert_eq!(full_lists(&depot), 0, "{count}");
    }
}

#[test]
fn a_depot_has_no_more_than_its_share() {
    let (spawner, thief) = (Blocks::default(), Blocks::default());
    let depot = Depot::default();
    for _ in 0..2 {
        pass_on((MOST_CHUNKS + 2) * FULL, &spawner, &thief, &depot);
        assert_eq!(lock(&depot.stocks[0].lists).chunks.len(), MOST_CHUNKS);
        assert_eq!(full_lists(&depot), MOST_CHUNKS - 2);
    }
}

#[test]
fn what_fits_no_block_is_allocated_as_it_is() {
    #[repr(align(64))]
    struct Wide(#[expect(dead_code, reason = "it has a size")] u8);
    let (blocks, depot) = (Blocks::default(), Depot::default());
    let wide = Blocks::allocate::<Wide>(Some((&blocks, &depot)));
    assert_eq!(wide.addr().get() % 64, 0);
    let large = Blocks::allocate::<[u8; 129]>(Some((&blocks, &depot)));
    // SAFETY: both come from `allocate`.
    unsafe {
        blocks.free(wide, &depot);
        blocks.free(large, &depot);
    }
    assert!(blocks.lists.iter().all(|lists| lists.current.is_empty()));
}

#[test]
fn what_another_thread_allocates_goes_back_to_the_allocator() {
    let (blocks, depot) = (Blocks::default(), Depot::default());
    let outside = Blocks::allocate::<u64>(None);
    // SAFETY: it comes from `allocate`.
    unsafe { blocks.free(outside, &depot) };
    assert!(blocks.lists[0].current.is_empty());
}

#[test]
fn a_worker_keeps_so_many_blocks_of_tasks_with_a_handle() {
    let kept = Kept::default();
    let all: Vec<_> = (0..MOST_KEPT + 3)
        .map(|_| Kept::allocate::<[u64; 15]>(Some(&kept)))
        .collect();
    for &memory in &all {
        // SAFETY: it comes from `allocate`.
        unsafe {
            memory.write([u64::MAX; 15]);
            Kept::free(Some(&kept), memory);
        }
    }
    assert_eq!(kept.0.len.get(), MOST_KEPT);
    let again = Kept::allocate::<u8>(Some(&kept));
    assert_eq!(again.addr(), all[MOST_KEPT - 1].addr(), "whatever fits");
    let large = Kept::allocate::<[u64; 16]>(Some(&kept));
    assert_eq!(kept.0.len.get(), MOST_KEPT - 1, "this does not");
    // SAFETY: both come from `allocate`. A thread that is no worker frees what a worker allocated.
    unsafe {
        Kept::free(None, again);
        Kept::free(Some(&kept), large);
    }
    assert_eq!(kept.0.len.get(), MOST_KEPT - 1);
}
