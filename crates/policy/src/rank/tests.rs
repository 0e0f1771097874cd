use super::*;
use crate::view::Blind;

mod failures;
mod schedules;
mod world;
