use serde::{Deserialize, Serialize};

use super::{Parameters, bad_number};

/// Efficiency on one number of hosts.
///
/// ```
/// use locksley_report::ScalePoint;
///
/// let point = ScalePoint { strategy: "lifelines".into(), hosts: 1000, efficiency: 0.97 };
/// assert!(point.efficiency <= 1.0);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScalePoint {
    /// Protocol by which the hosts balance their loads.
    pub strategy: String,
    /// Number of hosts.
    pub hosts: usize,
    /// Share of the cores' time that was work.
    pub efficiency: f64,
}

/// A program on different numbers of hosts.
///
/// ```
/// use locksley_report::{ScalePoint, Scaling};
///
/// let mut scaling = Scaling::new("uts").with("latency", "1 ms");
/// for (hosts, efficiency) in [(1, 1.0), (100, 0.97), (10_000, 0.93)] {
///     let strategy = "lifelines".into();
///     scaling.points.push(ScalePoint { strategy, hosts, efficiency });
/// }
/// assert_eq!(scaling.heading(), "uts (latency = 1 ms)");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Scaling {
    /// The program.
    pub program: String,
    /// Its parameters.
    #[serde(default, skip_serializing_if = "Parameters::is_empty")]
    pub parameters: Parameters,
    /// Efficiencies by protocol and number of hosts.
    #[serde(default)]
    pub points: Vec<ScalePoint>,
}

impl Scaling {
    /// Returns a scaling without points.
    ///
    /// ```
    /// assert!(locksley_report::Scaling::new("uts").points.is_empty());
    /// ```
    pub fn new(program: impl Into<String>) -> Scaling {
        Scaling {
            program: program.into(),
            ..Scaling::default()
        }
    }

    /// Adds a parameter.
    ///
    /// ```
    /// let scaling = locksley_report::Scaling::new("uts").with("workers", 4);
    /// assert_eq!(scaling.heading(), "uts (workers = 4)");
    /// ```
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl ToString) -> Scaling {
        self.parameters.insert(name.into(), value.to_string());
        self
    }

    /// Returns the program with its parameters.
    ///
    /// ```
    /// assert_eq!(locksley_report::Scaling::new("uts").heading(), "uts");
    /// ```
    pub fn heading(&self) -> String {
        super::heading(&self.program, &self.parameters)
    }

    /// Returns the chart as a stand-alone picture with its legend, or `None` if there is nothing to
    /// draw.
    ///
    /// ```
    /// use locksley_report::{ScalePoint, Scaling};
    ///
    /// let mut scaling = Scaling::new("uts");
    /// assert_eq!(scaling.svg(), None);
    /// let strategy = "lifelines".into();
    /// scaling.points.push(ScalePoint { strategy, hosts: 10, efficiency: 0.9 });
    /// assert!(scaling.svg().unwrap().contains("lifelines"));
    /// ```
    pub fn svg(&self) -> Option<String> {
        crate::charts::scaling_alone(self)
    }

    pub(crate) fn fault(&self) -> Option<String> {
        bad_number("points", self.points.iter().map(|point| point.efficiency))
    }
}
