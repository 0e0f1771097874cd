//! Workers without work.

pub(crate) mod sleep;
