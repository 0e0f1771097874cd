//! The page in a real browser. Run by `scripts/browser-test`, which installs one if there is none.

mod chromium;
#[path = "../common/mod.rs"]
mod common;

use chromium::Browser;
use common::{CHARTS, NASTY, sample};
use serde_json::{Value, json};
use std::cell::Cell;
use std::path::{Path, PathBuf};

/// Returns the folder for screenshots.
fn screenshots() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let target =
        target.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target"));
    let folder = target.join("screenshots");
    std::fs::create_dir_all(&folder).unwrap();
    folder.canonicalize().unwrap()
}

/// The functions that the checks call in the page.
const HELPERS: &str = r#"
    const visible = (element) => element.getClientRects().length > 0;
    const shown = (selector) => [...document.querySelectorAll(selector)].filter(visible);
    const texts = (selector) => shown(selector).map((element) => element.textContent);
    // Pairs of labels in one picture that lie on each other, and labels that leave their picture.
    const collisions = () => shown("figure svg[role=img]").flatMap((svg) => {
        const frame = svg.getBoundingClientRect();
        const labels = [...svg.querySelectorAll("text")]
            .map((text) => ({ text: text.textContent, box: text.getBoundingClientRect() }));
        const on = (a, b) => a.left < b.right - 1 && b.left < a.right - 1
            && a.top < b.bottom - 3 && b.top < a.bottom - 3;
        const out = (box) => box.left < frame.left - 1 || box.right > frame.right + 1
            || box.bottom > frame.bottom + 1;
        const clashes = labels.flatMap((a, i) => labels.slice(i + 1)
            .filter((b) => on(a.box, b.box)).map((b) => [a.text, b.text]));
        const lost = labels.filter((label) => out(label.box))
            .map((label) => [label.text, "outside"]);
        return [...clashes, ...lost].map((pair) => [svg.getAttribute("aria-label"), ...pair]);
    });
    const unfold = () => document.querySelectorAll("details")
        .forEach((details) => { details.open = true; });
"#;

struct Tab {
    browser: Browser,
    url: String,
    width: Cell<u32>,
}

impl Tab {
    fn open(width: u32, theme: &str) -> Tab {
        let file = screenshots().join("report.html");
        locksley_report::write_page(&file, &sample()).unwrap();
        let tab = Tab {
            browser: Browser::start(),
            url: format!("file://{}", file.display()),
            width: Cell::new(width),
        };
        tab.reload(width, theme);
        tab
    }

    fn reload(&self, width: u32, theme: &str) {
        self.width.set(width);
        self.browser.emulate(width, 900, theme);
        self.browser.load(&self.url);
        self.browser.evaluate(HELPERS);
    }

    fn eval(&self, expression: &str) -> Value {
        self.browser.evaluate(expression)
    }

    /// Evaluates an expression that is a number.
    fn count(&self, expression: &str) -> u64 {
        self.eval(expression)
            .as_u64()
            .unwrap_or_else(|| panic!("{expression} is no number"))
    }

    fn click(&self, selector: &str) {
        self.eval(&format!(
            "document.querySelector({}).click()",
            json!(selector)
        ));
    }

    fn check_charts(&self) {
        for (kind, count) in CHARTS {
            // A picture counts if it is visible, and has labels and shapes.
            let pictures = self.count(&format!(
                "shown('figure.{kind} svg[role=img]').filter((svg) => \
                 svg.getBoundingClientRect().height > 80 && svg.querySelectorAll('text').length > \
                 2 && svg.querySelectorAll('rect, polyline, circle, polygon').length > 3).length"
            ));
            assert_eq!(pictures, count as u64, "charts of the kind {kind}");
        }
        assert_eq!(
            self.count("document.querySelectorAll('.chart-error').length"),
            0
        );
        assert_eq!(
            self.eval("collisions()"),
            json!([]),
            "labels overlap or are cut off"
        );
        self.check_width();
    }

    /// Checks that the page does not scroll sideways. A phone's browser would zoom out to show all
    /// of a wide page, so the width is compared with the one that was set.
    fn check_width(&self) {
        let width = self.count("document.documentElement.scrollWidth");
        assert!(
            width <= u64::from(self.width.get()),
            "the page is {width} pixels wide"
        );
    }

