//! Colours for light and dark themes.
//!
//! A chart is drawn in the colours for light backgrounds, so that its SVG is complete by itself.
//! The page maps each of these colours to a CSS variable, whose value depends on the reader's
//! theme. Therefore every ink needs a different light colour. The series follow the palette of
//! Okabe and Ito for colour-blind readers, darkened until lines have a contrast of 3 to 1 with the
//! page. Series also differ in their markers.

use plotters::style::RGBColor;
use std::fmt::Write;

/// A colour with a purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ink {
    /// The CSS variable is `--ink-<name>`.
    pub(crate) name: &'static str,
    light: u32,
    dark: u32,
}

const fn ink(name: &'static str, light: u32, dark: u32) -> Ink {
    Ink { name, light, dark }
}

pub(crate) const TEXT: Ink = ink("text", 0x1B1F24, 0xE6E8EB);
pub(crate) const MUTED: Ink = ink("muted", 0x57606A, 0xA3ABB5);
pub(crate) const GRID: Ink = ink("grid", 0xD8DEE4, 0x343B44);
pub(crate) const PAPER: Ink = ink("paper", 0xFFFFFF, 0x14181D);
pub(crate) const SERIAL: Ink = ink("serial", 0x78828D, 0x8C96A1);

const SERIES: [Ink; 8] = [
    ink("series-1", 0x0072B2, 0x56A8E0),
    ink("series-2", 0xC8500A, 0xF28546),
    ink("series-3", 0x00825F, 0x2FBF95),
    ink("series-4", 0x9A4A8C, 0xD68CC5),
    ink("series-5", 0xA87000, 0xE9B23B),
    ink("series-6", 0x4D5560, 0xC3C9D0),
    ink("series-7", 0x7A4B2A, 0xC79A78),
    ink("series-8", 0x3C8FC7, 0x9AD4F7),
];

/// Colour scale of heat maps, from few to many.
pub(crate) const HEAT: [Ink; 7] = [
    ink("heat-0", 0xF1F5F9, 0x1D232B),
    ink("heat-1", 0xD6E6F4, 0x17354F),
    ink("heat-2", 0xABCFE6, 0x1B4C74),
    ink("heat-3", 0x6AAED6, 0x1F669C),
    ink("heat-4", 0x2F7DB8, 0x4D9FDB),
    ink("heat-5", 0x105BA4, 0x7FBDEB),
    ink("heat-6", 0x08306B, 0xB3DAF7),
];
/// Text on [`HEAT`] up to step 3, and on the rest.
const HEAT_TEXT: [Ink; 2] = [
    ink("on-few", 0x1B1F25, 0xE6E8EC),
    ink("on-many", 0xFFFFFE, 0x0B1016),
];

pub(crate) const TASK: Ink = ink("task", 0x2F7FB5, 0x4A9BD4);
pub(crate) const IDLE: Ink = ink("idle", 0xE3A72F, 0xC98F1B);
pub(crate) const PARKED: Ink = ink("parked", 0xC9D1D9, 0x3A424C);
pub(crate) const STEAL: Ink = ink("steal", 0xB3261E, 0xFF8A7A);
pub(crate) const DONATION: Ink = ink("donation", 0x6A3D9A, 0xC9A6F0);
pub(crate) const DEALING: Ink = ink("dealing", 0x1B7F4B, 0x5FD39B);

const OTHERS: [Ink; 11] = [
    TEXT, MUTED, GRID, PAPER, SERIAL, TASK, IDLE, PARKED, STEAL, DONATION, DEALING,
];

fn all() -> impl Iterator<Item = Ink> {
    OTHERS
        .into_iter()
        .chain(SERIES)
        .chain(HEAT)
        .chain(HEAT_TEXT)
}

/// Returns the ink of a series. Inks repeat after eight series, which then differ in their markers
/// only.
pub(crate) fn series(number: usize) -> Ink {
    SERIES[number % SERIES.len()]
}

/// Returns the ink for text on a step of [`HEAT`].
pub(crate) fn on_heat(step: usize) -> Ink {
    HEAT_TEXT[usize::from(step > 3)]
}

impl Ink {
    /// Returns the light colour for plotters.
    pub(crate) fn color(self) -> RGBColor {
        let [_, red, green, blue] = self.light.to_be_bytes();
        RGBColor(red, green, blue)
    }

    /// Returns the light colour as in attributes of SVG.
    pub(crate) fn hex(self) -> String {
        format!("#{:06X}", self.light)
    }
}

/// Returns the part of the style sheet that makes colours depend on the theme.
pub(crate) fn style_sheet() -> String {
    let variables = |dark: bool| {
        all().fold(String::new(), |mut css, ink| {
            let value = if dark { ink.dark } else { ink.light };
            let _ = write!(css, "--ink-{}:#{value:06X};", ink.name);
            css
        })
    };
    let mut css = format!(
        ":root{{color-scheme:light;{}}}\n\
         @media (prefers-color-scheme:dark){{\
         :root:not([data-theme=light]){{color-scheme:dark;{}}}}}\n\
         :root[data-theme=dark]{{color-scheme:dark;{}}}\n",
        variables(false),
        variables(true),
        variables(true)
    );
    for ink in all() {
        let (name, hex) = (ink.name, ink.hex());
        let _ = writeln!(
            css,
            "svg [fill=\"{hex}\"]{{fill:var(--ink-{name})}}svg \
             [stroke=\"{hex}\"]{{stroke:var(--ink-{name})}}"
        );
    }
    css
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_inks_share_a_colour() {
        let mut light: Vec<u32> = all().map(|ink| ink.light).collect();
        let count = light.len();
        light.sort_unstable();
        light.dedup();
        assert_eq!(light.len(), count, "the page could not tell them apart");
    }

    /// Relative luminance and contrast as the Web Content Accessibility Guidelines define them.
    fn contrast(a: u32, b: u32) -> f64 {
        let luminance = |color: u32| {
            let channel = |shift: u32| {
                let value = f64::from((color >> shift) & 0xFF) / 255.0;
                if value <= 0.04045 {
                    value / 12.92
                } else {
                    ((value + 0.055) / 1.055).powf(2.4)
                }
            };
            0.2126 * channel(16) + 0.7152 * channel(8) + 0.0722 * channel(0)
        };
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn lines_and_text_stand_out_in_both_themes() {
        for ink in [TEXT, MUTED] {
            assert!(
                contrast(ink.light, PAPER.light) >= 4.5 && contrast(ink.dark, PAPER.dark) >= 4.5,
                "{ink:?}"
            );
        }
        for ink in SERIES.into_iter().chain([SERIAL, STEAL, DONATION, DEALING]) {
            assert!(
                contrast(ink.light, PAPER.light) >= 3.0 && contrast(ink.dark, PAPER.dark) >= 3.0,
                "{ink:?}"
            );
        }
        for (step, heat) in HEAT.into_iter().enumerate() {
            let text = on_heat(step);
            assert!(
                contrast(heat.light, text.light) >= 4.3 && contrast(heat.dark, text.dark) >= 4.3,
                "{heat:?}"
            );
        }
    }
}
