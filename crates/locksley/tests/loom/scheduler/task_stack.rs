use locksley_queue::{Owner, Steal, Thief, chase_lev};
use loom::sync::Arc;
use loom::thread;

use super::*;

/// A worker leaves one group and enters another, forking a job in each; a thief that steals
/// between two equal sightings of the first must have got the first one's job.
#[test]
fn a_sighting_is_of_one_moment() {
    loom::model(|| {
        let stack = Arc::new(TaskStack::new());
        let mut deque = chase_lev::Deque::new();
        let thief = deque.thief();
        stack.enter_root(GroupId(8));
        deque.push(8_usize).unwrap();
        let seen = stack.clone();
        let robber = thread::spawn(move || {
            let sighting = seen.sight(GroupId(8), |_, _| {})?;
            let Steal::Success(job) = thief.steal() else {
                return None;
            };
            seen.unchanged(sighting).then_some(job)
        });
        deque.pop();
        stack.leave();
        stack.enter_root(GroupId(16));
        deque.push(16).unwrap();
        let stolen = robber.join().unwrap();
        assert!(stolen.is_none_or(|job| job == 8), "stole an unrelated job");
    });
}
