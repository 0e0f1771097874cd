//! Failures that must end a job.

use super::schedules::protocols;
use super::world::{Fault, Tasks, World};
use super::*;

type Out = Vec<(usize, Message<Vec<u32>>)>;

fn pile(waiting: impl IntoIterator<Item = u32>) -> Tasks {
    Tasks {
        waiting: waiting.into_iter().collect(),
        running: None,
        done: 0,
        lies: false,
        eager: false,
    }
}

#[test]
fn a_rank_that_dies_is_noticed() {
    for seed in 0..200 {
        let protocol = Protocol {
            beat: 1_000,
            patience: 1_000_000,
            ..protocols()[seed as usize % 8]
        };
        let count = 2 + seed as usize % 9;
        let victim = seed as usize % count;
        let mut world = World::new(count, 2_000, protocol, seed);
        for _ in 0..50 * count {
            world.turn().unwrap();
        }
        world.dead[victim] = true;
        let died = world.now;
        let fault = world.run().unwrap_err();
        assert!(
            matches!(fault, Fault::Protocol(ProtocolError::Silent { rank, .. }) if rank == victim),
            "seed {seed}: {fault:?}"
        );
        assert!(
            world.now - died < 2_000_000,
            "seed {seed}: after {}",
            world.now - died
        );
    }
}

#[test]
fn a_rank_that_was_stopped_itself_accuses_no_other() {
    let protocol = Protocol::default();
    let mut rank = Rank::new(1, protocol, Blind(3), 7, 1);
    let (mut idle, mut out) = (pile([]), Out::new());
    rank.step(0, &mut idle, &mut out).unwrap();
    rank.receive(5, 0, Message::Hello { build: 7 }, &mut idle, &mut out)
        .unwrap();
    rank.step(10, &mut idle, &mut out).unwrap();
    assert!(rank.request.is_some());
    // Stopped for a minute; the answer has arrived, but has not been read yet.
    let later = 60_000_000_000;
    rank.step(later, &mut idle, &mut out).unwrap();
    // If nothing comes from then on, the other ranks are accused.
    let mut now = later;
    let trouble = loop {
        now += 1_000_000_000;
        if let Err(trouble) = rank.step(now, &mut idle, &mut out) {
            break trouble;
        }
    };
    assert!(matches!(trouble, ProtocolError::Silent { .. }));
    assert!(now - later <= protocol.patience + 1_000_000_000);
}

#[test]
fn two_builds_are_trouble_on_both_sides() {
    let mut parent = Rank::new(0, Protocol::default(), Blind(2), 7, 1);
    let mut child = Rank::new(1, Protocol::default(), Blind(2), 8, 1);
    let (mut idle, mut out) = (pile([]), Out::new());
    child.step(0, &mut idle, &mut out).unwrap();
    assert_eq!(out, [(0, Message::Hello { build: 8 })]);
    let mut back = Out::new();
    let (_, hello) = out.remove(0);
    let trouble = parent
        .receive(0, 1, hello, &mut idle, &mut back)
        .unwrap_err();
    let (theirs, ours) = (8, 7);
    assert_eq!(
        trouble,
        ProtocolError::OtherBuild {
            rank: 1,
            theirs,
            ours
        }
    );
    assert_eq!(back, [(1, Message::Hello { build: 7 })]);
    let (_, hello) = back.remove(0);
    let trouble = child.receive(0, 0, hello, &mut idle, &mut out).unwrap_err();
    assert!(matches!(trouble, ProtocolError::OtherBuild { rank: 0, .. }));
    assert!(trouble.to_string().contains("the same executable"));
}

/// A rank whose build may differ neither asks nor gives.
#[test]
fn nothing_moves_before_the_greeting() {
    let mut rank = Rank::new(1, Protocol::default(), Blind(9), 7, 1);
    let (mut full, mut out) = (pile(1..100), Out::new());
    rank.receive(
        0,
        3,
        Message::Steal { lifeline: false },
        &mut full,
        &mut out,
    )
    .unwrap();
    assert_eq!(
        out,
        [(0, Message::Hello { build: 7 }), (3, Message::Nothing)]
    );
    out.clear();
    // A child's Hello waits until the rank itself is greeted.
    rank.receive(1, 5, Message::Hello { build: 7 }, &mut full, &mut out)
        .unwrap();
    rank.step(2, &mut pile([]), &mut out).unwrap();
    assert_eq!(out, []);
    rank.receive(3, 0, Message::Hello { build: 7 }, &mut full, &mut out)
        .unwrap();
    assert_eq!(out, [(5, Message::Hello { build: 7 })]);
    rank.receive(
        4,
        3,
        Message::Steal { lifeline: false },
        &mut full,
        &mut out,
    )
    .unwrap();
    assert_eq!(out[1].1.name(), "Work");
}

