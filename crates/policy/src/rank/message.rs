//! What ranks say to each other, and what a rank needs of the process around it.

use std::fmt;

/// A message from one rank to another. `W` is some tasks on their way, in the form in which they
/// travel.
///
/// | message | from, to | means |
/// |---|---|---|
/// | `Hello` | child to parent, and back | this is my build; back: it is that of all up to the root |
/// | `Steal` | thief to victim | give me something; on a lifeline also: or remember me |
/// | `Work`, `Nothing` | victim to thief | the answer; `Work` also goes to those who are remembered |
/// | `Probe`, `Load` | sender to another rank, and back | how much have you to do; so much |
/// | `Token`, `Again` | child to parent, parent to child | a wave of Safra's, and the next one |
/// | `Done`, `Bye`, `Leave` | down, up, down the tree | nothing is left; I ask no more; no rank does |
/// | `Beat` | along the tree, both ways | I live |
///
/// `Hello` comes first, here and between two ranks, so that builds that differ in the rest still
/// understand it.
///
/// ```
/// use locksley_policy::rank::Message;
///
/// let message = Message::Work { tasks: vec!["a", "b"], lifeline: false };
/// assert_eq!(message.name(), "Work");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message<W> {
    /// Which build a rank runs.
    Hello {
        /// A number that tells builds apart.
        build: u64,
    },
    /// A rank asks for work.
    Steal {
        /// Set if the victim is to remember the thief when it has nothing.
        lifeline: bool,
    },
    /// Some tasks.
    Work {
        /// The tasks.
        tasks: W,
        /// Set if they were sent unasked, or to a remembered rank, not as the answer to a request.
        lifeline: bool,
    },
    /// There is nothing to give.
    Nothing,
    /// What a subtree of ranks has found out in a wave.
    Token(Token),
    /// The wave has found work, or messages that may be: there is to be another.
    Again,
    /// All work is done.
    Done,
    /// A subtree of ranks waits for no answer any more.
    Bye,
    /// No rank waits for an answer any more: a rank may leave.
    Leave,
    /// A sign of life.
    Beat,
    /// A rank that sends asks how much there is to do.
    Probe,
    /// So much: nothing, or what runs and the tasks that wait; the most if none may be sent.
    Load(u64),
}

impl<W> Message<W> {
    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Message::Hello { .. } => "Hello",
            Message::Steal { .. } => "Steal",
            Message::Work { .. } => "Work",
            Message::Nothing => "Nothing",
            Message::Token(_) => "Token",
            Message::Again => "Again",
            Message::Done => "Done",
            Message::Bye => "Bye",
            Message::Leave => "Leave",
            Message::Beat => "Beat",
            Message::Probe => "Probe",
            Message::Load(_) => "Load",
        }
    }

    /// The same message with its tasks in another form.
    ///
    /// ```
    /// use locksley_policy::rank::Message;
    ///
    /// let message = Message::Work { tasks: vec![1, 2, 3], lifeline: true };
    /// let packed = message.map(|tasks| tasks.len());
    /// assert_eq!(packed, Message::Work { tasks: 3, lifeline: true });
    /// ```
    pub fn map<X>(self, form: impl FnOnce(W) -> X) -> Message<X> {
        match self {
            Message::Hello { build } => Message::Hello { build },
            Message::Steal { lifeline } => Message::Steal { lifeline },
            Message::Work { tasks, lifeline } => Message::Work {
                tasks: form(tasks),
                lifeline,
            },
            Message::Nothing => Message::Nothing,
            Message::Token(token) => Message::Token(token),
            Message::Again => Message::Again,
            Message::Done => Message::Done,
            Message::Bye => Message::Bye,
            Message::Leave => Message::Leave,
            Message::Beat => Message::Beat,
            Message::Probe => Message::Probe,
            Message::Load(load) => Message::Load(load),
        }
    }
}

/// Safra's token, of one rank or of a subtree of ranks.
///
/// ```
/// use locksley_policy::rank::Token;
///
/// // Nothing is on its way, and no rank was woken behind the wave's back.
/// assert!(Token { wave: 3, balance: 0, black: false }.is_clean());
/// assert!(!Token { wave: 3, balance: 1, black: false }.is_clean());
/// assert!(!Token { wave: 3, balance: 0, black: true }.is_clean());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Token {
    /// The number of the wave.
    pub wave: u32,
    /// `Work` messages sent minus those received.
    pub balance: i64,
    /// Set if one of the ranks has received work since it passed its last token.
    pub black: bool,
}

impl Token {
    /// Returns `true` if all work is done, given that it is the token of all ranks.
    pub fn is_clean(&self) -> bool {
        self.balance == 0 && !self.black
    }
}

