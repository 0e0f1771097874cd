use super::*;
use crate::balancer::{Memory, Mixed};
use crate::random::Random;
use crate::statistics::{distributed, fits};
use crate::view::{Blind, NestedGroups};

const DRAWS: usize = 60_000;

/// Counts how often each processor is chosen; the last entry counts `None`.
fn counts<V: View + ?Sized>(victims: Victims, actor: Actor, view: &V) -> Vec<usize> {
    let mut random = Random::new(23, 5);
    let mut counts = vec![0; view.count() + 1];
    for _ in 0..DRAWS {
        let victim = victims.choose(actor, view, &mut random);
        counts[victim.unwrap_or(view.count())] += 1;
    }
    counts
}

fn actor(me: usize) -> Actor {
    Actor {
        me,
        memory: Memory::new(Some(3), Some(5)),
    }
}

fn theta(value: f64) -> Theta {
    Theta::new(value).unwrap()
}

/// Returns the distribution over six processors and none (index 6) for thief 2, which goes to
/// `favourite` with probability theta.
fn favouring(favourite: usize, theta: f64) -> [f64; 7] {
    let mut expected = [(1.0 - theta) / 5.0; 7];
    (expected[2], expected[6]) = (0.0, 0.0);
    expected[favourite] += theta;
    expected
}

#[test]
fn uniform_is_any_other_processor() {
    let counts = counts(Victims::Uniform, actor(2), &Blind(6));
    assert!(distributed(&counts, &favouring(0, 0.0)), "{counts:?}");
}

/// Algorithm 2: nothing happens with probability theta_r.
#[test]
fn skipping_is_no_processor_sometimes() {
    let victims = Victims::Skip { theta: theta(0.3) };
    let counts = counts(victims, actor(2), &Blind(6));
    assert!(distributed(&counts, &favouring(6, 0.3)), "{counts:?}");
}

/// Algorithm 10.
#[test]
fn steal_back_goes_to_the_last_thief() {
    let victims = Victims::StealBack { theta: theta(0.6) };
    let found = counts(victims, actor(2), &Blind(6));
    assert!(distributed(&found, &favouring(3, 0.6)), "{found:?}");
    // No thief has stolen from it: line 11.
    let stranger = Actor {
        me: 2,
        memory: Memory::default(),
    };
    let found = counts(victims, stranger, &Blind(6));
    assert!(distributed(&found, &favouring(0, 0.0)), "{found:?}");
}

#[test]
fn sticky_goes_on_with_the_last_victim() {
    let found = counts(Victims::STICKY, actor(2), &Blind(6));
    assert!(distributed(&found, &favouring(5, 0.5)), "{found:?}");
}

/// Processor 0 of 16 in pairs, fours and eights; the thesis has three neighbourhoods, with
/// theta/2, theta/4 and theta/4.
#[test]
fn nearest_follows_the_thesis() {
    struct Machine;

    impl View for Machine {
        fn count(&self) -> usize {
            16
        }

        fn load(&self, _: usize) -> usize {
            1
        }

        fn rings(&self, _: usize) -> usize {
            3
        }

        fn neighbour(&self, me: usize, ring: usize, random: &mut dyn Source) -> Option<usize> {
            NestedGroups::new(&[2, 4, 8]).neighbour(me, ring, 16, random)
        }
    }

    let counts = counts(Victims::Nearest { theta: theta(0.8) }, actor(0), &Machine);
    let mut expected = [0.2 / 15.0; 17];
    (expected[0], expected[16]) = (0.0, 0.0);
    expected[1] += 0.4;
    expected[2..4].iter_mut().for_each(|p| *p += 0.2 / 2.0);
    expected[4..8].iter_mut().for_each(|p| *p += 0.2 / 4.0);
    assert!(distributed(&counts, &expected), "{counts:?}");
}

#[test]
fn without_distances_nearest_is_uniform() {
    let found = counts(Victims::NEAREST, actor(2), &Blind(6));
    assert!(distributed(&found, &favouring(0, 0.0)), "{found:?}");
}

/// The longer of two victims drawn from five wins, so the victim with rank k by length, counted
/// from the shortest, wins in (k - 1) of ten pairs.
#[test]
fn longest_is_the_longest_of_those_probed() {
    let loads: &[u32] = &[1, 2, 99, 3, 4, 5];
    let victims = Victims::LONGEST.with_theta(theta(0.5));
    let found = counts(victims, actor(2), loads);
    let mut expected = favouring(0, 0.5);
    expected[0] -= 0.5;
    for (place, victim) in [0, 1, 3, 4, 5].into_iter().enumerate() {
        expected[victim] += 0.5 * place as f64 / 10.0;
    }
    assert!(distributed(&found, &expected), "{found:?}");
    let empty: &[u32] = &[0; 6];
    let found = counts(victims, actor(2), empty);
    assert!(
        distributed(&found, &favouring(0, 0.0)),
        "no processor has anything: {found:?}"
    );
}

