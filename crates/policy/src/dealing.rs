//! Work dealing's oracles: to whom a producer deals an item, and where a consumer looks next
//! (Hendler and Shavit, "Work Dealing", sections 2.3 and 3).
//!
//! Each of n processes has n buffers, one from each producer. A producer asks its [`Dealer`] into
//! whose buffer a new item goes; a consumer asks its [`Collector`] which of its buffers to look
//! into.
//!
//! **Theorem 3.** Under `simple`, the numbers of items dealt to two processes differ by at most n.
//!
//! **Theorem 11.** Under `locality`, an item is dealt to the process that it has affinity to with
//! probability at least 1 - 1/L, if no process is too popular.
//!
//! **Deviations from the paper.** Figure 5's `nextPCB` has no initial value, and its `nextPCB =
//! ++nextPCB % n` is undefined behaviour in C: a dealer begins with itself, as in Figure 1.
//! `distAvg` runs ahead of the average by up to one, so the L-balance holds against the average
//! plus one. The paper leaves the adaptive policy to its full version: here an item goes to the one
//! of a few sampled processes for which the producer has the fewest items pending (produced and not
//! consumed); the process that the item has affinity to, if any, is one of the samples and wins a
//! tie. A collector that drains a buffer until it is empty may starve the others, so it moves on
//! after `batch` items.

use std::fmt;

use crate::random::Source;
use crate::text::{ParseError, Reader, TextForm, Writer, text_form};
use crate::view::{MOST_PROBES, probe};

/// The rule by which a producer chooses the process to deal an item to.
///
/// ```
/// use locksley_policy::{Dealing, DealRule, Random};
///
/// let dealing = Dealing { rule: DealRule::Locality { l: 3 }, ..Dealing::default() };
/// let mut dealer = dealing.dealer(0, 4);
/// let mut random = Random::new(1, 0);
/// let dealt: Vec<usize> = (0..5).map(|_| dealer.deal(Some(2), |_| 0, &mut random)).collect();
/// assert_eq!(dealt, [2, 2, 2, 2, 2], "it wants them, and has not got too much");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DealRule {
    /// Deals to each process in turn.
    #[default]
    Simple,
    /// Deals to the process that the item has affinity to, unless it has been dealt `l` times the
    /// average.
    Locality {
        /// Bound on the imbalance; at least 2. [`INFINITE`](DealRule::INFINITE) for no bound.
        l: u32,
    },
    /// Deals to the one of `samples` processes that has the fewest items pending from this
    /// producer.
    Adaptive {
        /// Number of processes that are compared, at most [`MOST_PROBES`].
        samples: u32,
    },
}

impl DealRule {
    /// [`DealRule::Locality`] with L = 4: by Theorem 11, three of four items go where they have
    /// affinity.
    pub const LOCALITY: DealRule = DealRule::Locality { l: DealRule::L };

    /// The default L.
    const L: u32 = 4;

    /// The default number of samples.
    const SAMPLES: u32 = 2;

    /// The paper's infinite L: every item goes where it has affinity. Written `inf`.
    pub const INFINITE: u32 = u32::MAX;

    /// [`DealRule::Adaptive`] with two samples.
    pub const ADAPTIVE: DealRule = DealRule::Adaptive {
        samples: DealRule::SAMPLES,
    };

    /// One value of each variant.
    pub const ALL: [DealRule; 3] = [DealRule::Simple, DealRule::LOCALITY, DealRule::ADAPTIVE];

    const NAMED: [(&'static str, DealRule); 3] = [
        ("simple", DealRule::Simple),
        ("locality", DealRule::LOCALITY),
        ("adaptive", DealRule::ADAPTIVE),
    ];
}

/// What a consumer may execute besides the items that it was dealt.
///
/// ```
/// use locksley_policy::{DealMode, Dealing};
///
/// let dealing: Dealing = "dealing:locality,l=inf,mode=dedicated".parse().unwrap();
/// assert_eq!(dealing.mode, DealMode::DEDICATED);
/// assert_eq!(dealing.to_string(), "dealing:locality,l=inf,mode=dedicated");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DealMode {
    /// A consumer that is out of work takes items that were dealt to others.
    #[default]
    Hybrid,
    /// As published: only the process that an item was dealt to executes it, and the lists of items
    /// that buffers use are all allocated at the start.
    Dedicated {
        /// Number of lists (the paper's LISTS_NUM).
        lists: u32,
    },
}

impl DealMode {
    /// [`DealMode::Dedicated`] with 256 lists: with 64 items each they take 2 MB.
    pub const DEDICATED: DealMode = DealMode::Dedicated {
        lists: DealMode::LISTS,
    };

