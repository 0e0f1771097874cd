//! Tables by what is waited for.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::task::job::GroupId;

/// A table by groups, or by whatever else has an address.
pub(crate) type GroupMap<V> = HashMap<GroupId, V, BuildHasherDefault<AddressHasher>>;

/// Spreads addresses. The standard library's hasher is more code, and proof against an adversary,
/// whom addresses do not have.
#[derive(Default)]
pub(crate) struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn write_usize(&mut self, address: usize) {
        // The golden ratio; the table goes by the upper and by the lower bits.
        let spread = (address as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = spread ^ (spread >> 32);
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_usize(self.0 as usize ^ usize::from(byte));
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
