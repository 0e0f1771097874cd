//! Every policy prints a text that it parses back, and no text makes a parser panic.

use std::fmt::{Debug, Display};
use std::str::FromStr;

use locksley_policy::rank::Protocol;
use locksley_policy::{
    Amount, DealMode, DealRule, Dealing, Factor, Flexible, Heuristic, Lifelines, MOST_PROBES, Mu,
    ParseError, Sharing, StealHalf, Target, Theta, Tuning, Update, Victims, When,
};
use proptest::prelude::*;

fn thetas() -> impl Strategy<Value = Theta> {
    (0.0..1.0).prop_map(|value| Theta::new(value).unwrap())
}

fn victims() -> impl Strategy<Value = Victims> {
    (0..6_usize, thetas(), 1..=MOST_PROBES).prop_map(|(kind, theta, probes)| match kind {
        5 => Victims::Longest { theta, probes },
        kind => Victims::ALL[kind].with_theta(theta),
    })
}

fn whens() -> impl Strategy<Value = When> {
    let mu = (f64::MIN_POSITIVE..=1.0).prop_map(|mu| When::Probabilistic {
        mu: Mu::new(mu).unwrap(),
    });
    let factor = (1.0_f64..1e9).prop_filter_map("above 1", |factor| {
        Some(When::Factor {
            factor: Factor::new(factor).ok()?,
        })
    });
    prop_oneof![Just(When::Empty), mu, factor]
}

fn updates<const N: usize>() -> impl Strategy<Value = [Update; N]> {
    let update = prop_oneof![
        Just(Update::True),
        Just(Update::False),
        Just(Update::Unchanged)
    ];
    prop::array::uniform(update)
}

fn heuristics() -> impl Strategy<Value = Heuristic> {
    let custom = (any::<bool>(), updates::<3>(), updates::<4>());
    prop_oneof![
        prop::sample::select(Heuristic::ALL.to_vec()),
        custom.prop_map(|(initial, spread, thief)| Heuristic {
            initial,
            spread,
            thief
        }),
    ]
}

fn targets() -> impl Strategy<Value = Target> {
    (0..4_usize, 1..=MOST_PROBES, 1..u32::MAX).prop_map(|(kind, probes, below)| match kind {
        2 => Target::Threshold { probes, below },
        3 => Target::Shortest { probes },
        kind => Target::ALL[kind],
    })
}

fn sharings() -> impl Strategy<Value = Sharing> {
    (heuristics(), thetas(), thetas(), targets()).prop_map(
        |(heuristic, theta_s, theta_r, target)| Sharing {
            heuristic,
            theta_s,
            theta_r,
            target,
        },
    )
}

fn oracles() -> impl Strategy<Value = DealRule> {
    prop_oneof![
        Just(DealRule::Simple),
        (2..u32::MAX).prop_map(|l| DealRule::Locality { l }),
        (1..=MOST_PROBES).prop_map(|samples| DealRule::Adaptive { samples }),
    ]
}

fn same<P>(policy: P) -> Result<(), TestCaseError>
where
    P: Display + Debug + PartialEq + FromStr<Err = ParseError>,
{
    let text = policy.to_string();
    match text.parse::<P>() {
        Ok(parsed) => prop_assert_eq!(parsed, policy, "{}", text),
        Err(error) => prop_assert!(false, "{}", error),
    }
    Ok(())
}

