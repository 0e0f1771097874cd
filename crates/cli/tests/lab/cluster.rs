//! `locksley cluster run`: programs over threads, processes and hosts.

use crate::Lab;

/// A tree of some ten thousand nodes, as the serial search of the crate counts it.
const SMALL: &str = "uts --type binomial --branching 2000 --q 0.12 --m 8 --seed 42";

#[test]
fn a_tree_is_counted_in_one_process() {
    let lab = Lab::new();
    let serial = lab.json(&format!("cluster run {SMALL} --workers 1"));
    assert_eq!(serial["command"], "cluster run");
    assert_eq!(serial["result"]["nodes"], 62_689);
    assert_eq!(serial["verified"], false, "nobody has published it");
    let document = lab.json(&format!(
        "cluster run {SMALL} --workers 3 --strategy steal-half"
    ));
    assert_eq!(document["result"], serial["result"]);
    assert!(document["tasks"].as_u64().unwrap() > 1);
    assert!(document["efficiency"].as_f64().unwrap() > 0.0);
    let ran = lab.good(&format!("cluster run {SMALL} --workers 2 --trace t.json"));
    assert!(ran.out.contains("62 689 nodes"), "{}", ran.out);
    let trace: serde_json::Value = serde_json::from_str(&lab.read("t.json")).unwrap();
    assert!(!trace["traceEvents"].as_array().unwrap().is_empty());
    assert_eq!(lab.files(), ["t.json"]);
}

/// A PNG of one pixel.
#[cfg(feature = "thumbnails")]
const PIXEL: [u8; 67] = [
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48, 0x44, 0x52,
    0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x01, 0x08, 0x00, 0x00, 0x00, 0x00, 0x3a, 0x7e, 0x9b,
    0x55, 0x00, 0x00, 0x00, 0x0a, 0x49, 0x44, 0x41, 0x54, 0x78, 0x9c, 0x63, 0x68, 0x00, 0x00, 0x00,
    0x82, 0x00, 0x81, 0x77, 0xcd, 0x72, 0xb6, 0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae,
    0x42, 0x60, 0x82,
];

#[cfg(feature = "thumbnails")]
#[test]
fn thumbnails_are_made_and_a_second_run_finds_them() {
    use std::fs;
    let lab = Lab::new();
    fs::create_dir_all(lab.0.join("in/sub")).unwrap();
    for name in ["in/a.png", "in/sub/b.png"] {
        fs::write(lab.0.join(name), PIXEL).unwrap();
    }
    fs::write(lab.0.join("in/bad.jpg"), "no image").unwrap();
    let line = "cluster run thumbnails in out --size 16";
    let ran = lab.good(line);
    for part in ["2 made", "bad.jpg: "] {
        assert!(ran.out.contains(part), "{}", ran.out);
    }
    assert!(lab.files().contains(&"out/sub/b.png".to_owned()));
    let document = lab.json(line);
    let result = &document["result"];
    assert_eq!((&result["made"], &result["there"]), (&0.into(), &2.into()));
    assert_eq!(result["broken"]["count"], 1);
    fs::remove_dir_all(lab.0.join("out")).unwrap();
    fs::create_dir(lab.0.join("out")).unwrap();
    fs::write(lab.0.join("out/sub"), "a file").unwrap();
    let ran = lab.run(line);
    assert_eq!(ran.code, 3, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("1 made"), "{}", ran.out);
    assert!(ran.err.contains("another run"), "{}", ran.err);
}
