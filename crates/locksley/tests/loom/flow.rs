//! Loom models of the readiness protocol: an owner that runs tasks in order, and thieves that
//! search.

use std::ptr::NonNull;

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

use super::engine::{List, NextTask};
use super::frame::Root;
use super::helpers::{Advice, Offer};
use super::queue::{AccessMode, Core, Entry};
use super::reduce::Parts;
use super::task::{Context, Task};
use crate::sync::{Ordering, fence};

/// A task that accesses the objects that it has declared.
#[repr(C)]
struct Probe {
    task: Task,
    touches: Vec<(usize, AccessMode)>,
    objects: NonNull<[Object]>,
    /// Owns what the task's list of accesses refers to.
    _entries: Vec<Entry>,
}

/// An object, and a value that loom watches.
struct Object {
    core: Core,
    value: UnsafeCell<u32>,
}

/// Reads the objects with read accesses, and increments those with exclusive ones.
unsafe fn run(task: NonNull<Task>, _: &Context<'_>) {
    // SAFETY: the frame keeps probes and objects until the threads are joined.
    let (probe, objects) = unsafe {
        let probe = task.cast::<Probe>().as_ref();
        (probe, probe.objects.as_ref())
    };
    for &(object, mode) in &probe.touches {
        let value = &objects[object].value;
        match mode {
            // SAFETY: loom checks it.
            AccessMode::Read => value.with(|value| unsafe {
                std::hint::black_box(*value);
            }),
            // SAFETY: loom checks it.
            AccessMode::Exclusive => value.with_mut(|value| unsafe { *value += 1 }),
            AccessMode::Cumulate => {}
        }
    }
}

struct Frame {
    list: List,
    root: Root,
    objects: Box<[Object]>,
    probes: Vec<NonNull<Probe>>,
}

// SAFETY: what threads do with it is what the models are about.
unsafe impl Sync for Frame {}
// SAFETY: as above.
unsafe impl Send for Frame {}

impl Drop for Frame {
    fn drop(&mut self) {
        for probe in self.probes.drain(..) {
            // SAFETY: it was leaked below, and the threads are joined.
            drop(unsafe { Box::from_raw(probe.as_ptr()) });
        }
    }
}

type Touches = &'static [(usize, AccessMode)];

/// A frame whose first `added` tasks are in its list.
fn frame_with(added: usize, objects: usize, tasks: &[Touches]) -> Arc<Frame> {
    let new = || Object {
        core: Core::new(None),
        value: UnsafeCell::new(0),
    };
    let objects: Box<[Object]> = (0..objects).map(|_| new()).collect();
    let list = List::default();
    let mut probes = Vec::new();
    for (index, touches) in tasks.iter().enumerate() {
        let entry = |&(object, mode): &(usize, AccessMode)| {
            Entry::new(NonNull::from(&objects[object].core), mode)
        };
        let entries: Vec<Entry> = touches.iter().map(entry).collect();
        let probe = Box::new(Probe {
            task: Task::new(run, index, 0, NonNull::from(&entries[..]), None),
            touches: touches.to_vec(),
            objects: NonNull::from(&*objects),
            _entries: entries,
        });
        let probe = NonNull::from(Box::leak(probe));
        if index < added {
            // SAFETY: the frame keeps it.
            unsafe { list.add(probe.cast()) };
        }
        probes.push(probe);
    }
    Arc::new(Frame {
        list,
        root: Root::default(),
        objects,
        probes,
    })
}

impl Frame {
    /// Adds a task as a body does.
    fn add(&self, number: usize) {
        // SAFETY: the frame keeps it.
        unsafe { self.list.add(self.probes[number].cast()) };
    }

    fn run(&self) {
        self.list
            .run_in_order(None, None, &self.root, || Advice::Run);
    }

    fn value(&self, object: usize) -> u32 {
        // SAFETY: loom checks it.
        self.objects[object].value.with(|value| unsafe { *value })
    }
}

/// Runs ready tasks. A thief with an offer goes on until none is ready, and then gives the offer
/// back.
fn steal(frame: &Frame, offer: Option<&Offer<'_>>) {
    while let NextTask::Task(first) = frame.list.take(1, offer) {
        let mut turn = NextTask::Task(first);
        while let NextTask::Task(task) = turn {
            // SAFETY: it was handed out.
            unsafe { frame.list.execute(task, None, &frame.root, false) };
            turn = frame.list.exchange(task, 1, false);
        }
        if offer.is_none() {
            return;
        }
    }
}

/// Lets the owner and thieves run the tasks, and checks the objects' values after that.
fn model(thieves: usize, objects: usize, tasks: &'static [Touches], values: &'static [u32]) {
    loom::model(move || {
        let frame = frame_with(tasks.len(), objects, tasks);
        let threads: Vec<_> = (0..thieves)
            .map(|_| {
                let frame = frame.clone();
                thread::spawn(move || steal(&frame, None))
            })
            .collect();
        frame.run();
        for thread in threads {
            thread.join().unwrap();
        }
        for (object, &expected) in values.iter().enumerate() {
            assert_eq!(frame.value(object), expected);
        }
        frame.list.reset();
    });
}

