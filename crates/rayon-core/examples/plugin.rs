//! A library that is loaded at run time, uses the global pool, and can be unloaded after it has
//! shut down the pool.

/// Sums the numbers below `end`, in parallel.
#[unsafe(no_mangle)]
pub extern "C" fn plugin_sum(end: u64) -> u64 {
    sum(0, end)
}

/// Ends the library's threads. To be called before the library is unloaded.
#[unsafe(no_mangle)]
pub extern "C" fn plugin_end() {
    rayon_core::shutdown_global();
}

fn sum(start: u64, end: u64) -> u64 {
    if end - start < 100 {
        return (start..end).sum();
    }
    let middle = start + (end - start) / 2;
    let (a, b) = rayon_core::join(|| sum(start, middle), || sum(middle, end));
    a + b
}
