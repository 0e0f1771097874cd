//! Processors under Windows: the up to 64 processors of a processor group.
//!
//! A process on a larger machine is in one group unless it asks for others, and the calls used here
//! refer to its group.

use std::ffi::c_void;
use std::fmt::Write;
use std::io;

use super::topology::CpuList;

type Handle = *mut c_void;

#[link(name = "kernel32")]
unsafe extern "system" {
    fn GetCurrentProcess() -> Handle;
    fn GetCurrentThread() -> Handle;
    fn GetProcessAffinityMask(process: Handle, own: *mut usize, system: *mut usize) -> i32;
    fn SetThreadAffinityMask(thread: Handle, mask: usize) -> usize;
    fn GetCurrentProcessorNumber() -> u32;
    fn GetLogicalProcessorInformation(out: *mut Relation, bytes: *mut u32) -> i32;
}

/// `SYSTEM_LOGICAL_PROCESSOR_INFORMATION`: a set of processors, and what they share.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Relation {
    mask: usize,
    /// The shared unit: 0 a core, 1 a NUMA node, 2 a cache, 3 a package.
    kind: u32,
    /// A node's number; or a cache's level, associativity, line, size and type.
    detail: [u64; 2],
}

const _: () = assert!(
    size_of::<Relation>()
        == if cfg!(target_pointer_width = "64") {
            32
        } else {
            24
        }
);

/// Returns the processors of a mask.
fn cpus(mask: usize) -> Vec<usize> {
    let bits = 0..usize::BITS as usize;
    bits.filter(|bit| mask >> bit & 1 == 1).collect()
}

/// Returns the processors that this process may use, or `None` if it is in several groups.
pub(crate) fn allowed() -> Option<Vec<usize>> {
    let (mut own, mut system) = (0, 0);
    // SAFETY: both pointers are to masks that the call may write.
    let answer = unsafe { GetProcessAffinityMask(GetCurrentProcess(), &mut own, &mut system) };
    (answer != 0 && own != 0).then(|| cpus(own))
}

/// Binds the calling thread to some processors.
pub(crate) fn pin_to(list: &[usize]) -> io::Result<()> {
    let bit = |cpu: &usize| 1_usize.checked_shl(u32::try_from(*cpu).ok()?);
    let Some(bits) = list.iter().map(bit).collect::<Option<Vec<usize>>>() else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let mask = bits.into_iter().fold(0, |mask, bit| mask | bit);
    // SAFETY: the handle is that of the calling thread, and no memory is touched.
    if unsafe { SetThreadAffinityMask(GetCurrentThread(), mask) } == 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Returns the processor on which the calling thread runs at the moment.
pub(crate) fn current_cpu() -> usize {
    // SAFETY: the call takes no arguments and touches no memory of this process.
    unsafe { GetCurrentProcessorNumber() as usize }
}

fn relations() -> Vec<Relation> {
    let mut bytes = 0;
    // SAFETY: the buffer is empty, so only the number of bytes is written.
    unsafe { GetLogicalProcessorInformation(std::ptr::null_mut(), &mut bytes) };
    let mut found = vec![Relation::default(); bytes as usize / size_of::<Relation>()];
    // SAFETY: the buffer has as many bytes as the call is told, and any bytes are a valid
    // `Relation`.
    let answer = unsafe { GetLogicalProcessorInformation(found.as_mut_ptr(), &mut bytes) };
    if answer == 0 {
        return Vec::new();
    }
    found.truncate(bytes as usize / size_of::<Relation>());
    found
}

/// Returns the machine as lines for [`Topology::from_listing`](super::topology::Topology).
pub(crate) fn listing() -> String {
    listed(&relations(), allowed())
}

fn listed(relations: &[Relation], allowed: Option<Vec<usize>>) -> String {
    let mut text = String::new();
    let all = relations
        .iter()
        .fold(0, |all, relation| all | relation.mask);
    let _ = writeln!(text, "cpu/online:{}", CpuList(cpus(all)));
    if let Some(allowed) = allowed {
        let _ = writeln!(text, "affinity:{}", CpuList(allowed));
    }
    for relation in relations {
        let members = cpus(relation.mask);
        let list = CpuList(members.clone());
        let [low, high] = relation.detail;
        if relation.kind == 1 {
            let _ = writeln!(text, "node/node{}/cpulist:{list}", low as u32);
        }
        for cpu in members {
            let _ = match relation.kind {
                0 => writeln!(text, "cpu/cpu{cpu}/topology/core_cpus_list:{list}"),
                3 => writeln!(text, "cpu/cpu{cpu}/topology/package_cpus_list:{list}"),
                2 => {
                    // Level and type distinguish the caches of a processor.
                    let level = low as u8;
                    let instructions = high as u32 == 1;
                    let cache = usize::from(level) * 2 + usize::from(instructions);
                    let kind = if instructions { "Instruction" } else { "Data" };
                    let path = format!("cpu/cpu{cpu}/cache/index{cache}");
                    writeln!(
                        text,
                        "{path}/level:{level}\n{path}/type:{kind}\n{path}/shared_cpu_list:{list}"
                    )
                }
                _ => Ok(()),
            };
        }
    }
    text
}

#[cfg(test)]
#[path = "../tests/unit/windows.rs"]
mod tests;
