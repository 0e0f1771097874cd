//! Thumbnails of folders with all kinds of content.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use image::{DynamicImage, GrayImage, ImageFormat, Rgb, RgbImage, RgbaImage};
use locksley_cluster::{Local, Panicked};

use crate::batch::{self, Batch, Refused};
use crate::made::Made;

/// A temporary folder for a test, which is removed afterwards.
struct Place(PathBuf);

impl Place {
    fn new() -> Place {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("thumbnails-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(path.join("in")).unwrap();
        Place(path)
    }

    fn input(&self) -> PathBuf {
        self.0.join("in")
    }

    fn output(&self) -> PathBuf {
        self.0.join("out")
    }

    /// Creates an image of this size, in the format of its name.
    fn picture(&self, name: &str, width: u32, height: u32) {
        let path = self.input().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        picture(width, height).save(path).unwrap();
    }

    fn run(&self, size: u32) -> Made {
        run(&self.input(), &self.output(), size).unwrap()
    }

    /// Returns the size of a thumbnail, after reading all of it.
    fn size(&self, name: &str) -> (u32, u32) {
        let thumbnail = image::open(self.output().join(name)).unwrap();
        (thumbnail.width(), thumbnail.height())
    }

    /// Returns all files of the output folder.
    fn thumbnails(&self) -> Vec<String> {
        let (mut files, mut folders) = (Vec::new(), vec![self.output()]);
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let name = path.strip_prefix(self.output()).unwrap();
                files.push(name.to_string_lossy().into_owned());
            }
        }
        files.sort();
        files
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn picture(width: u32, height: u32) -> RgbImage {
    RgbImage::from_fn(width, height, |x, y| Rgb([x as u8, y as u8, (x ^ y) as u8]))
}

fn run(input: &Path, output: &Path, size: u32) -> Result<Made, Panicked> {
    let batch = Batch::new(input, output, size).unwrap();
    let pool = locksley::Pool::builder().workers(2).build().unwrap();
    let local = Local::new(pool, &batch::program());
    local.run([batch.whole()]).map(|(made, _)| made)
}

#[test]
fn every_image_has_its_thumbnail_under_its_own_name() {
    let place = Place::new();
    let sizes = [
        ("oak.png", (300, 200), (64, 43)),
        ("oak.jpg", (200, 300), (43, 64)),
        ("oak.jpeg", (50, 40), (50, 40)),
        ("a b/ü/DEEP.PNG", (64, 65), (63, 64)),
        ("a b/oak.png", (1, 500), (1, 64)),
    ];
    for (name, (width, height), _) in sizes {
        place.picture(name, width, height);
    }
    fs::write(place.input().join("notes.txt"), "no image").unwrap();
    fs::write(place.input().join("._oak.jpg"), "hidden").unwrap();
    let made = place.run(64);
    assert_eq!((made.made, made.there, made.ignored), (5, 0, 2), "{made:?}");
    assert_eq!((made.broken.count, made.unwritten.count), (0, 0));
    for (name, _, size) in sizes {
        assert_eq!(place.size(name), size, "{name}");
    }
    assert_eq!(place.thumbnails().len(), sizes.len());
}

#[test]
fn all_sorts_of_pixels_are_written_in_their_format() {
    let place = Place::new();
    let save = |image: DynamicImage, name: &str, format| {
        image
            .save_with_format(place.input().join(name), format)
            .unwrap();
    };
    let deep = DynamicImage::from(picture(90, 90)).to_rgb16();
    save(deep.into(), "deep.png", ImageFormat::Png);
    save(GrayImage::new(90, 90).into(), "grey.jpg", ImageFormat::Jpeg);
    save(RgbaImage::new(90, 90).into(), "clear.png", ImageFormat::Png);
    save(RgbaImage::new(90, 90).into(), "lie.jpg", ImageFormat::Png);
    assert_eq!(place.run(32).made, 4);
    let format = |name: &str| image::guess_format(&fs::read(place.output().join(name)).unwrap());
    assert_eq!(format("deep.png").unwrap(), ImageFormat::Png);
    assert_eq!(format("lie.jpg").unwrap(), ImageFormat::Jpeg);
    let clear = image::open(place.output().join("clear.png")).unwrap();
    assert!(clear.color().has_alpha());
}

#[test]
fn an_image_that_lies_on_its_side_is_turned() {
    let place = Place::new();
    place.picture("side.jpg", 100, 50);
    let path = place.input().join("side.jpg");
    let mut bytes = fs::read(&path).unwrap();
    // After the start of the image, a segment with one entry: orientation (0x112), a short, one
    // value, 6.
    let mut exif = b"Exif\0\0MM\0*\0\0\0\x08\0\x01".to_vec();
    exif.extend([1, 0x12, 0, 3, 0, 0, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0]);
    let mut segment = vec![0xff, 0xe1, 0, exif.len() as u8 + 2];
    segment.append(&mut exif);
    bytes.splice(2..2, segment);
    fs::write(&path, bytes).unwrap();
    assert_eq!(place.run(32).made, 1);
    assert_eq!(place.size("side.jpg"), (16, 32));
    assert_eq!(place.run(32).there, 1);
}

#[test]
fn broken_images_are_named_and_the_others_are_made() {
    let place = Place::new();
    place.picture("good.png", 100, 100);
    place.picture("half.png", 100, 100);
    let half = fs::read(place.input().join("half.png")).unwrap();
    fs::write(place.input().join("half.png"), &half[..half.len() / 2]).unwrap();
    fs::write(place.input().join("text.jpg"), "this is no image").unwrap();
    fs::write(place.input().join("empty.png"), "").unwrap();
    let made = place.run(32);
    assert_eq!((made.made, made.broken.count), (1, 3), "{made:?}");
    for (complaint, name) in made.broken.first.iter().zip(["empty", "half", "text"]) {
        assert!(complaint.path.contains(name), "{complaint}");
        assert!(!complaint.why.is_empty());
    }
    assert_eq!(place.thumbnails(), ["good.png"]);
}

#[test]
fn an_image_that_says_it_is_gigantic_is_broken() {
    let place = Place::new();
    place.picture("bomb.png", 8, 8);
    let path = place.input().join("bomb.png");
    let mut bytes = fs::read(&path).unwrap();
    bytes[16..24].copy_from_slice(&[0, 1, 0x86, 0xa0, 0, 1, 0x86, 0xa0]);
    let check = crc(&bytes[12..29]).to_be_bytes();
    bytes[29..33].copy_from_slice(&check);
    fs::write(&path, bytes).unwrap();
    let made = place.run(32);
    assert_eq!((made.made, made.broken.count), (0, 1), "{made:?}");
    let why = &made.broken.first[0].why;
    assert!(why.contains("large") || why.contains("imit"), "{why}");
}

/// Computes the checksum of a chunk of a PNG file.
fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc: u32, _| {
            (crc >> 1) ^ (0xedb8_8320 * (crc & 1))
        })
    })
}

