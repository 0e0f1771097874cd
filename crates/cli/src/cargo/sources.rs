//! The drop-in's sources: embedded in the program, unpacked below a project's target folder.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use crate::error::Error;

/// Path, separated by `/`, and content of every file of the drop-in.
const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/sources.rs"));

/// Returns the version of rayon-core that the drop-in implements.
pub(super) fn version() -> &'static str {
    let manifest = FILES
        .iter()
        .find(|(name, _)| *name == "crates/rayon-core/Cargo.toml");
    let lines = manifest.map_or("", |(_, text)| text).lines();
    let mut version = lines.filter_map(|line| line.strip_prefix("version = "));
    version.next().map_or("", |text| text.trim_matches('"'))
}

/// Unpacks the sources into a subfolder of `folder` that is named after their hash. Returns the
/// folder of the crate `rayon-core`.
///
/// Files that exist with the right length are not written again, so that cargo does not rebuild
/// them.
pub(super) fn unpack(folder: &Path) -> Result<PathBuf, Error> {
    let mut hasher = DefaultHasher::new();
    FILES.hash(&mut hasher);
    let root = folder.join(format!("rayon-core-{:016x}", hasher.finish()));
    for (name, text) in FILES {
        let path = root.join(name);
        if fs::metadata(&path).is_ok_and(|file| file.len() == text.len() as u64) {
            continue;
        }
        let parent = path.parent().unwrap_or(&root);
        fs::create_dir_all(parent)
            .map_err(|error| Error::file("create the folder", parent, &error))?;
        fs::write(&path, text).map_err(|error| Error::file("write", &path, &error))?;
    }
    Ok(root.join("crates").join("rayon-core"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str) -> &'static str {
        let found = FILES.iter().find(|(path, _)| *path == name);
        found.unwrap_or_else(|| panic!("{name} is carried")).1
    }

    /// The drop-in and the crates below it.
    const CRATES: [&str; 7] = [
        "rayon-core",
        "locksley",
        "machine",
        "policy",
        "queue",
        "strategy",
        "trace",
    ];

    #[test]
    fn every_crate_of_the_drop_in_is_carried() {
        for name in CRATES {
            assert!(file(&format!("crates/{name}/Cargo.toml")).contains("[package]"));
            assert!(file(&format!("crates/{name}/src/lib.rs")).contains("//!"));
        }
        assert!(FILES.iter().all(|(name, _)| !name.contains("/tests/")));
        assert!(version().starts_with("1."), "{}", version());
    }

    #[test]
    fn every_crate_stands_alone() {
        for name in CRATES {
            let manifest = file(&format!("crates/{name}/Cargo.toml"));
            for absent in [
                "workspace = true",
                "dev-dependencies",
                "cfg(loom)'",
                "members",
            ] {
                assert!(!manifest.contains(absent), "{absent}: {manifest}");
            }
            for present in ["edition = \"", "[lints.rust]", "\n[workspace]\n"] {
                assert!(manifest.contains(present), "{present}: {manifest}");
            }
        }
        let locksley = file("crates/locksley/Cargo.toml");
        assert!(locksley.contains("{ path = \"../queue\""), "{locksley}");
        let trace = file("crates/trace/Cargo.toml");
        assert!(
            trace.contains("serde_json = { version = \"1\", optional = true }"),
            "{trace}"
        );
    }
}
