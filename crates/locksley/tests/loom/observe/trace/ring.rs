use loom::sync::Arc;
use loom::thread;

use super::*;

/// A ring of one entry, written over and over: whatever a reader gets is whole, and in its
/// place.
#[test]
fn a_reader_sees_whole_entries() {
    loom::model(|| {
        let ring = Arc::new(Ring::new(1));
        let writer = ring.clone();
        let writer = thread::spawn(move || {
            for number in 0..3 {
                writer.push(number, [number, !number]);
            }
        });
        let run = ring.read(0);
        assert!(run.entries.len() <= 1);
        for (&words, number) in run.entries.iter().zip(run.first..) {
            assert_eq!(words, [number, !number]);
        }
        writer.join().unwrap();
        let run = ring.read(run.next());
        assert_eq!(run.next(), 3);
    });
}
