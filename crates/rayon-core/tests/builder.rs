//! Every option of the builder, and the messages of its errors.

use std::error::Error;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;

use rayon_core::{ThreadPoolBuildError, ThreadPoolBuilder};

/// Returns the error of a builder that cannot build.
fn refused<T>(built: Result<T, ThreadPoolBuildError>) -> ThreadPoolBuildError {
    built.err().expect("it cannot be built")
}

#[test]
fn a_global_pool_that_is_there_already_is_an_error_in_rayons_words() {
    rayon_core::current_num_threads();
    let error = refused(ThreadPoolBuilder::new().build_global());
    assert_eq!(
        error.to_string(),
        "The global thread pool has already been initialized."
    );
    assert!(error.source().is_none());
}

#[test]
fn a_thread_that_is_in_a_pool_already_is_an_error_in_rayons_words() {
    let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let error = pool.install(|| refused(ThreadPoolBuilder::new().use_current_thread().build()));
    assert_eq!(
        error.to_string(),
        "The current thread is already part of another thread pool."
    );
    assert!(error.source().is_none());
}

#[test]
fn a_thread_that_cannot_be_started_is_the_systems_error() {
    let ended = Arc::new(AtomicUsize::new(0));
    let counter = ended.clone();
    let builder = ThreadPoolBuilder::new().num_threads(4);
    let builder = builder.exit_handler(move |_| {
        counter.fetch_add(1, Ordering::Relaxed);
    });
    let mut threads = Vec::new();
    let error = refused(
        builder
            .spawn_handler(|builder| match builder.index() {
                2 => Err(io::Error::other("no more threads")),
                _ => {
                    threads.push(thread::spawn(|| builder.run()));
                    Ok(())
                }
            })
            .build(),
    );
    assert_eq!(error.to_string(), "no more threads");
    let source = error.source().expect("the system's error");
    assert_eq!(source.to_string(), "no more threads");
    assert!(source.is::<io::Error>());
    // The threads that were started end.
    let started = threads.len();
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
    assert_eq!((started, ended.load(Ordering::Relaxed)), (2, 2));
}

#[test]
fn a_stack_too_large_for_the_system_is_an_error() {
    let builder = ThreadPoolBuilder::new().num_threads(1);
    let error = refused(builder.stack_size(usize::MAX >> 2).build());
    assert!(
        error
            .source()
            .is_some_and(|source| source.is::<io::Error>())
    );
}

/// Uses about a kibibyte of stack at each level.
fn dig(depth: usize) -> usize {
    let frame = std::hint::black_box([depth; 128]);
    match depth {
        0 => 0,
        _ => 1 + dig(depth - 1) + (frame[0] - depth),
    }
}

#[test]
fn stacks_are_as_large_as_asked_for() {
    // More than the default of 2 MiB, and several times as much without optimisation.
    let pool = ThreadPoolBuilder::new()
        .num_threads(2)
        .stack_size(64 << 20)
        .build()
        .unwrap();
    assert_eq!(
        pool.join(|| dig(8 << 10), || dig(8 << 10)),
        (8 << 10, 8 << 10)
    );
}

#[test]
fn handlers_run_once_in_each_thread() {
    let log = Arc::new(Mutex::new(Vec::new()));
    let note = |what: &'static str| {
        let log = log.clone();
        move |index| {
            log.lock()
                .unwrap()
                .push((what, index, thread::current().id()))
        }
    };
    let mut threads = Vec::new();
    let pool = ThreadPoolBuilder::new()
        .num_threads(3)
        .start_handler(note("start"))
        .exit_handler(note("exit"))
        .spawn_handler(|builder| {
            threads.push(thread::spawn(|| builder.run()));
            Ok(())
        })
        .build()
        .unwrap();
    let ids = pool.broadcast(|_| thread::current().id());
    drop(pool);
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
    let log = log.lock().unwrap();
    for (index, id) in ids.into_iter().enumerate() {
        let of_it = |entry: &&(&str, usize, _)| entry.1 == index;
        let entries: Vec<_> = log.iter().filter(of_it).collect();
        assert_eq!(entries, [&("start", index, id), &("exit", index, id)]);
    }
    assert_eq!(log.len(), 6);
}

#[test]
fn panics_of_handlers_and_tasks_go_to_the_panic_handler() {
    let (sender, receiver) = mpsc::channel();
    let pool = ThreadPoolBuilder::new()
        .num_threads(1)
        .start_handler(|_| panic!("start"))
        .exit_handler(|_| panic!("exit"))
        .panic_handler(move |payload| sender.send(*payload.downcast::<&str>().unwrap()).unwrap())
        .build()
        .unwrap();
    let next = || receiver.recv().unwrap();
    assert_eq!(next(), "start");
    pool.spawn(|| panic!("task"));
    assert_eq!(next(), "task");
    pool.spawn_fifo(|| panic!("in order"));
    assert_eq!(next(), "in order");
    pool.spawn_broadcast(|_| panic!("everywhere"));
    assert_eq!(next(), "everywhere");
    assert_eq!(pool.install(|| 7), 7, "it goes on");
    drop(pool);
    assert_eq!(next(), "exit");
}

