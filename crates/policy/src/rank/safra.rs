//! Termination: Safra's algorithm, in waves over a tree.
//!
//! See [`rank`](super) for what it does and why it is right.

use super::message::Token;

/// A rank's part in the detection of termination.
#[derive(Clone, Debug)]
pub(super) struct Safra {
    /// `Work` messages sent minus those received, since the beginning.
    pub(super) balance: i64,
    /// Set if work has been received since the last token was passed.
    pub(super) black: bool,
    /// How many children the rank has.
    children: usize,
    /// How many of them have reported in this wave.
    reported: usize,
    /// What they reported. Its number is that of the wave.
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

    /// Work is sent.
    pub(super) fn sent(&mut self) {
        self.balance += 1;
    }

    /// Work is received: perhaps by a rank that the wave has passed, so the wave must not be
    /// trusted.
    pub(super) fn received(&mut self) {
        self.balance -= 1;
        self.black = true;
    }

    /// Takes in a child's report. Returns `false` if there can be none.
    pub(super) fn gather(&mut self, token: Token) -> bool {
        if token.wave != self.gathered.wave || self.reported == self.children || self.passed {
            return false;
        }
        self.reported += 1;
        self.gathered.balance += token.balance;
        self.gathered.black |= token.black;
        true
    }

    /// The token of this rank's subtree, once in each wave: when all children have reported and, as
    /// the caller has made sure of, the rank is passive.
    pub(super) fn pass(&mut self) -> Option<Token> {
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

    /// Begins the next wave. Returns `false` if it may not begin.
    pub(super) fn again(&mut self) -> bool {
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