    /// Checks that there are no errors, and no requests except for the page.
    fn check_quiet(&self) {
        for kind in [
            "Runtime.exceptionThrown",
            "Runtime.consoleAPICalled",
            "Log.entryAdded",
        ] {
            assert_eq!(self.browser.events(kind), Vec::<Value>::new(), "{kind}");
        }
        for request in self.browser.events("Network.requestWillBeSent") {
            let url = request["request"]["url"].as_str().unwrap_or_default();
            assert!(
                url == self.url || url.starts_with("data:"),
                "the page asked for {url}"
            );
        }
    }
}

#[test]
#[ignore = "needs Chromium; scripts/browser-test runs it"]
fn the_checks_notice_what_they_are_for() {
    let tab = Tab::open(1280, "light");
    assert_eq!(tab.eval("collisions().length"), json!(0));
    tab.eval(
        "document.querySelectorAll('svg text').forEach((text) => \
         { text.style.fontSize = '99px'; })",
    );
    assert!(
        tab.count("collisions().length") > 20,
        "letters of twice the size overlap"
    );
    let wide = tab.count("document.documentElement.scrollWidth");
    tab.eval(
        "document.body.append(Object.assign(document.createElement('p'), \
         { id: 'wide', textContent: 'x' }))",
    );
    tab.eval("wide.style.width = '3000px'");
    assert!(tab.count("document.documentElement.scrollWidth") > wide);
    tab.eval("void new Image().setAttribute('src', 'https://example.invalid/picture.png')");
    tab.eval("console.error('seen')");
    assert_eq!(tab.browser.events("Runtime.consoleAPICalled").len(), 1);
    assert!(
        !tab.browser.events("Log.entryAdded").is_empty(),
        "the policy forbids the picture"
    );
}

#[test]
#[ignore = "needs Chromium; scripts/browser-test runs it"]
fn charts_are_there_at_every_width_and_in_both_themes() {
    let tab = Tab::open(1280, "light");
    for (width, theme, name) in [
        (1280, "light", "light"),
        (1280, "dark", "dark"),
        (360, "light", "phone"),
        (360, "dark", "phone-dark"),
    ] {
        tab.reload(width, theme);
        tab.check_charts();
        tab.browser
            .screenshot(&screenshots().join(format!("{name}.png")));
    }
    tab.check_quiet();
}

#[test]
#[ignore = "needs Chromium; scripts/browser-test runs it"]
fn the_theme_follows_the_system_until_the_reader_chooses() {
    let tab = Tab::open(1280, "light");
    let ground = |tab: &Tab| tab.eval("getComputedStyle(document.body).backgroundColor");
    let line = |tab: &Tab| tab.eval("getComputedStyle(shown('figure.speedup polyline')[0]).stroke");
    let (light, light_line) = (ground(&tab), line(&tab));
    assert_eq!(light, json!("rgb(255, 255, 255)"));
    tab.click("#theme");
    let (dark, dark_line) = (ground(&tab), line(&tab));
    assert_ne!(light, dark);
    assert_ne!(light_line, dark_line);
    tab.click("#theme");
    assert_eq!((ground(&tab), line(&tab)), (light.clone(), light_line));
    tab.reload(1280, "dark");
    assert_eq!((ground(&tab), line(&tab)), (dark, dark_line));
    tab.click("#theme");
    assert_eq!(ground(&tab), light);
    tab.check_quiet();
}