const R: AccessMode = AccessMode::Read;
const W: AccessMode = AccessMode::Exclusive;

#[test]
fn a_thief_sees_what_was_written() {
    model(1, 2, &[&[(0, W)], &[(0, R), (1, W)]], &[1, 1]);
}

#[test]
fn last_reader_writer_and_thief() {
    model(1, 1, &[&[(0, R)], &[(0, R)], &[(0, W)]], &[1]);
}

#[test]
fn a_thief_starts_at_the_front() {
    model(1, 3, &[&[(0, W)], &[(1, W)], &[(0, R), (2, W)]], &[1, 1, 1]);
}

#[test]
fn writers_come_one_after_the_other() {
    model(
        1,
        2,
        &[&[(0, W)], &[(0, W)], &[(1, W)], &[(0, W), (1, W)]],
        &[3, 2],
    );
}

#[test]
fn two_thieves_and_the_owner() {
    model(2, 2, &[&[(0, R)], &[(0, R), (1, W)], &[(0, W)]], &[1, 1]);
}

/// The body adds tasks while a thief looks, and then runs what is left.
#[test]
fn a_thief_comes_while_the_body_forks() {
    loom::model(|| {
        let frame = frame_with(1, 2, &[&[(0, W)], &[(1, W)], &[(0, W), (1, R)]]);
        let thief = frame.clone();
        let thief = thread::spawn(move || steal(&thief, None));
        frame.add(1);
        frame.add(2);
        frame.run();
        thief.join().unwrap();
        assert_eq!((frame.value(0), frame.value(1)), (2, 1));
        frame.list.reset();
    });
}

/// A body that has added a task, and sees that the helper still has the offer, leaves the task to
/// it.
#[test]
fn a_helper_does_not_miss_what_is_added() {
    loom::model(|| {
        let frame = frame_with(1, 2, &[&[(0, W)], &[(1, W)]]);
        let offer = Arc::new(Offer::new(None));
        offer.mark_taken();
        let (thief, its_offer) = (frame.clone(), offer.clone());
        let thief = thread::spawn(move || steal(&thief, Some(&its_offer)));
        frame.add(1);
        fence(Ordering::SeqCst); // [E8]
        let is_left_to_it = offer.state() == Offer::TAKEN;
        thief.join().unwrap();
        if is_left_to_it {
            assert_eq!(frame.value(1), 1, "no worker knows of the task");
        }
        frame.run();
        assert_eq!((frame.value(0), frame.value(1)), (1, 1));
        frame.list.reset();
    });
}

/// When the older generation is retired, no thief accesses its records any more.
#[test]
fn a_generation_is_retired_when_its_accesses_have_left() {
    loom::model(|| {
        let frame = frame_with(2, 2, &[&[(0, W)], &[(0, R)], &[(1, W)], &[(1, R)]]);
        frame.list.begin_generation();
        frame.add(2);
        frame.add(3);
        let thief = frame.clone();
        let thief = thread::spawn(move || steal(&thief, None));
        if frame.list.run_generation(None, &frame.root, || ()) {
            assert!(frame.objects[0].core.is_idle(), "an access is left");
            // SAFETY: loom checks it.
            frame.objects[0]
                .value
                .with_mut(|value| unsafe { *value += 1 });
        }
        frame.run();
        thief.join().unwrap();
        assert_eq!(frame.value(1), 1);
        frame.list.reset();
    });
}

/// Two tasks leave parts; two readers come when both are done, and both see the sum.
#[test]
fn parts_are_folded_before_any_task_reads() {
    type Value = Box<UnsafeCell<u32>>;
    struct Sum {
        object: Value,
        parts: Parts,
    }
    // SAFETY: loom checks the accesses to the cells.
    unsafe impl Sync for Sum {}
    // SAFETY: as above.
    unsafe impl Send for Sum {}
    let add = |into: &mut Value, part: Value| {
        // SAFETY: loom checks it.
        let part = part.with(|part| unsafe { *part });
        // SAFETY: loom checks it.
        into.with_mut(|sum| unsafe { *sum = *sum * 10 + part });
    };
    let value = |n| Value::new(UnsafeCell::new(n));
    loom::model(move || {
        let sum = Arc::new(Sum {
            object: value(0),
            parts: Parts::default(),
        });
        let (object, operation) = (NonNull::from(&sum.object), NonNull::from(&add));
        // SAFETY: both outlive the threads; the second task is done before the first.
        unsafe {
            sum.parts.leave(1, value(2), object, operation);
            sum.parts.leave(0, value(1), object, operation);
        }
        let read = |sum: &Sum| {
            // SAFETY: both tasks are done, and each folds first.
            unsafe { sum.parts.fold_before(2, |_, _| unreachable!()) };
            // SAFETY: loom checks it.
            assert_eq!(sum.object.with(|sum| unsafe { *sum }), 12);
        };
        let other = sum.clone();
        let reader = thread::spawn(move || read(&other));
        read(&sum);
        reader.join().unwrap();
    });
}
