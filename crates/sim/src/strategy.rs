//! Text forms of schedulers.

use std::fmt;

use locksley_policy::{
    Dealing, Flexible, Lifelines, ParseError, Reader, Sharing, StealHalf, Target, TextForm, Tuning,
    Writer,
};

/// A scheduler, with its policies.
///
/// | text | scheduler | from |
/// |---|---|---|
/// | `lock-free` | LFWS: thieves choose uniformly and take one | thesis, Alg. 1 |
/// | `flexible:steal-back,theta_r=0.25` | CFLFWS with a balancer, see [`Flexible`] | thesis, Alg. 2, 10, 11 |
/// | `semi-private` | WSSPD: work is private until a thief asks | thesis, Alg. 8, 9 |
/// | `lifelines:w=2,base=2` | thieves stop trying after some failures and wait to be sent work, see [`Lifelines`] | Saraswat et al. |
/// | `steal-half:probabilistic,amount=difference` | thieves take up to half, see [`StealHalf`] | Hendler, Shavit |
/// | `sharing:tit-for-tat,theta_s=0.25` | CFWSS: stealing, and busy processors give work away, see [`Sharing`] | thesis, Alg. 7, 12 |
/// | `private-sharing:tit-for-tat` | the same on semi-private deques: WSSPD inside CFWSS | thesis, chapter 7 |
/// | `dealing:locality,l=4` | producers deal items to processors as they create them, see [`Dealing`] | Hendler, Shavit |
/// | `sending:shortest,l_p=3` | busy processors send work, idle ones do not ask; see [`Target`] | Eager et al. |
/// | `auto:patience=3` | switches between stealing, stealing half and sharing; see [`Tuning`] | thesis, 5.3 |
/// | `asymmetric` | free forks; a steal's barrier interrupts all others | Locksley's first deque |
/// | `split` | free forks; work is private until a thief requests or forces it | Locksley's deque |
/// | `synchronous` | SLFWS, in rounds | thesis, Alg. 3 |
/// | `synchronous-sharing:greedy` | CFSAWSS, in rounds; see [`Sharing`], whose targets are all random here | thesis, Alg. 5 |
/// | `greedy` | one queue for all processors, at no cost: the ideal | Graham |
///
/// ```
/// use locksley_sim::Strategy;
///
/// let strategy: Strategy = "flexible:sticky".parse().unwrap();
/// assert_eq!(strategy.to_string(), "flexible:sticky");
/// let error = "lock-step".parse::<Strategy>().unwrap_err().to_string();
/// assert!(error.contains("lock-free, flexible"), "{error}");
/// let error = "sharing:tit-for-tat,theta_s=1".parse::<Strategy>().unwrap_err().to_string();
/// assert!(error.contains("a probability from 0 up to but not 1"), "{error}");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Strategy {
    /// Lock-free work stealing.
    LockFree,
    /// Lock-free work stealing with another choice of victims.
    Flexible(Flexible),
    /// Work stealing with semi-private deques.
    SemiPrivate,
    /// Work stealing with lifelines.
    Lifelines(Lifelines),
    /// Stealing half.
    StealHalf(StealHalf),
    /// Stealing and sharing.
    Sharing(Sharing),
    /// Stealing and sharing on semi-private deques.
    PrivateSharing(Sharing),
    /// Work dealing.
    Dealing(Dealing),
    /// Load sharing initiated only by senders.
    Sending(Target),
    /// Switches between stealing, stealing half and sharing.
    Auto(Tuning),
    /// Work stealing from deques whose owners pay nothing and whose thieves interrupt all other
    /// processors.
    Asymmetric,
    /// Work stealing from split deques: thieves request work, and interrupt a victim that does not
    /// answer.
    Split,
    /// Work stealing in synchronous rounds: a tick is a round; costs, speeds and topology are
    /// ignored.
    Synchronous,
    /// Stealing and sharing in synchronous rounds.
    SynchronousSharing(Sharing),
    /// One queue for all processors.
    Greedy,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Name {
    LockFree,
    Flexible,
    SemiPrivate,
    Lifelines,
    StealHalf,
    Sharing,
    PrivateSharing,
    Dealing,
    Sending,
    Auto,
    Asymmetric,
    Split,
    Synchronous,
    SynchronousSharing,
    Greedy,
}

const NAMED: [(&str, Name); 15] = [
    ("lock-free", Name::LockFree),
    ("flexible", Name::Flexible),
    ("semi-private", Name::SemiPrivate),
    ("lifelines", Name::Lifelines),
    ("steal-half", Name::StealHalf),
    ("sharing", Name::Sharing),
    ("private-sharing", Name::PrivateSharing),
    ("dealing", Name::Dealing),
    ("sending", Name::Sending),
    ("auto", Name::Auto),
    ("asymmetric", Name::Asymmetric),
    ("split", Name::Split),
    ("synchronous", Name::Synchronous),
    ("synchronous-sharing", Name::SynchronousSharing),
    ("greedy", Name::Greedy),
];

