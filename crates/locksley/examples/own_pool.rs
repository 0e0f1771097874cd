//! Building a pool: its size, thread names, strategy and panic handler.
//!
//! ```sh
//! cargo run --release -p locksley --example own_pool
//! ```

use std::sync::mpsc;

use locksley::{Pool, Strategy, Waiting};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (sender, panics) = mpsc::channel();
    let strategy: Strategy = "steal-half".parse()?;
    let pool = Pool::builder()
        .workers(4)
        .strategy(strategy)
        .waiting(Waiting::Leapfrog)
        .stack_size(4 << 20)
        .thread_name(|index| format!("archer-{index}"))
        .panic_handler(move |payload| {
            let text = payload.downcast_ref::<&str>().copied();
            let _ = sender.send(text.unwrap_or("a panic").to_owned());
        })
        .build()?;
    println!("{pool:?}");

    // Inside of `install`, the free functions use this pool.
    let name = pool.install(|| {
        let (left, right) = locksley::join(|| 20, || 22);
        let name = std::thread::current().name().map(str::to_owned);
        format!("{} says {}", name.unwrap_or_default(), left + right)
    });
    println!("{name}");

    // Each worker runs this once.
    let squares = pool.broadcast(|context| context.index() * context.index());
    println!("squares of the indices: {squares:?}");

    // A panic that no caller waits for goes to the handler.
    std::panic::set_hook(Box::new(|_| {}));
    pool.spawn_detached(|| panic!("an arrow went astray"));
    println!("the panic handler got: {}", panics.recv()?);

    // An invalid configuration is an error, whose message says what to do.
    let error = Pool::builder().workers(1_000_000).build().unwrap_err();
    println!("error: {error}");

    pool.shutdown(); // waits for spawned tasks; dropping the pool does the same
    Ok(())
}
