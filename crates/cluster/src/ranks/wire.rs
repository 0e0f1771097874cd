//! The messages between ranks, as bytes.
//!
//! | first byte | the rest | |
//! |---|---|---|
//! | 0 | build (8 bytes, little-endian), name of the host (UTF-8) | greeting |
//! | 1 | a text (UTF-8) | abort |
//! | 2 | [`Sealed`] in postcard's format | anything else |
//!
//! The first two formats must never change: different builds use them to refuse each other.

use serde::{Deserialize, Serialize};

use locksley_policy::rank::Message;

use crate::continuation::Slot;
use crate::parcel::{Malformed, Parcel, decode, encode};

const GREETING: u8 = 0;
const ABORT: u8 = 1;
const SEALED: u8 = 2;

/// A message between ranks.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Packet {
    /// To the parent: the build and the host of this rank.
    Greeting { build: u64, host: String },
    /// To all ranks: the job has failed, for this reason.
    Abort(String),
    /// A message that only the same build can read.
    Sealed(Sealed),
}

/// The messages between ranks of the same build.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Sealed {
    /// To the parent: the hosts of this rank and all ranks below it.
    Below(Vec<(u32, String)>),
    /// From the parent: the host of each rank, as runs of a host's number and a number of
    /// consecutive ranks.
    HostRuns(Vec<(u32, u32)>),
    /// To rank 0: a request for the time.
    Ping,
    /// From rank 0: nanoseconds since 1970.
    Pong(u64),
    /// A message of the protocol that moves work.
    Protocol(Message<Vec<Parcel>>),
    /// To the owner of deferred tasks: inputs for them, encoded.
    Inputs(Vec<(Slot, Vec<u8>)>),
    /// To the parent: a piece of the encoded reports of a rank and all ranks below it, and whether
    /// it is the last.
    Piece { last: bool, bytes: Vec<u8> },
    /// From the parent: all reports have reached rank 0; or, if not `last`, they are still being
    /// collected.
    Acknowledge { last: bool },
}

impl Packet {
    /// Encodes the packet.
    pub(super) fn encode(&self) -> Vec<u8> {
        match self {
            Packet::Greeting { build, host } => {
                let mut bytes = vec![GREETING];
                bytes.extend(build.to_le_bytes());
                bytes.extend(host.as_bytes());
                bytes
            }
            Packet::Abort(why) => [&[ABORT], why.as_bytes()].concat(),
            Packet::Sealed(sealed) => encode(&(SEALED, sealed)),
        }
    }

    /// Decodes a packet.
    pub(super) fn decode(bytes: &[u8]) -> Result<Packet, Malformed> {
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        let malformed = |why: &str| Malformed(why.to_owned());
        let (kind, rest) = bytes.split_first().ok_or_else(|| malformed("empty"))?;
        match *kind {
            GREETING => match rest.split_first_chunk() {
                Some((build, host)) => Ok(Packet::Greeting {
                    build: u64::from_le_bytes(*build),
                    host: text(host),
                }),
                None => Err(malformed("a short greeting")),
            },
            ABORT => Ok(Packet::Abort(text(rest))),
            SEALED => decode(rest).map(Packet::Sealed),
            _ => Err(malformed("of an unknown kind")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::continuation::DeferredId;

    #[test]
    fn what_is_sent_is_what_arrives() {
        let of = DeferredId { home: 2, number: 9 };
        let slot = Slot { of, index: 1 };
        let parcel = Parcel {
            to: Some(slot),
            ..Parcel::new("count", vec![1, 2, 3])
        };
        let work = Message::Work {
            tasks: vec![parcel],
            lifeline: true,
        };
        for packet in [
            Packet::Greeting {
                build: u64::MAX - 1,
                host: "Nottingham ü".to_owned(),
            },
            Packet::Abort(String::new()),
            Packet::Sealed(Sealed::Below(vec![(3, "a".to_owned()), (9, String::new())])),
            Packet::Sealed(Sealed::HostRuns(vec![(0, 3), (1, 1)])),
            Packet::Sealed(Sealed::Pong(u64::MAX)),
            Packet::Sealed(Sealed::Protocol(work)),
            Packet::Sealed(Sealed::Inputs(vec![(slot, vec![7; 300])])),
            Packet::Sealed(Sealed::Piece {
                last: true,
                bytes: vec![0; 1000],
            }),
        ] {
            assert_eq!(Packet::decode(&packet.encode()), Ok(packet));
        }
    }

    #[test]
    fn greetings_have_a_format_that_never_changes() {
        let greeting = Packet::Greeting {
            build: 0x0102_0304_0506_0708,
            host: "elm".to_owned(),
        };
        assert_eq!(greeting.encode(), b"\0\x08\x07\x06\x05\x04\x03\x02\x01elm");
        assert_eq!(Packet::Abort("no".to_owned()).encode(), b"\x01no");
    }

    #[test]
    fn malformed_packets_are_refused() {
        for bytes in [&b""[..], b"\0short", b"\x02", b"\x02\x63", b"\x03abc"] {
            assert!(Packet::decode(bytes).is_err(), "{bytes:?}");
        }
        let mut long = Packet::Sealed(Sealed::Ping).encode();
        long.push(0);
        assert!(Packet::decode(&long).is_err());
    }
}
