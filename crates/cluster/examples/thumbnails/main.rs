//! Thumbnails of all images below a folder: a batch over files that can be interrupted and resumed.
//!
//! ```text
//! cargo run --release -p locksley-cluster --example thumbnails -- photos small 256
//! ```
//!
//! Arguments: the folder of the images, that of the thumbnails, and the largest width and height of
//! a thumbnail. The program runs in one process here; its tasks would run on ranks or leases
//! unchanged.

mod batch;
mod made;
mod picture;
#[cfg(test)]
mod tests;

use std::error::Error;
use std::process::ExitCode;

use batch::Batch;
use locksley_cluster::Local;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [input, output, size @ ..] = &arguments[..] else {
        return Err("give the folder of the images and that of the thumbnails".into());
    };
    let size = size.first().map_or(Ok(256), |size| size.parse())?;
    let batch = Batch::new(input.as_ref(), output.as_ref(), size)?;
    let pool = locksley::Pool::builder().build()?;
    let (made, _) = Local::new(pool, &batch::program()).run([batch.whole()])?;
    println!(
        "{} made, {} up to date, {} unreadable; {} other files",
        made.made, made.there, made.broken.count, made.ignored
    );
    for complaint in made.broken.first.iter().chain(&made.unwritten.first) {
        println!("{complaint}");
    }
    if made.left > 0 {
        println!("{} were left: another run makes them", made.left);
    }
    Ok(ExitCode::from(u8::from(made.left > 0)))
}