/// The thesis's bound rests on this: every other processor is tried with probability at least (1 -
/// theta_r)/P.
#[test]
fn no_processor_is_forgotten() {
    let loads: &[u32] = &[9, 1, 0, 0, 70, 0, 3, 0];
    for victims in Victims::ALL {
        let counts = counts(victims, actor(2), loads);
        assert_eq!(counts[2], 0, "{victims} drew itself");
        let least = (1.0 - victims.theta().get()) / 8.0;
        for victim in [0, 1, 3, 4, 5, 6, 7] {
            let often = counts[victim] as f64 / DRAWS as f64;
            assert!(
                often >= least,
                "{victims} tried {victim} with {often} < {least}"
            );
        }
    }
}

#[test]
fn no_other_processor_or_none_at_all() {
    let mut random = Random::new(1, 1);
    for victims in Victims::ALL {
        for count in [0, 1] {
            let chosen = victims.choose(actor(0), &Blind(count), &mut random);
            assert_eq!(chosen, None, "{victims} of {count}");
        }
        // Its last thief and victim no longer exist.
        for _ in 0..100 {
            let chosen = victims.choose(actor(0), &Blind(2), &mut random);
            assert!(
                chosen == Some(1) || chosen.is_none(),
                "{victims}: {chosen:?}"
            );
        }
    }
}

#[test]
fn through_the_trait_the_choices_are_the_same() {
    let loads: &[u32] = &[4, 0, 2, 8, 1, 1];
    for victims in Victims::ALL {
        let (mut a, mut b) = (Random::new(3, 3), Random::new(3, 3));
        let mut boxed: Box<dyn Balancer + Send> = Box::new(victims);
        for _ in 0..200 {
            let through = boxed.choose(actor(1), &loads, &mut a);
            assert_eq!(through, victims.choose(actor(1), loads, &mut b));
        }
    }
}

#[test]
fn a_balancer_that_names_nonsense_does_no_harm() {
    struct Nonsense(usize);

    impl Balancer for Nonsense {
        fn choose(&mut self, _: Actor, _: &dyn View, _: &mut dyn Source) -> Option<usize> {
            Some(self.0)
        }
    }

    let mut random = Random::new(4, 4);
    for named in [2, 6, usize::MAX] {
        let mut mixed = Mixed {
            theta: theta(0.75),
            balancer: Nonsense(named),
        };
        let chosen: Vec<Option<usize>> = (0..DRAWS)
            .map(|_| mixed.choose(actor(2), &Blind(6), &mut random))
            .collect();
        let skipped = chosen.iter().filter(|victim| victim.is_none()).count();
        assert!(fits(skipped, DRAWS, 0.75), "{skipped}");
        assert!(
            chosen
                .iter()
                .flatten()
                .all(|&victim| victim < 6 && victim != 2)
        );
    }
}

/// A simulator keeps a million of these values.
#[test]
fn little_is_remembered() {
    assert_eq!(size_of::<Memory>(), 8);
    assert!(size_of::<Victims>() <= 16);
}

#[test]
fn errors_say_what_is_possible() {
    let error = |text: &str| text.parse::<Victims>().unwrap_err().to_string();
    assert_eq!(
        error("farthest:theta_r=0.5"),
        "`farthest` in `farthest:theta_r=0.5` is not a known victim policy: use one of uniform, \
         skip, steal-back, nearest, sticky, longest"
    );
    assert_eq!(
        error("sticky:theta_r=1"),
        "`theta_r=1` in `sticky:theta_r=1` is not valid: give a probability from 0 up to but \
         not 1"
    );
    assert_eq!(
        error("longest:probe=2"),
        "`probe=2` in `longest:probe=2` is not recognized: leave it out or use theta_r=.., \
         probes=.."
    );
    assert_eq!(
        error("longest:probes=99"),
        "`probes=99` in `longest:probes=99` is not valid: give a whole number from 1 to 16"
    );
    assert_eq!(
        error("uniform:theta_r=0.5"),
        "`theta_r=0.5` in `uniform:theta_r=0.5` is not recognized: leave it out"
    );
    assert!(error("").starts_with("`` does not name a victim policy"));
    assert!(error("sticky:theta_r=0.1,theta_r=0.2").contains("`theta_r=0.2`"));
}
