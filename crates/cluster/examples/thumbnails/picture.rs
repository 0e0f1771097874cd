//! One thumbnail: read, shrink, write.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Cursor, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use image::codecs::jpeg::JpegEncoder;
use image::metadata::Orientation;
use image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader};

/// Largest image in memory, in bytes: that of a camera with 100 megapixels takes 300 MB. A small
/// file can claim to contain a gigantic image.
const MOST_BYTES: u64 = 512 << 20;

/// JPEG quality, like that of thumbnails of common programs.
const QUALITY: u8 = 85;

/// The outcome for an image.
pub(crate) enum Done {
    /// The thumbnail was made.
    Made,
    /// The thumbnail existed.
    There,
}

/// Why there is no thumbnail.
pub(crate) enum PictureError {
    /// The image cannot be read.
    Broken(String),
    /// The thumbnail cannot be written.
    Unwritten(String),
}

/// Returns `true` if a file of this name is considered an image.
pub(crate) fn is_named_so(name: &Path) -> bool {
    format(name).is_some()
}

/// Returns the format of a thumbnail of this name.
fn format(name: &Path) -> Option<ImageFormat> {
    let extension = name.extension()?.to_str()?.to_ascii_lowercase();
    match extension.as_str() {
        "jpg" | "jpeg" => Some(ImageFormat::Jpeg),
        "png" => Some(ImageFormat::Png),
        _ => None,
    }
}

/// Makes a thumbnail, unless it exists.
pub(crate) fn make(source: &Path, target: &Path, size: u32) -> Result<Done, PictureError> {
    // A decoder that panics on bad data is treated like one that reports them.
    let small = catch_unwind(AssertUnwindSafe(|| shrink(source, target, size)));
    let small = small.unwrap_or_else(|_| Err("the decoder panicked".to_owned()));
    match small.map_err(PictureError::Broken)? {
        None => Ok(Done::There),
        Some(bytes) => write(target, &bytes)
            .map(|()| Done::Made)
            .map_err(|error| PictureError::Unwritten(error.to_string())),
    }
}

/// Returns the thumbnail's bytes; `None` if it exists.
fn shrink(source: &Path, target: &Path, size: u32) -> Result<Option<Vec<u8>>, String> {
    let said = |error: image::ImageError| error.to_string();
    let reader = reader(source).map_err(|error| error.to_string())?;
    let mut decoder = reader.into_decoder().map_err(said)?;
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    let (width, height) = fit(decoder.dimensions(), size);
    if is_there(source, target, turned((width, height), orientation)) {
        return Ok(None);
    }
    if decoder.total_bytes() > MOST_BYTES {
        let megabytes = decoder.total_bytes() >> 20;
        return Err(format!(
            "too large: {megabytes} MB in memory, and {} are allowed",
            MOST_BYTES >> 20
        ));
    }
    let whole = DynamicImage::from_decoder(decoder).map_err(said)?;
    let mut small = if (whole.width(), whole.height()) == (width, height) {
        whole
    } else {
        whole.thumbnail_exact(width, height)
    };
    small.apply_orientation(orientation);
    encode(&small, target).map(Some).map_err(said)
}

/// Returns a reader that detects the format by content, not by name.
fn reader(path: &Path) -> io::Result<ImageReader<io::BufReader<File>>> {
    ImageReader::open(path)?.with_guessed_format()
}

/// Returns the size of a thumbnail: that of the image, or smaller with the same proportions.
fn fit((width, height): (u32, u32), size: u32) -> (u32, u32) {
    let longer = width.max(height);
    if longer <= size {
        return (width, height);
    }
    let scaled = |side: u32| {
        let scaled =
            (u64::from(side) * u64::from(size) + u64::from(longer) / 2) / u64::from(longer);
        u32::try_from(scaled).unwrap_or(size).max(1)
    };
    (scaled(width), scaled(height))
}

/// Returns the size after the image was turned according to its orientation.
fn turned((width, height): (u32, u32), orientation: Orientation) -> (u32, u32) {
    match orientation {
        Orientation::Rotate90
        | Orientation::Rotate270
        | Orientation::Rotate90FlipH
        | Orientation::Rotate270FlipH => (height, width),
        _ => (width, height),
    }
}