/// Checks that parsing gives either a policy whose printed text parses back to it, or an error that
/// names the text.
fn sane<P>(text: &str) -> Result<(), TestCaseError>
where
    P: Display + Debug + PartialEq + FromStr<Err = ParseError>,
{
    match text.parse::<P>() {
        Ok(policy) => same(policy)?,
        Err(error) => {
            let named = format!("`{text}`");
            prop_assert!(error.to_string().contains(&named), "{}", error);
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn policies_print_and_parse_back(
        victims in victims(),
        when in whens(),
        amount in prop::sample::select(Amount::ALL.to_vec()),
        heuristic in heuristics(),
        sharing in sharings(),
        rule in oracles(),
        batch in any::<u32>(),
        patience in 1..u32::MAX,
    ) {
        same(victims)?;
        same(Flexible { victims })?;
        same(when)?;
        same(amount)?;
        same(StealHalf { when, amount })?;
        same(heuristic)?;
        same(sharing)?;
        same(rule)?;
        for mode in [DealMode::Hybrid, DealMode::DEDICATED, DealMode::Dedicated { lists: 9 }] {
            same(Dealing { rule, batch, mode })?;
        }
        same(Tuning { patience })?;
        let lifelines = Lifelines { w: batch / 2, base: patience.max(2) };
        let lifelines = (batch % 2 == 0).then_some(lifelines);
        let times = (u64::from(patience), u64::from(batch) * 1_000 + u64::from(patience));
        same(Protocol {
            victims,
            amount,
            floor: batch as usize,
            batch: patience as usize,
            lifelines,
            sending: None,
            backoff: times,
            beat: times.1,
            patience: times.0,
        })?;
        for target in ["random", "threshold:l_p=2", "shortest:l_p=5"] {
            let text = format!("sending:{target},floor=3").replacen(":l_p", ",l_p", 1);
            same(text.parse::<Protocol>().unwrap())?;
        }
    }

    /// A protocol with parameters that have no effect prints the one that ranks follow.
    #[test]
    fn every_protocol_prints_what_ranks_follow(
        victims in victims(),
        amount in prop::sample::select(Amount::ALL.to_vec()),
        sending in prop::option::of(targets()),
        lifelines in prop::option::of((any::<u32>(), 2..u32::MAX)),
        (floor, batch) in any::<(usize, usize)>(),
        times in prop::array::uniform4(prop_oneof![Just(0), any::<u64>()]),
    ) {
        let [least, most, beat, patience] = times;
        let protocol = Protocol {
            victims,
            amount,
            floor,
            batch,
            lifelines: lifelines.map(|(w, base)| Lifelines { w, base }),
            sending,
            backoff: (least, most),
            beat,
            patience,
        };
        prop_assert_eq!(protocol.to_string(), protocol.normalized().to_string());
        same(protocol.normalized())?;
    }

    #[test]
    fn no_text_does_harm(text in "\\PC{0,40}") {
        sane::<Victims>(&text)?;
        sane::<Protocol>(&text)?;
        sane::<Lifelines>(&text)?;
        sane::<Flexible>(&text)?;
        sane::<When>(&text)?;
        sane::<StealHalf>(&text)?;
        sane::<Sharing>(&text)?;
        sane::<Dealing>(&text)?;
        sane::<Tuning>(&text)?;
    }

    /// Texts that are nearly right.
    #[test]
    fn nearly_right_texts_do_no_harm(
        name in prop::sample::select(
            vec!["sharing", "steal-half", "dealing", "auto", "flexible", ""],
        ),
        parts in prop::collection::vec(
            prop::sample::select(vec![
                "greedy", "custom", "factor", "factor=3", "locality", "l=3", "l=x", "theta_s=0.5",
                "theta_s=2", "spread=UUF", "spread=", "amount=half", "=", "target=shortest",
                "l_p=0", "patience=2", "sticky", "",
            ]),
            0..5,
        ),
    ) {
        let text = format!("{name}:{}", parts.join(","));
        sane::<Flexible>(&text)?;
        sane::<StealHalf>(&text)?;
        sane::<Sharing>(&text)?;
        sane::<Dealing>(&text)?;
        sane::<Tuning>(&text)?;
    }
}

#[test]
fn defaults_are_not_printed() {
    for (text, printed) in [
        ("sharing", "sharing:tit-for-tat"),
        ("sharing:greedy,theta_s=0,target=random", "sharing:greedy"),
        ("steal-half", "steal-half:empty"),
        ("flexible", "flexible:steal-back"),
        ("dealing:locality,l=4,batch=64", "dealing:locality"),
        ("auto:patience=3", "auto"),
    ] {
        let again = text
            .parse()
            .map(|policy: Sharing| policy.to_string())
            .or_else(|_| text.parse().map(|policy: StealHalf| policy.to_string()))
            .or_else(|_| text.parse().map(|policy: Flexible| policy.to_string()))
            .or_else(|_| text.parse().map(|policy: Dealing| policy.to_string()))
            .or_else(|_| text.parse().map(|policy: Tuning| policy.to_string()));
        assert_eq!(again.as_deref(), Ok(printed));
    }
}

#[test]
fn the_wrong_strategy_is_an_error() {
    let error = "stealing:greedy".parse::<Sharing>().unwrap_err();
    assert_eq!(
        error.to_string(),
        "`stealing` in `stealing:greedy` is not a known policy: use one of sharing"
    );
    let error = "sharing:greedy,steal-back".parse::<Sharing>().unwrap_err();
    assert_eq!(
        error.to_string(),
        "`steal-back` in `sharing:greedy,steal-back` is not recognized: leave it out or use \
         theta_s=.., theta_r=.., target=.."
    );
}
