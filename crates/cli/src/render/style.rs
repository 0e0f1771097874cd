//! Colours, on terminals only.

use std::env;
use std::io::{IsTerminal, stdout};

/// Paints text for standard output if colours are on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    colours: bool,
}

impl Style {
    /// Uses colours on a terminal, unless `NO_COLOR` is set or the terminal is dumb. The output of
    /// a rank of Open MPI looks like a terminal but may go anywhere, so ranks have no colours.
    pub(crate) fn of_stdout() -> Style {
        let forbidden = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = env::var_os("TERM").is_some_and(|term| term == "dumb");
        let launched = env::var_os("OMPI_COMM_WORLD_RANK").is_some();
        Style {
            colours: stdout().is_terminal() && !forbidden && !dumb && !launched,
        }
    }

    /// Paints a heading.
    pub(crate) fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    /// Paints a success.
    pub(crate) fn good(self, text: &str) -> String {
        self.paint("32", text)
    }

    /// Paints a failure.
    pub(crate) fn bad(self, text: &str) -> String {
        self.paint("31", text)
    }

    /// Paints a remark.
    pub(crate) fn faint(self, text: &str) -> String {
        self.paint("2", text)
    }

    /// Paints the lines that contain `mark` green.
    pub(crate) fn mark(self, text: &str, mark: &str) -> String {
        let painted = text.lines().map(|line| {
            if line.contains(mark) {
                self.good(line) + "\n"
            } else {
                line.to_owned() + "\n"
            }
        });
        painted.collect()
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.colours {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_colours_text_stays_as_it_is() {
        let style = Style { colours: false };
        assert_eq!(style.bold("a") + &style.good("b"), "ab");
        let style = Style { colours: true };
        assert_eq!(
            style.mark("one\ntwo <\n", "<"),
            "one\n\u{1b}[32mtwo <\u{1b}[0m\n"
        );
    }
}