/// The tasks of a process: what a rank steals for, and gives from.
///
/// ```
/// use locksley_policy::rank::Store;
///
/// /// Tasks that one thread runs, the newest first.
/// struct Stack {
///     waiting: Vec<u32>,
///     running: bool,
/// }
///
/// impl Store for Stack {
///     type Work = Vec<u32>;
///
///     fn surplus(&self) -> usize {
///         self.waiting.len().saturating_sub(usize::from(!self.running))
///     }
///
///     fn is_passive(&self) -> bool {
///         self.waiting.is_empty() && !self.running
///     }
///
///     fn give(&mut self, at_most: usize) -> Option<Vec<u32>> {
///         let some = at_most.min(self.waiting.len());
///         (some > 0).then(|| self.waiting.drain(..some).collect())
///     }
///
///     fn take(&mut self, mut work: Vec<u32>) {
///         self.waiting.append(&mut work);
///     }
///
///     fn size(work: &Vec<u32>) -> usize {
///         work.len()
///     }
/// }
///
/// let mut busy = Stack { waiting: vec![1, 2, 3], running: true };
/// let mut idle = Stack { waiting: vec![], running: false };
/// assert!(idle.is_hungry());
/// idle.take(busy.give(2).unwrap());
/// assert_eq!((busy.surplus(), idle.surplus()), (1, 1));
/// ```
pub trait Store {
    /// Some tasks, ready to travel.
    type Work;

    /// How many tasks wait that could be given. Those that idle workers here are about to take are
    /// better left out: tasks that are always handed on are never run. It may be out of date at
    /// once.
    fn surplus(&self) -> usize;

    /// Returns `true` if nothing runs or waits here, and nothing will until something is
    /// [taken](Store::take). Must not be wrong: on this rests that no rank leaves while there is
    /// work.
    fn is_passive(&self) -> bool;

    /// Returns `true` if more could be done here at the same time: by default if it is passive. A
    /// process may well ask a little sooner.
    fn is_hungry(&self) -> bool {
        self.is_passive()
    }

    /// Gives up to so many tasks away, those first that have waited longest. A passive store has
    /// none.
    fn give(&mut self, at_most: usize) -> Option<Self::Work>;

    /// Takes tasks in.
    fn take(&mut self, work: Self::Work);

    /// How many tasks these are.
    fn size(work: &Self::Work) -> usize;
}

/// What a rank has done so far.
///
/// ```
/// use locksley_policy::rank::Counts;
///
/// let mut sum = Counts { requests: 3, successes: 1, ..Counts::default() };
/// sum += Counts { requests: 2, ..Counts::default() };
/// assert_eq!((sum.requests, sum.successes), (5, 1));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Counts {
    /// Requests that it sent.
    pub requests: u64,
    /// Requests of its own that were answered with work.
    pub successes: u64,
    /// Messages with work that it sent.
    pub gifts: u64,
    /// Tasks in these.
    pub given: u64,
    /// Tasks that it received.
    pub taken: u64,
    /// Messages with work that it sent unasked: to ranks that it had remembered, or had chosen.
    pub lifeline_gifts: u64,
    /// Ranks that it asked how much they have to do.
    pub probes: u64,
    /// Tokens that it passed on.
    pub tokens: u64,
    /// Signs of life that it sent.
    pub beats: u64,
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        self.requests += other.requests;
        self.successes += other.successes;
        self.gifts += other.gifts;
        self.given += other.given;
        self.taken += other.taken;
        self.lifeline_gifts += other.lifeline_gifts;
        self.probes += other.probes;
        self.tokens += other.tokens;
        self.beats += other.beats;
    }
}

/// When a rank wants to be woken.
///
/// ```
/// use locksley_policy::rank::Next;
///
/// assert!(Next::At(7) != Next::Done);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// At this time at the latest, in nanoseconds.
    At(u64),
    /// Never: all work is done, and every message that was sent to this rank has been received.
    Done,
}

/// Why a job cannot go on. There is no way back: the rank that sees it ends the whole job.
///
/// ```
/// use locksley_policy::rank::Trouble;
///
/// let trouble = Trouble::Silent { rank: 3, for_ns: 5_200_000_000 };
/// assert!(trouble.to_string().starts_with("rank 3 has been silent for 5.2 s"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Trouble {
    /// A rank runs another build, and tasks of one build mean nothing to another.
    OtherBuild {
        /// The rank.
        rank: usize,
        /// Its build.
        theirs: u64,
        /// The build of this rank.
        ours: u64,
    },
    /// A rank has not been heard of for too long, or does not answer.
    Silent {
        /// The rank.
        rank: usize,
        /// For how long, in nanoseconds.
        for_ns: u64,
    },
    /// A rank said what it cannot say if it follows the protocol.
    Unexpected {
        /// The rank.
        rank: usize,
        /// The name of the message.
        message: &'static str,
    },
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Trouble::OtherBuild { rank, theirs, ours } => write!(
                f,
                "rank {rank} runs the build {theirs:016x}, and this rank {ours:016x}: start all \
                 ranks from the same executable"
            ),
            Trouble::Silent { rank, for_ns } => write!(
                f,
                "rank {rank} has been silent for {:.1} s: its process or host has died or hangs, \
                 or its link is cut; look at its output, and start the job again without that host",
                for_ns as f64 * 1e-9
            ),
            Trouble::Unexpected { rank, message } => write!(
                f,
                "rank {rank} sent {message}, which was not expected: messages were lost, repeated \
                 or not delivered in order; check the transport"
            ),
        }
    }
}

impl std::error::Error for Trouble {}