impl Strategy {
    /// Returns one strategy of each kind, with default policies.
    pub fn all() -> Vec<Strategy> {
        NAMED
            .iter()
            .filter_map(|(name, _)| name.parse().ok())
            .collect()
    }

    fn name(&self) -> Name {
        match self {
            Strategy::LockFree => Name::LockFree,
            Strategy::Flexible(_) => Name::Flexible,
            Strategy::SemiPrivate => Name::SemiPrivate,
            Strategy::Lifelines(_) => Name::Lifelines,
            Strategy::StealHalf(_) => Name::StealHalf,
            Strategy::Sharing(_) => Name::Sharing,
            Strategy::PrivateSharing(_) => Name::PrivateSharing,
            Strategy::Dealing(_) => Name::Dealing,
            Strategy::Sending(_) => Name::Sending,
            Strategy::Auto(_) => Name::Auto,
            Strategy::Asymmetric => Name::Asymmetric,
            Strategy::Split => Name::Split,
            Strategy::Synchronous => Name::Synchronous,
            Strategy::SynchronousSharing(_) => Name::SynchronousSharing,
            Strategy::Greedy => Name::Greedy,
        }
    }
}

impl TextForm for Strategy {
    fn read(reader: &mut Reader<'_>) -> Result<Strategy, ParseError> {
        Ok(match reader.word("strategy", &NAMED)? {
            Name::LockFree => Strategy::LockFree,
            Name::Flexible => Strategy::Flexible(Flexible::read(reader)?),
            Name::SemiPrivate => Strategy::SemiPrivate,
            Name::Lifelines => Strategy::Lifelines(Lifelines::read(reader)?),
            Name::StealHalf => Strategy::StealHalf(StealHalf::read(reader)?),
            Name::Sharing => Strategy::Sharing(Sharing::read(reader)?),
            Name::PrivateSharing => Strategy::PrivateSharing(Sharing::read(reader)?),
            Name::Dealing => Strategy::Dealing(Dealing::read(reader)?),
            Name::Sending => Strategy::Sending(Target::read(reader)?),
            Name::Auto => Strategy::Auto(Tuning::read(reader)?),
            Name::Asymmetric => Strategy::Asymmetric,
            Name::Split => Strategy::Split,
            Name::Synchronous => Strategy::Synchronous,
            Name::SynchronousSharing => Strategy::SynchronousSharing(Sharing::read(reader)?),
            Name::Greedy => Strategy::Greedy,
        })
    }

    fn write(&self, writer: &mut Writer<'_, '_>) -> fmt::Result {
        let named = NAMED.iter().find(|(_, name)| *name == self.name());
        writer.word(named.map_or("", |(text, _)| text))?;
        match self {
            Strategy::LockFree
            | Strategy::SemiPrivate
            | Strategy::Asymmetric
            | Strategy::Split
            | Strategy::Synchronous
            | Strategy::Greedy => Ok(()),
            Strategy::Flexible(policy) => policy.write(writer),
            Strategy::Lifelines(policy) => policy.write(writer),
            Strategy::StealHalf(policy) => policy.write(writer),
            Strategy::Sharing(policy)
            | Strategy::PrivateSharing(policy)
            | Strategy::SynchronousSharing(policy) => policy.write(writer),
            Strategy::Dealing(policy) => policy.write(writer),
            Strategy::Sending(target) => target.write(writer),
            Strategy::Auto(tuning) => tuning.write(writer),
        }
    }
}

impl std::str::FromStr for Strategy {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Strategy, ParseError> {
        TextForm::parse(text)
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.print(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_and_print_back() {
        let all = Strategy::all();
        assert_eq!(all.len(), NAMED.len());
        for strategy in all {
            assert_eq!(strategy.to_string().parse(), Ok(strategy));
        }
        for text in [
            "lifelines:w=5,base=32",
            "auto:patience=7",
            "sending:random",
            "sending:shortest,l_p=5",
            "sending:threshold,l_p=2,below=4",
            "sharing:greedy,theta_r=0.5",
            "steal-half:factor,factor=3",
        ] {
            assert_eq!(text.parse::<Strategy>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_wrong_is_told() {
        let error = |text: &str| text.parse::<Strategy>().unwrap_err().to_string();
        assert!(error("").contains("use one of lock-free"));
        assert!(error("lifelines:base=1").contains("a whole number from 2 on"));
        assert!(error("sending:longest").contains("random, threshold, shortest"));
        assert!(error("auto:patience=0").contains("a whole number from 1 on"));
        assert!(error("greedy:fast").contains("is not recognized"));
        assert!(error("flexible:skip,theta_r=1.5").contains("not valid"));
    }
}