    /// The default number of lists.
    const LISTS: u32 = 256;
}

/// The policies of the dealing strategy: `dealing:simple`, `dealing:locality,l=4`,
/// `dealing:adaptive,samples=2`, each with `batch=N`, where 0 means no limit, and with
/// `mode=dedicated,lists=N`.
///
/// ```
/// use locksley_policy::{Dealing, DealRule};
///
/// let dealing: Dealing = "dealing:locality,l=3".parse().unwrap();
/// assert_eq!(dealing.rule, DealRule::Locality { l: 3 });
/// assert_eq!(dealing.to_string(), "dealing:locality,l=3");
/// assert_eq!("dealing".parse(), Ok(Dealing::default()));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dealing {
    /// To whom the producers deal.
    pub rule: DealRule,
    /// Number of items that a consumer takes from a buffer before it looks into the next; 0 for
    /// all.
    pub batch: u32,
    /// What a consumer may execute.
    pub mode: DealMode,
}

impl Dealing {
    /// The default batch. Between two batches from one buffer a consumer looks into n buffers,
    /// which is little even for n = 64.
    pub const BATCH: u32 = 64;

    /// Creates the dealer of producer `me` of `count`.
    pub fn dealer(&self, me: usize, count: usize) -> Dealer {
        let table = match self.rule {
            DealRule::Locality { .. } => count,
            _ => 0,
        };
        Dealer {
            rule: self.rule,
            me: me as u32,
            count: count as u32,
            next: me as u32,
            round: 0,
            average: 1,
            dealt: vec![0; table].into_boxed_slice(),
        }
    }

    /// Creates the collector of consumer `me`, which first looks for items that it dealt to itself.
    pub fn collector(&self, me: usize) -> Collector {
        Collector {
            at: me as u32,
            taken: 0,
        }
    }
}

impl Default for Dealing {
    fn default() -> Self {
        Dealing {
            rule: DealRule::default(),
            batch: Dealing::BATCH,
            mode: DealMode::default(),
        }
    }
}

/// A producer's decisions (the paper's `putOracle`). Created by [`Dealing::dealer`].
///
/// ```
/// use locksley_policy::{Dealing, Random};
///
/// let mut dealer = Dealing::default().dealer(2, 4);
/// let mut random = Random::new(1, 0);
/// let dealt: Vec<usize> = (0..5).map(|_| dealer.deal(None, |_| 0, &mut random)).collect();
/// assert_eq!(dealt, [2, 3, 0, 1, 2]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dealer {
    rule: DealRule,
    me: u32,
    count: u32,
    /// The process whose turn it is (the paper's `nextPCB`).
    next: u32,
    /// Number of items dealt since `average` grew (the paper's `nCount`).
    round: u32,
    /// The paper's `distAvg`: at least the average number of items dealt to a process, at most one
    /// more than that.
    average: u64,
    /// Number of items dealt to each process (the paper's `dist`); empty if the rule does not
    /// need it.
    dealt: Box<[u64]>,
}

impl Dealer {
    /// Returns the process that an item goes to. `affinity` is the process that should preferably
    /// execute it; `pending` returns the number of items that this producer has dealt to a process
    /// and that the process has not consumed yet.
    pub fn deal<S: Source + ?Sized>(
        &mut self,
        affinity: Option<usize>,
        pending: impl FnMut(usize) -> usize,
        random: &mut S,
    ) -> usize {
        let affinity = affinity.filter(|&wanted| wanted < self.count as usize);
        match self.rule {
            DealRule::Simple => self.turn(),
            DealRule::Locality { l } => self.deal_near(affinity, u64::from(l)),
            DealRule::Adaptive { samples } => self.deal_least(affinity, samples, pending, random),
        }
    }

    /// Returns the process whose turn it is, and moves on to the next.
    fn turn(&mut self) -> usize {
        let turn = self.next;
        self.next = if turn + 1 < self.count { turn + 1 } else { 0 };
        turn as usize
    }

    /// Deals by affinity within the L-balance: Figure 5.
    fn deal_near(&mut self, affinity: Option<usize>, l: u64) -> usize {
        self.round += 1;
        if self.round == self.count {
            self.round = 0;
            self.average += 1;
        }
        let most = l.saturating_mul(self.average);
        let fits =
            |&wanted: &usize| l == u64::from(DealRule::INFINITE) || self.dealt[wanted] < most;
        let wanted = affinity.filter(fits);
        let dealt = wanted.unwrap_or_else(|| {
            // Not all processes have twice the average, so this ends within `count` steps.
            loop {
                let turn = self.turn();
                if self.dealt[turn] < 2 * self.average {
                    break turn;
                }
            }
        });
        self.dealt[dealt] += 1;
        dealt
    }