#[test]
fn troubles_name_the_rank_and_the_seconds() {
    let rank = 3;
    let silent = ProtocolError::Silent {
        rank,
        for_ns: 2_540_000_000,
    };
    assert!(
        silent
            .to_string()
            .starts_with("rank 3 has been silent for 2.5 s: ")
    );
    let other = ProtocolError::OtherBuild {
        rank,
        theirs: 0xab,
        ours: 0xcd,
    };
    let text = "rank 3 runs the build 00000000000000ab, and this rank 00000000000000cd: ";
    assert!(other.to_string().starts_with(text));
    let message = "Token";
    let unexpected = ProtocolError::Unexpected { rank, message };
    assert!(
        unexpected
            .to_string()
            .starts_with("rank 3 sent Token, which was not expected: ")
    );
}

#[test]
fn what_no_rank_can_say_is_trouble() {
    let work = |lifeline| Message::Work {
        tasks: vec![1],
        lifeline,
    };
    let token = |wave| {
        Message::Token(Token {
            wave,
            ..Token::default()
        })
    };
    let cases = [
        (1, Message::Hello { build: 7 }),
        (2, Message::Hello { build: 7 }),
        (2, Message::Beat),
        (2, work(false)),
        (2, work(true)),
        (3, Message::Nothing),
        (0, token(0)),
        (5, token(1)),
        (0, Message::Again),
        (5, Message::Done),
        (5, Message::Bye),
        (0, Message::Leave),
        (9, Message::Beat),
        (1, Message::Steal { lifeline: true }),
        (usize::MAX, Message::Steal { lifeline: true }),
    ];
    for (from, message) in cases {
        let mut rank = Rank::new(1, Protocol::default(), Blind(9), 7, 1);
        let (mut busy, mut out) = (pile([1]), Out::new());
        rank.receive(0, 0, Message::Hello { build: 7 }, &mut busy, &mut out)
            .unwrap();
        let said = message.name();
        let trouble = rank
            .receive(1, from, message, &mut busy, &mut out)
            .unwrap_err();
        let expected = ProtocolError::Unexpected {
            rank: from,
            message: said,
        };
        assert_eq!(trouble, expected);
    }
}

#[test]
fn a_hungry_rank_with_lifelines_falls_silent_and_is_fed() {
    let protocol = Protocol {
        lifelines: Some(Lifelines::default()),
        ..Protocol::default()
    };
    let mut rank = Rank::new(0, protocol, Blind(8), 7, 1);
    let (mut idle, mut out) = (pile([]), Out::new());
    for now in 0..20 {
        rank.step(now, &mut idle, &mut out).unwrap();
        if let Some((victim, Message::Steal { .. })) = out.last() {
            let victim = *victim;
            out.push((0, Message::Nothing));
            rank.receive(now, victim, Message::Nothing, &mut idle, &mut out)
                .unwrap();
        }
    }
    let asked: Vec<_> = out
        .iter()
        .filter_map(|(to, message)| match message {
            Message::Steal { lifeline } => Some((*lifeline, *to)),
            _ => None,
        })
        .collect();
    assert_eq!(
        asked.len(),
        5,
        "two at random and three lifelines: {asked:?}"
    );
    assert_eq!(asked[2..], [(true, 1), (true, 2), (true, 4)]);
    // The other side: a remembered rank gets its share when there is surplus.
    let mut rank = Rank::new(0, protocol, Blind(8), 7, 1);
    out.clear();
    for thief in [1, 2, 1] {
        rank.receive(
            1,
            thief,
            Message::Steal { lifeline: true },
            &mut idle,
            &mut out,
        )
        .unwrap();
    }
    assert_eq!(rank.waiters(), 2);
    out.clear();
    rank.step(2, &mut pile(0..91), &mut out).unwrap();
    let sizes: Vec<_> = out
        .iter()
        .map(|(to, message)| match message {
            Message::Work { tasks, lifeline } => (*to, tasks.len(), *lifeline),
            _ => (*to, 0, false),
        })
        .collect();
    assert_eq!(sizes, [(1, 30, true), (2, 30, true)]);
    assert_eq!(rank.waiters(), 0);
}

