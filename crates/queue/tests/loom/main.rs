//! Every interleaving and every reordering of small cases, under loom.
#![cfg(loom)]

mod pcb;
