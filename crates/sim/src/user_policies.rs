//! User-defined policies, one for each processor.

use std::fmt;
use std::sync::Arc;

use locksley_policy::{Balancer, Donor, Mixed, Theta};

/// Creates the policy of the processor with this number.
type Make<T> = Arc<dyn Fn(usize) -> Box<T> + Send + Sync>;

/// A user-defined choice of victims: a constructor that is called for each processor, and the
/// probability with which the balancer is asked.
///
/// ```
/// use locksley_policy::{Balancer, Actor, Source, Theta, View};
/// use locksley_sim::{Setup, Strategy};
///
/// struct First;
///
/// impl Balancer for First {
///     fn choose(&mut self, _: Actor, _: &dyn View, _: &mut dyn Source) -> Option<usize> {
///         Some(0)
///     }
/// }
///
/// let setup = Setup::new(8, Strategy::SemiPrivate).balancer(Theta::HALF, |_| First);
/// assert_eq!(setup.balancer.map(|own| own.theta()), Some(Theta::HALF));
/// ```
#[derive(Clone)]
pub struct UserBalancer {
    theta: Theta,
    make: Make<dyn Balancer + Send>,
}

impl UserBalancer {
    pub(crate) fn new<B>(theta: Theta, make: impl Fn(usize) -> B + Send + Sync + 'static) -> Self
    where
        B: Balancer + Send + 'static,
    {
        UserBalancer {
            theta,
            make: Arc::new(move |p| Box::new(make(p))),
        }
    }

    /// Returns the probability with which the balancer is asked.
    pub fn theta(&self) -> Theta {
        self.theta
    }

    /// Creates the balancers of `count` processors.
    pub(crate) fn make(&self, count: usize) -> Vec<Mixed<Box<dyn Balancer + Send>>> {
        let mixed = |p| Mixed {
            theta: self.theta,
            balancer: (self.make)(p),
        };
        (0..count).map(mixed).collect()
    }
}

impl fmt::Debug for UserBalancer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("UserBalancer");
        shown.field("theta", &self.theta).finish_non_exhaustive()
    }
}

/// Two balancers are equal if one is a clone of the other.
impl PartialEq for UserBalancer {
    fn eq(&self, other: &UserBalancer) -> bool {
        self.theta == other.theta && Arc::ptr_eq(&self.make, &other.make)
    }
}

/// A user-defined choice of when and to whom to give: a constructor that is called for each
/// processor.
///
/// ```
/// use locksley_policy::Target;
/// use locksley_sim::{Setup, Strategy};
///
/// let setup = Setup::new(8, Strategy::LockFree).donor(|_| Target::Random);
/// assert!(setup.check().unwrap_err().to_string().contains("does not ask a donor"));
/// ```
#[derive(Clone)]
pub struct UserDonor {
    make: Make<dyn Donor + Send>,
}

impl UserDonor {
    pub(crate) fn new<D>(make: impl Fn(usize) -> D + Send + Sync + 'static) -> UserDonor
    where
        D: Donor + Send + 'static,
    {
        UserDonor {
            make: Arc::new(move |p| Box::new(make(p))),
        }
    }

    /// Creates the donors of `count` processors.
    pub(crate) fn make(&self, count: usize) -> Vec<Box<dyn Donor + Send>> {
        (0..count).map(|p| (self.make)(p)).collect()
    }
}

impl fmt::Debug for UserDonor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UserDonor").finish_non_exhaustive()
    }
}

/// Two donors are equal if one is a clone of the other.
impl PartialEq for UserDonor {
    fn eq(&self, other: &UserDonor) -> bool {
        Arc::ptr_eq(&self.make, &other.make)
    }
}
