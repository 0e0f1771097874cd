//! Dataflow: tasks declare what they read and write, and run as early as that allows.
//!
//! ```sh
//! cargo run --release -p locksley --example flow
//! ```

use locksley::flow::{Sum, draw};

fn main() {
    let mut temperatures: Vec<f64> = (0..40_000).map(|n| f64::from(n % 100)).collect();
    let (mut total, mut warmest, mut report) = (0.0, f64::MIN, String::new());

    let ((), drawing) = draw(|f| {
        let tiles = f.tiles(&mut temperatures, 10_000);
        let total = f.cumulative(&mut total, Sum);
        let warmest = f.cumulative(&mut warmest, |most: &mut f64, t: f64| *most = most.max(t));
        let report = f.object(&mut report);
        for tile in &tiles {
            // Each tile is converted first. Then it is added up and searched, in any order.
            f.label("convert").fork(tile.update(), |tile| {
                tile.iter_mut().for_each(|t| *t = *t * 1.8 + 32.0);
            });
            f.label("add up")
                .fork((tile.read(), total.cumulate()), |(tile, mut total)| {
                    total.add(tile.iter().sum());
                });
            f.label("search")
                .fork((tile.read(), warmest.cumulate()), |(tile, mut warmest)| {
                    warmest.add(tile.iter().copied().fold(f64::MIN, f64::max));
                });
        }
        // Waits for all tiles.
        f.label("report").fork(
            (total.read(), warmest.read(), report.write()),
            |(total, warmest, mut report)| {
                report.set(format!(
                    "mean {:.1}, warmest {warmest:.1}",
                    total / 40_000.0
                ));
            },
        );
    });

    println!("{report}");
    assert_eq!(report, "mean 121.1, warmest 210.2");
    println!(
        "{} tasks, {} dependencies",
        drawing.tasks(),
        drawing.edges().len()
    );
    println!("\nThe graph, for `dot -Tsvg`:\n{drawing}");
}
