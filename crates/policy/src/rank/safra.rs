//! Termination detection: Safra's algorithm, in waves over a tree.
//!
//! See [`rank`](super) for the algorithm and its proof.

use super::message::Token;

/// A rank's part in the detection of termination.
#[derive(Clone, Debug)]
pub(super) struct Safra {
    /// Number of `Work` messages sent minus those received, since the beginning.
    pub(super) balance: i64,
    /// Set if work has been received since the last token was passed.
    pub(super) black: bool,
    /// Number of children of the rank.
    children: usize,
    /// Number of children that have reported in this wave.
    reported: usize,
    /// Sum of the children's reports. Its `wave` is the current one.
    gathered: Token,
    /// Set if this rank has passed its token in this wave.
    passed: bool,
}

impl Safra {
    pub(super) fn new(children: usize) -> Safra {
        Safra {
            balance: 0,
            black: false,
            children,
            reported: 0,
            gathered: Token::default(),
            passed: false,
        }
    }

    /// Notes that work is sent.
    pub(super) fn sent(&mut self) {
        self.balance += 1;
    }

    /// Notes that work is received. The wave may have passed this rank already and must not be
    /// trusted, so the rank turns black.
    pub(super) fn received(&mut self) {
        self.balance -= 1;
        self.black = true;
    }

    /// Adds a child's report. Returns `false` if no report is expected.
    pub(super) fn gather(&mut self, token: Token) -> bool {
        if token.wave != self.gathered.wave || self.reported == self.children || self.passed {
            return false;
        }
        self.reported += 1;
        self.gathered.balance += token.balance;
        self.gathered.black |= token.black;
        true
    }

    /// Returns the token of this rank's subtree, once in each wave: when all children have reported
    /// and the rank is passive. The caller has checked the latter.
    pub(super) fn take_token(&mut self) -> Option<Token> {
        if self.passed || self.reported < self.children {
            return None;
        }
        self.passed = true;
        let black = std::mem::replace(&mut self.black, false);
        Some(Token {
            wave: self.gathered.wave,
            balance: self.gathered.balance + self.balance,
            black: self.gathered.black || black,
        })
    }

    /// Begins the next wave. Returns `false` if this rank has not passed its token in the current
    /// one.
    pub(super) fn begin_wave(&mut self) -> bool {
        if !self.passed {
            return false;
        }
        self.passed = false;
        self.reported = 0;
        self.gathered = Token {
            wave: self.gathered.wave.wrapping_add(1),
            ..Token::default()
        };
        true
    }
}
