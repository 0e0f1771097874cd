//! Messages between ranks, and leased tasks: arbitrary bytes are decoded or refused, and a decoded
//! value survives a round trip.
#![no_main]

use libfuzzer_sys::fuzz_target;
use locksley_cluster::leases::JobId;
use locksley_cluster::{Parcel, ranks};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(parcel) = Parcel::decode(bytes) {
        let again = Parcel::decode(&parcel.encode());
        assert_eq!(again.expect("what is written is read"), parcel);
    }
    if let Some(written) = ranks::reencode(bytes) {
        assert_eq!(ranks::reencode(&written), Some(written));
    }
    if let Ok(text) = str::from_utf8(bytes)
        && let Ok(name) = text.parse::<JobId>()
    {
        assert_eq!(name.as_str(), text);
    }
});
