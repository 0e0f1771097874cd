//! t
#![cfg(not(loom))]
use locksley_queue::pcb;
#[test]
fn stress() {
    for round in 0..20 {
        let mut m = pcb::matrix(2, 64);
        let mut c = m.pop().unwrap();
        let mut p = m.pop().unwrap();
        std::thread::scope(|s| {
            let h = s.spawn(move || { for i in 0..200_000_u64 { p.produce(1, i).unwrap(); } p });
            let mut k = 0;
            let mut spins = 0_u64;
            while k < 200_000 {
                if let Some(x) = c.consume_from(0) { assert_eq!(x, k, "round {round} alloc {}", c.allocated()); k += 1; spins = 0; }
                else { spins += 1; std::hint::spin_loop(); assert!(spins < 1_000_000_000, "round {round} stuck at {k}, alloc {}", c.allocated()); }
            }
            drop(h.join());
        });
    }
}