#[test]
fn a_second_run_makes_only_what_is_missing_or_out_of_date() {
    let place = Place::new();
    for name in ["a.png", "b.png", "c.png", "d.jpg"] {
        place.picture(name, 100, 50);
    }
    assert_eq!(place.run(32).made, 4);
    let again = place.run(32);
    assert_eq!((again.made, again.there), (0, 4));
    fs::remove_file(place.output().join("a.png")).unwrap();
    fs::write(place.output().join("b.png"), "spoilt").unwrap();
    let later = SystemTime::now() + Duration::from_secs(60);
    let newer = fs::File::options()
        .write(true)
        .open(place.input().join("c.png"))
        .unwrap();
    newer.set_modified(later).unwrap();
    let again = place.run(32);
    assert_eq!((again.made, again.there), (3, 1), "{again:?}");
    let larger = place.run(64);
    assert_eq!((larger.made, larger.there), (4, 0), "another size");
    assert_eq!(place.size("d.jpg"), (64, 32));
}

#[test]
fn many_images_are_split_into_tasks() {
    let place = Place::new();
    for number in 0..40 {
        place.picture(&format!("{number}.png"), 20, 20);
    }
    let batch = Batch::new(&place.input(), &place.output(), 8).unwrap();
    let pool = locksley::Pool::builder().workers(2).build().unwrap();
    let local = Local::new(pool, &batch::program());
    let (made, usage) = local.run([batch.whole()]).unwrap();
    assert_eq!(made.made, 40);
    assert!(
        usage.tasks > 2,
        "a folder, its files, and what was split off"
    );
}

#[test]
fn tasks_are_small_however_many_folders_there_are() {
    let place = Place::new();
    for number in 0..1200 {
        let name = format!("{number}-{}", "x".repeat(200));
        fs::create_dir(place.input().join(name)).unwrap();
    }
    let batch = Batch::new(&place.input(), &place.output(), 16).unwrap();
    let pool = locksley::Pool::builder().workers(1).build().unwrap();
    let local = Local::new(pool, &batch::program());
    local.set_appetite(usize::MAX);
    local.submit(Box::new(batch.whole()));
    let mut largest = 0;
    // Wait until the first task has begun, and spawns others.
    while local.usage().added < 2 {
        std::thread::yield_now();
    }
    while !local.wait(Duration::from_micros(100)) {
        let taken = local.withdraw(usize::MAX);
        let sizes = taken.iter().map(|task| task.pack().encode().len());
        largest = largest.max(sizes.max().unwrap_or(0));
    }
    assert!(
        largest > 0 && largest < 100_000,
        "{largest} bytes, and there may be far more folders"
    );
}

#[cfg(unix)]
#[test]
fn links_to_images_are_followed_and_links_to_folders_are_not() {
    use std::os::unix::fs::symlink;
    let place = Place::new();
    place.picture("sub/oak.png", 40, 40);
    let link = |to: &str, name: &str| symlink(to, place.input().join(name)).unwrap();
    link("sub/oak.png", "link.png");
    link(".", "circle");
    link("sub", "folder.png");
    link("nowhere", "gone.png");
    let made = place.run(16);
    assert_eq!(place.thumbnails(), ["link.png", "sub/oak.png"]);
    assert_eq!((made.made, made.ignored), (2, 2), "{made:?}");
    assert!(made.broken.first[0].path.contains("gone.png"));
}