    fn deal_least<S: Source + ?Sized>(
        &mut self,
        affinity: Option<usize>,
        samples: u32,
        mut pending: impl FnMut(usize) -> usize,
        random: &mut S,
    ) -> usize {
        let first = affinity.unwrap_or_else(|| self.turn());
        let (mut best, mut least) = (first, pending(first));
        let others = samples.saturating_sub(1);
        probe(first, self.count as usize, others, random, |sample| {
            let load = pending(sample);
            if load < least {
                (best, least) = (sample, load);
            }
            least == 0
        });
        best
    }

    /// Returns the number of the producer.
    pub fn me(&self) -> usize {
        self.me as usize
    }
}

/// A consumer's decisions (the paper's `getOracle`). Created by [`Dealing::collector`].
///
/// ```
/// use locksley_policy::Dealing;
///
/// let dealing = Dealing { batch: 2, ..Dealing::default() };
/// let mut collector = dealing.collector(1);
/// let mut looked = Vec::new();
/// for found in [true, true, true, false, false] {
///     looked.push(collector.at());
///     collector.advance(found, &dealing, 3);
/// }
/// assert_eq!(looked, [1, 1, 2, 2, 0]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collector {
    at: u32,
    taken: u32,
}

impl Collector {
    /// Returns the number of the producer whose buffer to look into.
    #[inline]
    pub fn at(&self) -> usize {
        self.at as usize
    }

    /// Notes that the consumer has looked into that buffer, and whether it took an item. `count` is
    /// the number of buffers.
    #[inline]
    pub fn advance(&mut self, found: bool, dealing: &Dealing, count: usize) {
        self.taken += 1;
        if !found || self.taken == dealing.batch {
            self.taken = 0;
            self.at = if self.at() + 1 < count {
                self.at + 1
            } else {
                0
            };
        }
    }
}

impl TextForm for DealRule {
    fn read(reader: &mut Reader<'_>) -> Result<DealRule, ParseError> {
        Ok(match reader.word("dealing policy", &DealRule::NAMED)? {
            DealRule::Simple => DealRule::Simple,
            DealRule::Locality { l } => DealRule::Locality {
                l: reader.value(
                    "l",
                    l,
                    "a whole number from 2 on, or inf",
                    |found| match found {
                        "inf" => Some(DealRule::INFINITE),
                        _ => found.parse().ok().filter(|&l| l >= 2),
                    },
                )?,
            },
            DealRule::Adaptive { samples } => DealRule::Adaptive {
                samples: reader.number("samples", samples, 1..=MOST_PROBES)?,
            },
        })
    }

    fn write(&self, writer: &mut Writer<'_, '_>) -> fmt::Result {
        match *self {
            DealRule::Simple => writer.word("simple"),
            DealRule::Locality { l } => {
                writer.word("locality")?;
                if l == DealRule::INFINITE {
                    writer.pair("l", "inf", "")
                } else {
                    writer.pair("l", l, DealRule::L)
                }
            }
            DealRule::Adaptive { samples } => {
                writer.word("adaptive")?;
                writer.pair("samples", samples, DealRule::SAMPLES)
            }
        }
    }
}

impl TextForm for Dealing {
    const NAME: Option<&'static str> = Some("dealing");

    fn read(reader: &mut Reader<'_>) -> Result<Dealing, ParseError> {
        let rule = if reader.has_word() {
            DealRule::read(reader)?
        } else {
            DealRule::default()
        };
        let batch = reader.number("batch", Dealing::BATCH, 0..=u32::MAX)?;
        let modes = [
            ("hybrid", DealMode::Hybrid),
            ("dedicated", DealMode::DEDICATED),
        ];
        let mut mode = reader.choice("mode", DealMode::Hybrid, &modes)?;
        if let DealMode::Dedicated { lists } = &mut mode {
            *lists = reader.number("lists", *lists, 1..=1 << 20)?;
        }
        Ok(Dealing { rule, batch, mode })
    }

    fn write(&self, writer: &mut Writer<'_, '_>) -> fmt::Result {
        self.rule.write(writer)?;
        writer.pair("batch", self.batch, Dealing::BATCH)?;
        if let DealMode::Dedicated { lists } = self.mode {
            writer.pair("mode", "dedicated", "hybrid")?;
            writer.pair("lists", lists, DealMode::LISTS)?;
        }
        Ok(())
    }
}

text_form!(DealRule, Dealing);
