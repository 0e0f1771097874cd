//! Cargo requires a build script for the `links` key, which keeps a second rayon-core out of a
//! program.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
}
