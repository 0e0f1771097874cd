//! Texts that name strategies and policies: a parsed value is printed as a text that parses to the
//! same value.
#![no_main]

use std::fmt::{Debug, Display};
use std::str::FromStr;

use libfuzzer_sys::fuzz_target;
use locksley::Pinning;
use locksley_policy::rank::Protocol;
use locksley_policy::{
    Amount, DealRule, Dealing, Heuristic, Lifelines, Sharing, StealHalf, Theta, Tuning, Victims,
    victims::Flexible, when::When,
};

fn comes_back<T: FromStr + Display + Debug + PartialEq>(text: &str) {
    let Ok(value) = text.parse::<T>() else {
        return;
    };
    let printed = value.to_string();
    match printed.parse::<T>() {
        Ok(again) => assert_eq!(again, value, "{printed}"),
        Err(_) => panic!("`{text}` is {value:?}, which is printed as `{printed}`"),
    }
}

fuzz_target!(|text: &str| {
    comes_back::<locksley::Strategy>(text);
    comes_back::<locksley_sim::Strategy>(text);
    comes_back::<Pinning>(text);
    comes_back::<Amount>(text);
    comes_back::<Dealing>(text);
    comes_back::<Flexible>(text);
    comes_back::<Heuristic>(text);
    comes_back::<Lifelines>(text);
    comes_back::<DealRule>(text);
    comes_back::<Protocol>(text);
    comes_back::<Sharing>(text);
    comes_back::<StealHalf>(text);
    comes_back::<Theta>(text);
    comes_back::<Tuning>(text);
    comes_back::<Victims>(text);
    comes_back::<When>(text);
});