/// Returns the receivers of the requests in `out`.
fn requests(out: &Out) -> Vec<usize> {
    let request = |(to, message): &(usize, Message<_>)| (message.name() == "Steal").then_some(*to);
    out.iter().filter_map(request).collect()
}

/// A rank that was fed and is hungry again must ask again: its lifeline has forgotten it.
#[test]
fn who_was_fed_on_a_lifeline_asks_again() {
    let protocol = Protocol {
        lifelines: Some(Lifelines { w: 0, base: 2 }),
        ..Protocol::default()
    };
    let mut rank = Rank::new(0, protocol, Blind(2), 7, 1);
    let (mut idle, mut out) = (pile([]), Out::new());
    for now in 1..5 {
        rank.step(now, &mut idle, &mut out).unwrap();
        if rank.request.is_some() {
            rank.receive(now, 1, Message::Nothing, &mut idle, &mut out)
                .unwrap();
        }
    }
    assert_eq!(requests(&out), [1], "it rests");
    let gift = Message::Work {
        tasks: vec![1],
        lifeline: true,
    };
    rank.receive(5, 1, gift, &mut idle, &mut out).unwrap();
    rank.step(6, &mut pile([]), &mut out).unwrap();
    assert_eq!(requests(&out), [1, 1]);
}

/// A rank that has got an answer with work is removed from the remembered ranks.
#[test]
fn a_remembered_rank_that_gets_an_answer_is_forgotten() {
    let protocol = Protocol {
        lifelines: Some(Lifelines::default()),
        ..Protocol::default()
    };
    let mut rank = Rank::new(0, protocol, Blind(8), 7, 1);
    let mut out = Out::new();
    let asks = |lifeline| Message::Steal { lifeline };
    rank.receive(1, 1, asks(true), &mut pile([]), &mut out)
        .unwrap();
    assert_eq!(rank.waiters(), 1);
    rank.receive(2, 1, asks(false), &mut pile(0..90), &mut out)
        .unwrap();
    assert_eq!(out.last().unwrap().1.name(), "Work");
    assert_eq!(rank.waiters(), 0);
}

/// A rank that has said Bye to its parent is silent, however long the others take.
#[test]
fn who_has_said_bye_is_not_accused() {
    let protocol = Protocol::default();
    let mut root = Rank::new(0, protocol, Blind(3), 7, 1);
    let (mut idle, mut out) = (pile([]), Out::new());
    let hear = |root: &mut Rank<_>, now, from, message| {
        root.receive(now, from, message, &mut pile([]), &mut Out::new())
            .unwrap();
    };
    root.step(0, &mut idle, &mut out).unwrap();
    let (victim, _) = *out.iter().find(|(_, sent)| sent.name() == "Steal").unwrap();
    hear(&mut root, 1, victim, Message::Nothing);
    for child in [1, 2] {
        hear(&mut root, 1, child, Message::Token(Token::default()));
    }
    root.step(2, &mut idle, &mut out).unwrap();
    assert!(root.is_done());
    hear(&mut root, 3, 1, Message::Bye);
    // The other child is alive, but takes its time.
    for beat in 1..20 {
        let now = beat * protocol.beat;
        hear(&mut root, now, 2, Message::Beat);
        root.step(now, &mut idle, &mut out).unwrap();
    }
    hear(&mut root, 21 * protocol.beat, 2, Message::Bye);
    let next = root.step(21 * protocol.beat, &mut idle, &mut out);
    assert_eq!(next, Ok(Next::Done));
}

/// A rank that does not answer is noticed by the thief, whether or not it is a neighbour.
#[test]
fn an_unanswered_request_is_trouble() {
    let protocol = Protocol::default();
    let mut root = Rank::new(0, protocol, Blind(2), 7, 1);
    let (mut idle, mut out) = (pile([]), Out::new());
    root.step(0, &mut idle, &mut out).unwrap();
    assert_eq!(requests(&out), [1]);
    let mut now = 0;
    let trouble = loop {
        now += protocol.beat;
        // The victim is alive, but has lost the request.
        root.receive(now, 1, Message::Beat, &mut idle, &mut out)
            .unwrap();
        if let Err(trouble) = root.step(now, &mut idle, &mut out) {
            break trouble;
        }
        assert!(now <= protocol.patience, "it waits for ever");
    };
    assert!(matches!(trouble, ProtocolError::Silent { rank: 1, .. }));
}