#[test]
fn a_panic_of_what_is_waited_for_goes_to_the_one_who_waits() {
    let builder = ThreadPoolBuilder::new().num_threads(2);
    let builder = builder.panic_handler(|_| panic!("no business of the caller's"));
    let pool = builder.build().unwrap();
    let caught = |f: &dyn Fn()| {
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(f));
        *result.unwrap_err().downcast::<&str>().unwrap()
    };
    assert_eq!(caught(&|| pool.install(|| panic!("a"))), "a");
    let both = || pool.join(|| panic!("first"), || panic!("second")).0;
    assert_eq!(caught(&both), "first");
    assert_eq!(caught(&|| pool.join(|| (), || panic!("b")).0), "b");
    assert_eq!(caught(&|| pool.scope(|s| s.spawn(|_| panic!("c")))), "c");
    let fifo = || pool.scope_fifo(|s| s.spawn_fifo(|_| panic!("d")));
    assert_eq!(caught(&fifo), "d");
    assert_eq!(caught(&|| drop(pool.broadcast(|_| panic!("e")))), "e");
}

/// Returns the order in which one thread runs tasks that it has spawned.
fn order(builder: ThreadPoolBuilder) -> Vec<usize> {
    let pool = builder.num_threads(1).build().unwrap();
    let order = Mutex::new(Vec::new());
    pool.scope(|s| {
        for task in 0..4 {
            let order = &order;
            s.spawn(move |_| order.lock().unwrap().push(task));
        }
    });
    order.into_inner().unwrap()
}

#[test]
fn breadth_first_turns_the_order_round() {
    assert_eq!(order(ThreadPoolBuilder::new()), [3, 2, 1, 0]);
    #[allow(deprecated)]
    let breadth_first = ThreadPoolBuilder::new().breadth_first();
    assert_eq!(order(breadth_first), [0, 1, 2, 3]);
}

#[test]
fn scoped_threads_may_borrow_and_have_ended_afterwards() {
    let (started, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let sum = ThreadPoolBuilder::new()
        .num_threads(3)
        .thread_name(|index| format!("crew {index}"))
        .build_scoped(
            |builder| {
                let name = format!("crew {}", builder.index());
                assert_eq!(thread::current().name(), Some(&*name));
                started.fetch_add(1, Ordering::Relaxed);
                builder.run();
                ended.fetch_add(1, Ordering::Relaxed);
            },
            |pool| {
                pool.broadcast(|context| context.index())
                    .iter()
                    .sum::<usize>()
            },
        );
    assert_eq!(sum.unwrap(), 3);
    assert_eq!((started.into_inner(), ended.into_inner()), (3, 3));
}

#[test]
fn the_current_thread_works_where_it_waits() {
    thread::spawn(|| {
        let builder = ThreadPoolBuilder::new().num_threads(1).use_current_thread();
        let pool = builder.build().unwrap();
        let here = thread::current().id();
        let mut ran_on = None;
        pool.scope(|s| s.spawn(|_| ran_on = Some(thread::current().id())));
        assert_eq!(ran_on, Some(here));
        assert_eq!(pool.current_thread_index(), Some(0));
        assert_eq!(rayon_core::yield_now(), Some(rayon_core::Yield::Idle));
    })
    .join()
    .unwrap();
}

#[test]
#[allow(deprecated)]
fn the_older_names_do_the_same() {
    let (sender, receiver) = mpsc::channel();
    let payloads = sender.clone();
    let (started, ended) = (sender.clone(), sender);
    let configuration = rayon_core::Configuration::new()
        .num_threads(1)
        .stack_size(1 << 20)
        .thread_name(|index| format!("crew {index}"))
        .breadth_first()
        .start_handler(move |_| started.send("start").unwrap())
        .exit_handler(move |_| ended.send("exit").unwrap())
        .panic_handler(move |payload| {
            payloads.send(*payload.downcast::<&str>().unwrap()).unwrap();
        });
    let shown = format!("{configuration:?}");
    for part in [
        "num_threads: 1",
        "stack_size: Some(1048576)",
        "breadth_first: true",
    ] {
        assert!(shown.contains(part), "{shown}");
    }
    let pool = rayon_core::ThreadPool::new(configuration).unwrap();
    let name = pool.install(|| thread::current().name().map(str::to_owned));
    assert_eq!(name.as_deref(), Some("crew 0"));
    pool.spawn(|| panic!("lost"));
    drop(pool);
    let told: Vec<_> = receiver.iter().collect();
    assert_eq!(told, ["start", "lost", "exit"]);
    rayon_core::current_num_threads();
    let error = rayon_core::initialize(rayon_core::Configuration::new()).unwrap_err();
    assert!(error.is::<ThreadPoolBuildError>());
}

#[test]
fn a_builder_shows_what_it_was_told() {
    let builder = ThreadPoolBuilder::new()
        .num_threads(5)
        .thread_name(|_| String::new())
        .use_current_thread();
    let shown = format!("{builder:?}");
    let parts = [
        "num_threads: 5",
        "use_current_thread: true",
        "thread_name: Some(<closure>)",
        "panic_handler: None",
    ];
    for part in parts {
        assert!(shown.contains(part), "{shown}");
    }
}
