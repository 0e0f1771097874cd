//! The messages between ranks, and the traits and types between a rank and its process.

use std::fmt;

/// A message from one rank to another. `W` is the type of tasks in transit.
///
/// | message | from, to | means |
/// |---|---|---|
/// | `Hello` | child to parent, and back | my build; back: all ranks up to the root have this build |
/// | `Steal` | thief to victim | a request for work; on a lifeline also: remember me if you have none |
/// | `Work`, `Nothing` | victim to thief | the answer; `Work` also goes to remembered ranks |
/// | `Probe`, `Load` | sender to another rank, and back | a request for the load; the load |
/// | `Token`, `Again` | child to parent, parent to child | the result of a wave of Safra's algorithm; the start of the next wave |
/// | `Done`, `Bye`, `Leave` | down, up, down the tree | all work is done; this subtree waits for no answer; no rank does |
/// | `Beat` | along the tree, both ways | a heartbeat |
///
/// `Hello` comes first, in this enum and between two ranks, so that builds that differ in the rest
/// still understand it.
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
    /// The build that a rank runs.
    Hello {
        /// A number that identifies the build.
        build: u64,
    },
    /// A rank asks for work.
    Steal {
        /// Set if the victim is to remember the thief when it has nothing.
        lifeline: bool,
    },
    /// Tasks.
    Work {
        /// The tasks.
        tasks: W,
        /// Set if they were sent unasked, or to a remembered rank, not as the answer to a request.
        lifeline: bool,
    },
    /// There is nothing to give.
    Nothing,
    /// The result of a wave in a subtree of ranks.
    Token(Token),
    /// The wave has found active ranks, or work that may be in transit: another wave begins.
    Again,
    /// All work is done.
    Done,
    /// No rank of a subtree waits for an answer any more.
    Bye,
    /// No rank waits for an answer any more, so the receiver may leave.
    Leave,
    /// A heartbeat.
    Beat,
    /// A rank that has work to send asks for the receiver's load.
    Probe,
    /// The load: 0 if the rank is hungry, otherwise 1 plus its surplus; `u64::MAX` if no work may
    /// be sent to it.
    Load(u64),
}

impl<W> Message<W> {
    /// Returns the name of the variant.
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

    /// Converts the tasks of the message with `form`.
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
    /// Number of the wave.
    pub wave: u32,
    /// Number of `Work` messages sent minus those received.
    pub balance: i64,
    /// Set if one of the ranks has received work since it passed its last token.
    pub black: bool,
}

impl Token {
    /// Returns `true` if the token proves that all work is done, given that it is the token of all
    /// ranks.
    pub fn is_clean(&self) -> bool {
        self.balance == 0 && !self.black
    }
}

/// The tasks of a process, for which its rank steals and from which it gives.
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
    /// Tasks in the form in which they are sent.
    type Work;

    /// Returns the number of waiting tasks that could be given away. It is better to leave out
    /// those that idle workers here are about to take: tasks that are passed on again and again are
    /// never run. The result may be out of date at once.
    fn surplus(&self) -> usize;

    /// Returns `true` if no task runs or waits here, and none will until tasks are
    /// [taken](Store::take). It must never be wrong: that no rank leaves while there is work rests
    /// on it.
    fn is_passive(&self) -> bool;

    /// Returns `true` if the process could run more tasks at the same time: by default if it is
    /// passive. A process may ask a little sooner.
    fn is_hungry(&self) -> bool {
        self.is_passive()
    }

    /// Gives up to `at_most` tasks away, those first that have waited longest. A passive store has
    /// none.
    fn give(&mut self, at_most: usize) -> Option<Self::Work>;

    /// Adds tasks to the store.
    fn take(&mut self, work: Self::Work);

    /// Returns the number of tasks in `work`.
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
    /// Number of requests sent.
    pub requests: u64,
    /// Number of requests sent that were answered with work.
    pub successes: u64,
    /// Number of messages with work sent.
    pub gifts: u64,
    /// Number of tasks sent.
    pub given: u64,
    /// Number of tasks received.
    pub taken: u64,
    /// Number of messages with work sent unasked: to remembered ranks, or to chosen ones.
    pub lifeline_gifts: u64,
    /// Number of probes sent.
    pub probes: u64,
    /// Number of tokens passed on.
    pub tokens: u64,
    /// Number of heartbeats sent.
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

/// When a rank needs its next [`step`](super::Rank::step).
///
/// ```
/// use locksley_policy::rank::Next;
///
/// assert!(Next::At(7) != Next::Done);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// At this time, in nanoseconds, at the latest.
    At(u64),
    /// Never: all work is done, and every message that was sent to this rank has been received.
    Done,
}

/// Why a job cannot go on. It is not recoverable: the rank that sees it ends the whole job.
///
/// ```
/// use locksley_policy::rank::ProtocolError;
///
/// let trouble = ProtocolError::Silent { rank: 3, for_ns: 5_200_000_000 };
/// assert!(trouble.to_string().starts_with("rank 3 has been silent for 5.2 s"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProtocolError {
    /// A rank runs another build, and tasks of one build mean nothing to another.
    OtherBuild {
        /// The rank.
        rank: usize,
        /// The build of that rank.
        theirs: u64,
        /// The build of this rank.
        ours: u64,
    },
    /// A rank has been silent for too long, or does not answer.
    Silent {
        /// The rank.
        rank: usize,
        /// Duration of the silence, in nanoseconds.
        for_ns: u64,
    },
    /// A rank sent a message that the protocol does not allow at this point.
    Unexpected {
        /// The rank.
        rank: usize,
        /// The name of the message.
        message: &'static str,
    },
}

impl fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            ProtocolError::OtherBuild { rank, theirs, ours } => write!(
                f,
                "rank {rank} runs the build {theirs:016x}, and this rank {ours:016x}: start all \
                 ranks from the same executable"
            ),
            ProtocolError::Silent { rank, for_ns } => write!(
                f,
                "rank {rank} has been silent for {:.1} s: its process or host has died or hangs, \
                 or its link is cut; look at its output, and start the job again without that host",
                for_ns as f64 * 1e-9
            ),
            ProtocolError::Unexpected { rank, message } => write!(
                f,
                "rank {rank} sent {message}, which was not expected: messages were lost, repeated \
                 or not delivered in order; check the transport"
            ),
        }
    }
}

impl std::error::Error for ProtocolError {}
