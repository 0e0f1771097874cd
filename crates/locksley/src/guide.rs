#![doc = include_str!("../docs/guide/README.md")]

macro_rules! pages {
    ($($page:ident: $file:literal;)*) => {
        $(
            pub mod $page {
                #![doc = include_str!(concat!("../docs/guide/", $file))]

                #[allow(unused_imports, reason = "what the page links to")]
                use crate::*;
            }
        )*
    };
}

pages! {
    first_steps: "first_steps.md";
    from_rayon: "from_rayon.md";
    waiting: "waiting.md";
    loops: "loops.md";
    from_rayon_iterators: "from_rayon_iterators.md";
    loops_on_more_cores: "loops_on_more_cores.md";
    dataflow: "dataflow.md";
    strategies: "strategies.md";
    observing: "observing.md";
    more_cores: "more_cores.md";
    several_hosts: "several_hosts.md";
    promises: "promises.md";
    inside: "inside.md";
}