/// Returns `true` if there is a thumbnail of this size that is not older than its image.
fn is_there(source: &Path, target: &Path, dimensions: (u32, u32)) -> bool {
    let changed = |path: &Path| fs::metadata(path).and_then(|metadata| metadata.modified());
    let (Ok(before), Ok(after)) = (changed(source), changed(target)) else {
        return false;
    };
    let found = reader(target).map(ImageReader::into_dimensions);
    after >= before && matches!(found, Ok(Ok(found)) if found == dimensions)
}

/// Encodes the image in the format of the target's name, with 8 bits for each colour.
fn encode(image: &DynamicImage, target: &Path) -> Result<Vec<u8>, image::ImageError> {
    let mut bytes = Cursor::new(Vec::new());
    let (coloured, clear) = (image.color().has_color(), image.color().has_alpha());
    let jpeg = format(target) == Some(ImageFormat::Jpeg);
    let plain: DynamicImage = match (coloured, clear && !jpeg) {
        (true, true) => image.to_rgba8().into(),
        (true, false) => image.to_rgb8().into(),
        (false, true) => image.to_luma_alpha8().into(),
        (false, false) => image.to_luma8().into(),
    };
    if jpeg {
        plain.write_with_encoder(JpegEncoder::new_with_quality(&mut bytes, QUALITY))?;
    } else {
        plain.write_to(&mut bytes, ImageFormat::Png)?;
    }
    Ok(bytes.into_inner())
}

/// A file that is being written, which is removed if it is not completed.
struct Part(PathBuf);

impl Drop for Part {
    fn drop(&mut self) {
        // After the rename the file does not exist any more; if removal fails, a later run removes
        // it.
        let _ = fs::remove_file(&self.0);
    }
}

const PREFIX: &[u8] = b".locksley-";
const SUFFIX: &[u8] = b".part";

/// Returns `true` if this is the name of a file that is being written.
pub(crate) fn is_part(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name.starts_with(PREFIX) && name.ends_with(SUFFIX)
}

impl Part {
    /// Creates a file with a name that no other thread, process or host uses.
    fn create(folder: &Path) -> io::Result<(File, Part)> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let time = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        let name = format!(
            ".locksley-{}-{number}-{}.part",
            std::process::id(),
            time.as_nanos()
        );
        let path = folder.join(name);
        let mut options = OpenOptions::new();
        let file = options.write(true).create_new(true).open(&path)?;
        Ok((file, Part(path)))
    }
}

/// Writes a file atomically: a reader sees nothing, or the previous content, or the complete file,
/// even after a power cut.
fn write(target: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = target.parent().unwrap_or(target);
    let (mut file, part) = Part::create(folder)?;
    file.write_all(bytes)?;
    file.sync_data()?;
    drop(file);
    fs::rename(&part.0, target)
}

/// Returns an error if files cannot be created in this folder.
pub(crate) fn try_to_write(folder: &Path) -> io::Result<()> {
    Part::create(folder).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thumbnails_keep_proportions_and_never_grow() {
        assert_eq!(fit((4000, 3000), 256), (256, 192));
        assert_eq!(fit((3000, 4000), 256), (192, 256));
        assert_eq!(fit((100, 50), 256), (100, 50));
        assert_eq!(fit((10_000, 1), 256), (256, 1));
        assert_eq!(fit((u32::MAX, u32::MAX), 16_384), (16_384, 16_384));
        assert_eq!(turned((2, 1), Orientation::Rotate90), (1, 2));
    }

    #[test]
    fn names_say_what_is_taken_for_an_image() {
        for name in ["a.jpg", "a.JPG", "b.c.jpeg", "a.Png"] {
            assert!(is_named_so(Path::new(name)), "{name}");
        }
        for name in ["jpg", "a.gif", "a.jpg.txt", ".png"] {
            assert!(!is_named_so(Path::new(name)), "{name}");
        }
        assert!(is_part(OsStr::new(".locksley-1-2-3.part")));
        assert!(!is_part(OsStr::new("locksley.part")));
    }
}