#[test]
#[ignore = "needs Chromium; scripts/browser-test runs it"]
fn filters_hide_rows_lines_and_workloads() {
    let tab = Tab::open(1280, "light");
    tab.eval("unfold()");
    let of = |selector: &str| {
        format!("shown('{selector}').filter((x) => x.dataset.contender === 'steal-half').length")
    };
    let all = [
        "tr",
        "figure.bars g",
        "figure.speedup g",
        ".legend li",
        "article",
    ]
    .map(of);
    let before: Vec<u64> = all.iter().map(|count| tab.count(count)).collect();
    assert_eq!(before, [12, 3, 2, 2, 2]);
    tab.click("#contenders input[value=steal-half]");
    assert_eq!(all.iter().map(|count| tab.count(count)).sum::<u64>(), 0);
    assert!(tab.count("shown('tr').filter((x) => x.dataset.contender === 'stealing').length") > 0);
    tab.click("#contenders input[value=steal-half]");
    assert_eq!(
        all.iter()
            .map(|count| tab.count(count))
            .collect::<Vec<u64>>(),
        before
    );

    let choose = |name: &str| {
        let name = json!(name);
        tab.eval(&format!(
            "workload.value = {name}; workload.dispatchEvent(new Event('change')); workload.value"
        ))
    };
    assert_eq!(choose("sort"), json!("sort"));
    assert_eq!(tab.eval("texts('article h3')"), json!(["sort (n = 13)"]));
    assert_eq!(choose(NASTY), json!(NASTY), "whatever a name has in it");
    assert_eq!(
        tab.eval("texts('article h3')"),
        json!([format!("{NASTY} (n = 13)")])
    );
    choose("");
    assert!(tab.count("shown('article').length") > 5);
    assert_ne!(
        tab.eval("document.title"),
        json!("broken"),
        "a name was run as a script"
    );
    tab.check_quiet();
}

#[test]
#[ignore = "needs Chromium; scripts/browser-test runs it"]
fn tables_are_sorted_and_timelines_zoomed() {
    let tab = Tab::open(1280, "light");
    let medians = "[...document.querySelectorAll('#comparison-0 tbody tr')].map((row) => \
                   Number(row.cells[2].dataset.value))";
    let numbers = || -> Vec<f64> {
        tab.eval(medians)
            .as_array()
            .unwrap()
            .iter()
            .map(|x| x.as_f64().unwrap())
            .collect()
    };
    let before = numbers();
    let mut sorted = before.clone();
    sorted.sort_by(f64::total_cmp);
    assert_ne!(before, sorted);
    tab.click("#comparison-0 th:nth-child(3) button");
    assert_eq!(numbers(), sorted);
    tab.click("#comparison-0 th:nth-child(3) button");
    sorted.reverse();
    assert_eq!(numbers(), sorted);
    tab.click("#comparison-0 th:nth-child(1) button");
    let names = tab.eval(
        "[...document.querySelectorAll('#comparison-0 tbody tr')].map((row) => \
         row.cells[0].textContent)",
    );
    let names: Vec<&str> = names
        .as_array()
        .unwrap()
        .iter()
        .map(|name| name.as_str().unwrap())
        .collect();
    assert!(names.is_sorted(), "{names:?}");

    let width = "shown('figure.timeline svg[role=img]')[0].getBoundingClientRect().width";
    let height = "shown('figure.timeline svg[role=img]')[0].getBoundingClientRect().height";
    let (wide, high) = (
        tab.eval(width).as_f64().unwrap(),
        tab.eval(height).as_f64().unwrap(),
    );
    tab.click(".zoom button:nth-child(2)");
    tab.click(".zoom button:nth-child(2)");
    assert!(tab.eval(width).as_f64().unwrap() > 3.0 * wide);
    assert!(
        (tab.eval(height).as_f64().unwrap() - high).abs() < 1.0,
        "only time is stretched"
    );
    tab.check_width();
    tab.click(".zoom button:nth-child(1)");
    tab.click(".zoom button:nth-child(1)");
    assert!((tab.eval(width).as_f64().unwrap() - wide).abs() < 1.0);
    tab.check_quiet();
}

#[test]
#[ignore = "needs Chromium; scripts/browser-test runs it"]
fn the_page_works_without_its_script() {
    let tab = Tab::open(1280, "light");
    tab.browser.call(
        "Emulation.setScriptExecutionDisabled",
        json!({"value": true}),
    );
    tab.reload(360, "dark");
    tab.check_charts();
    assert_eq!(
        tab.count("shown('.controls, .zoom, th button').length"),
        0,
        "controls that would do nothing"
    );
    tab.check_quiet();
}
