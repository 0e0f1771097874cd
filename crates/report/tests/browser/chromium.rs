//! A small client of Chromium's DevTools protocol over a pipe: messages are JSON, each terminated
//! by a zero byte.

use serde_json::{Value, json};
use std::cell::{Cell, RefCell};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// Time limit for an answer, for a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

const FLAGS: [&str; 14] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-sync",
    "--hide-scrollbars",
    "--no-first-run",
    "--mute-audio",
    "--remote-debugging-pipe",
];

/// A running browser with one tab.
pub(crate) struct Browser {
    child: Child,
    input: RefCell<Option<ChildStdin>>,
    messages: Receiver<Value>,
    events: RefCell<Vec<Value>>,
    next: Cell<u64>,
    session: RefCell<Option<String>>,
    profile: PathBuf,
}

impl Browser {
    /// Starts the browser that `CHROMIUM` names, or `chromium`.
    pub(crate) fn start() -> Browser {
        let program = std::env::var("CHROMIUM").unwrap_or_else(|_| "chromium".into());
        let profile =
            std::env::temp_dir().join(format!("locksley-chromium-{}", std::process::id()));
        // Chromium reads from descriptor 3 and writes to 4.
        let mut child = Command::new("sh")
            .args([
                "-c",
                "exec \"$0\" \"$@\" 3<&0 4>&1 1>&2 0</dev/null",
                &program,
            ])
            .args(FLAGS)
            .arg(format!("--user-data-dir={}", profile.display()))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("a shell starts");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            for message in output.split(0) {
                let Ok(message) = message else { break };
                let Ok(message) = serde_json::from_slice(&message) else {
                    continue;
                };
                if sender.send(message).is_err() {
                    break;
                }
            }
        });
        let input = RefCell::new(child.stdin.take());
        let (events, next, session) = (RefCell::default(), Cell::new(1), RefCell::new(None));
        let browser = Browser {
            child,
            input,
            messages,
            events,
            next,
            session,
            profile,
        };
        browser.open_tab();
        browser
    }

    fn open_tab(&self) {
        let target = self.call("Target.createTarget", json!({"url": "about:blank"}));
        let session = self.call(
            "Target.attachToTarget",
            json!({"targetId": target["targetId"], "flatten": true}),
        );
        *self.session.borrow_mut() = session["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            self.call(&format!("{domain}.enable"), json!({}));
        }
    }

    /// Calls a method and waits for its result.
    pub(crate) fn call(&self, method: &str, parameters: Value) -> Value {
        let id = self.next.replace(self.next.get() + 1);
        let mut message = json!({"id": id, "method": method, "params": parameters});
        if let Some(session) = &*self.session.borrow() {
            message["sessionId"] = json!(session);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.input
            .borrow_mut()
            .as_mut()
            .expect("the pipe is open")
            .write_all(&bytes)
            .expect("Chromium runs");
        loop {
            let answer = self.receive(method);
            if answer["id"] == json!(id) {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
            self.events.borrow_mut().push(answer);
        }
    }

    fn receive(&self, what: &str) -> Value {
        self.messages
            .recv_timeout(PATIENCE)
            .unwrap_or_else(|error| {
                panic!(
                    "{what}: no answer from Chromium ({error}); is it installed? \
                     scripts/browser-test installs it"
                )
            })
    }

    /// Waits for an event and removes it from the events so far.
    fn wait_for(&self, method: &str) {
        loop {
            let found = self
                .events
                .borrow()
                .iter()
                .position(|event| event["method"] == json!(method));
            if let Some(index) = found {
                self.events.borrow_mut().remove(index);
                return;
            }
            let event = self.receive(method);
            self.events.borrow_mut().push(event);
        }
    }

    /// Returns the events of a kind so far.
    pub(crate) fn events(&self, method: &str) -> Vec<Value> {
        let events = self.events.borrow();
        events
            .iter()
            .filter(|event| event["method"] == json!(method))
            .map(|event| event["params"].clone())
            .collect()
    }

    /// Loads a page, and waits until it is loaded.
    pub(crate) fn load(&self, url: &str) {
        self.call("Page.navigate", json!({"url": url}));
        self.wait_for("Page.loadEventFired");
    }

    /// Sets the size of the window in CSS pixels, and the theme of the system.
    pub(crate) fn emulate(&self, width: u32, height: u32, theme: &str) {
        let size = json!({
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600,
        });
        self.call("Emulation.setDeviceMetricsOverride", size);
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": theme}]});
        self.call("Emulation.setEmulatedMedia", features);
    }

    /// Evaluates a JavaScript expression.
    pub(crate) fn evaluate(&self, expression: &str) -> Value {
        let result = self.call(
            "Runtime.evaluate",
            json!({"expression": expression, "returnByValue": true}),
        );
        assert!(
            result["exceptionDetails"].is_null(),
            "{expression}: {}",
            result["exceptionDetails"]
        );
        result["result"]["value"].clone()
    }

    /// Saves a picture of the whole page.
    pub(crate) fn screenshot(&self, path: &Path) {
        let shot = self.call(
            "Page.captureScreenshot",
            json!({"captureBeyondViewport": true}),
        );
        let picture = decode(shot["data"].as_str().expect("a picture"));
        assert!(picture.starts_with(b"\x89PNG"), "{}", path.display());
        std::fs::write(path, picture).expect("the folder of screenshots can be written to");
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Closing the pipe ends Chromium; the kill is for a hanging one.
        drop(self.input.borrow_mut().take());
        for _ in 0..50 {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                break;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.profile);
    }
}

/// Decodes base 64.
fn decode(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len() * 3 / 4);
    let (mut bits, mut count) = (0u32, 0);
    for digit in text.bytes() {
        let value = match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a' + 26,
            b'0'..=b'9' => digit - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => continue,
        };
        (bits, count) = (bits << 6 | u32::from(value), count + 6);
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    bytes
}
