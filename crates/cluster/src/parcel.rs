//! Tasks as they travel: the format of bytes.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::Task;
use crate::continuation::Slot;

/// A task on its way: the name of its kind, and its argument in postcard's format.
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
    /// The name of its kind.
    pub kind: String,
    /// How many results are in the argument: of a [continuation](crate::Continuation) its inputs.
    pub inputs: u32,
    /// Where its result goes, if not into that of the job.
    pub to: Option<Slot>,
    /// The task, serialised.
    pub argument: Vec<u8>,
}

impl Parcel {
    /// A task of this kind, whose result goes into that of the job.
    pub fn new(kind: impl Into<String>, argument: Vec<u8>) -> Parcel {
        Parcel {
            kind: kind.into(),
            inputs: 0,
            to: None,
            argument,
        }
    }

    /// Packs a task.
    pub fn of<T: Task>(task: &T) -> Parcel {
        Parcel::new(T::KIND, encode(task))
    }

    /// How many results are in an encoded parcel.
    pub(crate) fn inputs_of(bytes: &[u8]) -> u32 {
        let front = postcard::take_from_bytes::<(&str, u32)>(bytes);
        front.map_or(0, |((_, inputs), _)| inputs)
    }

    /// The name of the kind of an encoded parcel, or of the front of one.
    pub(crate) fn kind_of(bytes: &[u8]) -> Option<&str> {
        let front = postcard::take_from_bytes::<&str>(bytes);
        front.ok().map(|(kind, _)| kind)
    }

    /// Several encoded parcels as one: a parcel of no kind.
    pub(crate) fn bundle(parcels: &[Vec<u8>]) -> Vec<u8> {
        let inputs = parcels.iter().map(|parcel| Parcel::inputs_of(parcel));
        let inputs = inputs.fold(0, u32::saturating_add);
        let parcel = Parcel::new("", encode(parcels));
        Parcel { inputs, ..parcel }.encode()
    }

    /// The encoded parcels in a bundle, or the one that this is.
    ///
    /// # Errors
    ///
    /// If it is a bundle of something else.
    pub(crate) fn unbundle(bytes: &[u8]) -> Result<Vec<Vec<u8>>, Malformed> {
        match bytes {
            // The length of the kind's name comes first.
            [0, ..] => decode(&Parcel::decode(bytes)?.argument),
            _ => Ok(vec![bytes.to_vec()]),
        }
    }

    /// The parcel as bytes.
    pub fn encode(&self) -> Vec<u8> {
        encode(self)
    }

    /// The parcel that these bytes are.
    ///
    /// # Errors
    ///
    /// If they are none.
    pub fn decode(bytes: &[u8]) -> Result<Parcel, Malformed> {
        decode(bytes)
    }
}

/// A value in postcard's format.
///
/// # Panics
///
/// If the value's own `Serialize` fails, which is a fault in the program: memory can always be
/// written to.
pub(crate) fn encode<T: Serialize + ?Sized>(value: &T) -> Vec<u8> {
    postcard::to_stdvec(value).unwrap_or_else(|error| {
        panic!(
            "a {} cannot be serialised: {error}",
            std::any::type_name::<T>()
        )
    })
}

/// How many bytes a value takes in postcard's format.
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

/// The value that all of these bytes are.
pub(crate) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Malformed> {
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Ok(value),
        Ok((_, rest)) => Err(Malformed(format!("{} bytes too many", rest.len()))),
        Err(error) => Err(Malformed(error.to_string())),
    }
}

/// Why bytes are no task, or no result.
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
