//! The serialised form of tasks.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::Task;
use crate::continuation::Slot;

/// A serialised task: the name of its kind, and its argument in postcard's format.
///
/// ```
/// use locksley_cluster::Parcel;
///
/// let parcel = Parcel::new("count", vec![1, 2]);
/// assert_eq!(Parcel::decode(&parcel.encode()).unwrap(), parcel);
/// assert!(Parcel::decode(&[200, 1]).is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parcel {
    /// Name of the kind.
    pub kind: String,
    /// Number of results in the argument: the inputs, if it is a
    /// [continuation](crate::Continuation).
    pub inputs: u32,
    /// Slot that receives the result; `None` if it is combined into the result of the job.
    pub to: Option<Slot>,
    /// The task, serialised.
    pub argument: Vec<u8>,
}

impl Parcel {
    /// Creates the parcel of a task whose result is combined into that of the job.
    pub fn new(kind: impl Into<String>, argument: Vec<u8>) -> Parcel {
        Parcel {
            kind: kind.into(),
            inputs: 0,
            to: None,
            argument,
        }
    }

    /// Serialises a task.
    pub fn of<T: Task>(task: &T) -> Parcel {
        Parcel::new(T::KIND, encode(task))
    }

    /// Returns the number of results in an encoded parcel.
    pub(crate) fn inputs_of(bytes: &[u8]) -> u32 {
        let front = postcard::take_from_bytes::<(&str, u32)>(bytes);
        front.map_or(0, |((_, inputs), _)| inputs)
    }

    /// Returns the name of the kind of an encoded parcel, of which `bytes` may be only the
    /// beginning.
    pub(crate) fn kind_of(bytes: &[u8]) -> Option<&str> {
        let front = postcard::take_from_bytes::<&str>(bytes);
        front.ok().map(|(kind, _)| kind)
    }

    /// Packs several encoded parcels into one, the kind of which is empty.
    pub(crate) fn bundle(parcels: &[Vec<u8>]) -> Vec<u8> {
        let inputs = parcels.iter().map(|parcel| Parcel::inputs_of(parcel));
        let inputs = inputs.fold(0, u32::saturating_add);
        let parcel = Parcel::new("", encode(parcels));
        Parcel { inputs, ..parcel }.encode()
    }

    /// Returns the encoded parcels in a bundle, or `bytes` itself if it is a single parcel.
    ///
    /// # Errors
    ///
    /// If the content of the bundle is not a list of encoded parcels.
    pub(crate) fn unbundle(bytes: &[u8]) -> Result<Vec<Vec<u8>>, Malformed> {
        match bytes {
            // The length of the kind's name comes first.
            [0, ..] => decode(&Parcel::decode(bytes)?.argument),
            _ => Ok(vec![bytes.to_vec()]),
        }
    }

    /// Returns the parcel as bytes.
    pub fn encode(&self) -> Vec<u8> {
        encode(self)
    }

    /// Returns the parcel that was encoded as `bytes`.
    ///
    /// # Errors
    ///
    /// If `bytes` is not an encoded parcel.
    pub fn decode(bytes: &[u8]) -> Result<Parcel, Malformed> {
        decode(bytes)
    }
}

/// Encodes a value in postcard's format.
///
/// # Panics
///
/// If the value's own `Serialize` fails, which is a fault in the program: writing to memory cannot
/// fail.
pub(crate) fn encode<T: Serialize + ?Sized>(value: &T) -> Vec<u8> {
    postcard::to_stdvec(value).unwrap_or_else(|error| {
        panic!(
            "a {} cannot be serialised: {error}",
            std::any::type_name::<T>()
        )
    })
}

/// Returns the number of bytes that a value takes in postcard's format.
///
/// # Panics
///
/// As [`encode`] does.
pub(crate) fn size<T: Serialize + ?Sized>(value: &T) -> usize {
    let counted = postcard::experimental::serialized_size(value);
    counted.unwrap_or_else(|error| {
        panic!(
            "a {} cannot be serialised: {error}",
            std::any::type_name::<T>()
        )
    })
}

/// Decodes a value from `bytes`, all of which it must use.
pub(crate) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Malformed> {
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Ok(value),
        Ok((_, rest)) => Err(Malformed(format!("{} bytes too many", rest.len()))),
        Err(error) => Err(Malformed(error.to_string())),
    }
}

/// The error for bytes that are not a task, or not a result.
///
/// ```
/// use locksley_cluster::Parcel;
///
/// let malformed = Parcel::decode(&[]).unwrap_err();
/// assert!(malformed.to_string().starts_with("malformed: "));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("malformed: {0}")]
pub struct Malformed(pub(crate) String);
