//! Results: parsed results survive a round trip, and a page can be made of them unless `fault`
//! rejects them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use locksley_report::{Results, page};

fuzz_target!(|text: &str| {
    let Ok(results) = serde_json::from_str::<Results>(text) else {
        return;
    };
    if results.fault().is_some() {
        return;
    }
    let written = serde_json::to_string(&results).expect("results are written");
    let again: Results = serde_json::from_str(&written).expect("what is written is read");
    assert_eq!(again, results);
    assert!(page(&results).contains("</html>"));
});
