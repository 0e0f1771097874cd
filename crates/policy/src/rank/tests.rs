use super::*;
use crate::random::Source;
use crate::view::Blind;

mod failures;
mod schedules;
mod world;