#[cfg(unix)]
#[test]
fn no_link_leads_thumbnails_back_over_the_images() {
    let place = Place::new();
    place.picture("sub/oak.png", 40, 40);
    fs::create_dir(place.output()).unwrap();
    std::os::unix::fs::symlink("../in/sub", place.output().join("sub")).unwrap();
    let before = fs::read(place.input().join("sub/oak.png")).unwrap();
    let made = place.run(16);
    assert_eq!((made.made, made.left), (0, 1), "{made:?}");
    assert!(made.unwritten.first[0].why.contains("remove it"));
    let after = fs::read(place.input().join("sub/oak.png")).unwrap();
    assert_eq!(before, after);
}

#[cfg(unix)]
#[test]
fn names_that_are_no_text_are_names() {
    use std::os::unix::ffi::OsStrExt;
    let place = Place::new();
    let name = std::ffi::OsStr::from_bytes(b"f\xff.png");
    let saved = picture(40, 40).save_with_format(place.input().join(name), ImageFormat::Png);
    if saved.is_err() {
        return; // Some file systems allow text only.
    }
    assert_eq!(place.run(16).made, 1);
    assert!(place.output().join(name).exists());
}

#[test]
fn what_cannot_be_written_is_told_and_the_rest_goes_on() {
    let place = Place::new();
    for name in ["a/1.png", "a/2.png", "b/1.png"] {
        place.picture(name, 40, 40);
    }
    fs::create_dir(place.output()).unwrap();
    fs::write(place.output().join("a"), "a file where a folder must be").unwrap();
    let made = place.run(16);
    assert_eq!((made.made, made.left), (1, 2), "{made:?}");
    assert!(made.unwritten.count >= 1);
    assert_eq!(place.size("b/1.png"), (16, 16));
}

#[test]
fn folders_that_make_no_sense_are_refused() {
    let place = Place::new();
    let (input, output) = (place.input(), place.output());
    place.picture("sub/oak.png", 4, 4);
    let error = |from: &Path, to: &Path| Batch::new(from, to, 16).unwrap_err();
    assert!(matches!(error(&output, &input), Refused::Input(..)));
    assert!(matches!(error(&input, &input), Refused::Nested(..)));
    let inside = input.join("new/thumbnails");
    assert!(matches!(error(&input, &inside), Refused::Nested(..)));
    assert!(!input.join("new").exists(), "nothing was made");
    let outside = error(&input.join("sub"), &input);
    assert!(outside.to_string().contains("use separate folders"));
    fs::write(&output, "a file").unwrap();
    assert!(matches!(error(&input, &output), Refused::Output(..)));
    let below = error(&input, &output.join("below"));
    assert!(below.to_string().contains("cannot write"), "{below}");
    assert!(matches!(
        Batch::new(&input, &place.0.join("o"), 0),
        Err(Refused::Size(0))
    ));
}

#[test]
fn what_a_killed_process_left_is_removed_when_it_is_old() {
    let place = Place::new();
    place.picture("oak.png", 40, 40);
    fs::create_dir(place.output()).unwrap();
    let old = place.output().join(".locksley-1-0-1.part");
    let young = place.output().join(".locksley-1-1-1.part");
    for path in [&old, &young] {
        fs::write(path, "half").unwrap();
    }
    let long_ago = SystemTime::now() - Duration::from_secs(7200);
    let file = fs::File::options().write(true).open(&old).unwrap();
    file.set_modified(long_ago).unwrap();
    assert_eq!(place.run(16).made, 1);
    assert!(!old.exists() && young.exists());
}

/// Environment variable with the folder, for a process that is going to be killed.
const VICTIM: &str = "LOCKSLEY_TEST_VICTIM";

#[test]
#[ignore = "what the process does that the next test kills"]
fn victim() {
    let folder = PathBuf::from(std::env::var_os(VICTIM).unwrap());
    run(&folder.join("in"), &folder.join("out"), 48).unwrap();
}

#[test]
fn a_killed_run_leaves_whole_thumbnails_and_is_resumed() {
    const IMAGES: usize = 60;
    let place = Place::new();
    for number in 0..IMAGES {
        place.picture(&format!("{number}.png"), 320, 240);
    }
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "tests::victim", "--ignored"])
        .env(VICTIM, &place.0)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let whole = || {
        let mut names = place.thumbnails();
        names.retain(|name| !name.starts_with(".locksley-"));
        names
    };
    while whole().len() < 3 && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let before = whole();
    assert!((3..IMAGES).contains(&before.len()), "{}", before.len());
    for name in &before {
        assert_eq!(place.size(name), (48, 36), "{name}");
    }
    let made = place.run(48);
    assert_eq!(made.there as usize, before.len());
    assert_eq!(made.made as usize, IMAGES - before.len());
    assert_eq!(whole().len(), IMAGES);
}
