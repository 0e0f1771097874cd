//! The `links` key, which keeps a second rayon-core out of a program, asks for a build script.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
}
