use super::*;
use crate::Pool;

/// Tasks that wait for each other in many ways, in a pool of two.
fn drawing() -> Drawing {
    let pool = Pool::builder().workers(2).build().expect("a pool");
    let ((), drawing) = pool.install(|| {
        super::super::draw(|f| {
            let objects: Vec<_> = (0..4).map(|_| f.value(0_u64)).collect();
            for step in 0..40_usize {
                let (from, to) = (objects[step % 3], objects[(7 * step + 1) % 4]);
                if (step % 3) == (7 * step + 1) % 4 {
                    f.fork_nested(from.update(), |f, n| {
                        let n = f.object(n);
                        f.fork(n.update(), |n| *n += 1);
                    });
                } else {
                    let name = f.label(format!("step {step}"));
                    name.fork((from.read(), to.update()), |(from, to)| *to += from);
                }
            }
        })
    });
    drawing
}

#[test]
fn the_timeline_has_a_slice_for_each_task_and_an_arrow_for_each_edge() {
    let drawing = drawing();
    let trace = drawing.trace();
    let count = |fits: fn(&TraceEvent) -> bool| trace.events.iter().filter(|e| fits(e)).count();
    let slices = count(|event| matches!(event, TraceEvent::Slice { .. }));
    let ends = count(|event| matches!(event, TraceEvent::Arrived { .. }));
    assert_eq!(slices, drawing.tasks());
    assert_eq!(ends, drawing.edges().len());
    assert!(ends > 20);
}

#[test]
fn no_task_begins_before_what_it_waits_for_is_over() {
    let drawing = drawing();
    for (before, after) in drawing.edges() {
        let [before, after] = [before, after].map(|number| drawing.nodes[number].ran);
        assert!(before.expect("it ran").to <= after.expect("it ran").from);
    }
}

#[test]
fn what_was_stopped_is_not_in_the_timeline() {
    let drawn = std::panic::catch_unwind(|| {
        super::super::draw(|f| {
            let n = f.value(0);
            f.cancel();
            f.fork(n.update(), |n| *n += 1);
            f.fork(n.update(), |n| *n += 1);
        })
    });
    let ((), drawing) = drawn.expect("nothing panics");
    assert_eq!((drawing.tasks(), drawing.runs().count()), (2, 0));
}
