//! Steal-half: theorems 3.9 and 3.10 of Hendler and Shavit's "Non-Blocking Steal-Half Work Queues".

use locksley_policy::{Amount, LastLoad, Mu, Source, When, other};

use super::balanced_system::{Items, load_ratio};
use super::{Effort, Finding};
use crate::CounterRng;
use crate::engine::Extended;

pub(super) fn check(effort: Effort) -> Vec<Finding> {
    let mut findings = balance(effort);
    findings.extend(balance_of_deques(effort));
    findings.push(range(effort));
    findings
}

/// Number of items of a process at the start.
const START: usize = 20;

/// Runs a system whose processes have [`START`] items each and balance by a rule of steal-half. See
/// [`load_ratio`].
fn ratio<I: Items + Default>(count: usize, steps: u64, when: When, amount: Amount) -> f64 {
    const SEED: u64 = 7;
    let process = |_| {
        let mut items = I::default();
        (0..START).for_each(|_| items.push());
        items
    };
    let mut since = vec![LastLoad::default(); count];
    let mut balanced = vec![u64::MAX; count];
    let balance = |processes: &mut [I], step: u64, draw: &mut CounterRng| {
        let first = draw.below(count);
        for p in (first..count).chain(0..first) {
            let mut draw = CounterRng::at(SEED ^ 1, p, step);
            if !when.should_balance(&mut since[p], processes[p].len(), &mut draw) {
                continue;
            }
            // As in the analysis, a process takes part in at most one balancing per step.
            let Some(q) = other(p, count, &mut draw) else {
                continue;
            };
            if balanced[p] == step || balanced[q] == step {
                continue;
            }
            let pair = processes.get_disjoint_mut([p, q]);
            if pair.is_ok_and(|[thief, victim]| thief.steal(victim, amount)) {
                (balanced[p], balanced[q]) = (step, step);
            }
        }
    };
    load_ratio((0..count).map(process).collect(), steps, SEED, balance)
}

/// Theorem 3.9: the ratio does not grow with the number of processes. If processes steal one item
/// when they are empty, it does.
fn balance(effort: Effort) -> Vec<Finding> {
    let counts = effort.choose(&[16, 64, 256][..], &[16, 64, 256, 1024, 4096]);
    let steps = effort.choose(3000, 8000);
    let mut findings = Vec::new();
    for mu in [1.0, 0.5] {
        let when = Mu::new(mu).map_or(When::PROBABILISTIC, |mu| When::Probabilistic { mu });
        let ratios: Vec<f64> = (counts.iter())
            .map(|&count| ratio::<usize>(count, steps, when, Amount::Difference))
            .collect();
        // The item that comes in per step goes out through the mu / load attempts of each of the
        // others, each of which takes half of the difference.
        let predicted = 2.0 / mu + 1.0;
        let most = ratios.iter().copied().fold(0.0, f64::max);
        let shown: Vec<String> = ratios.iter().map(|ratio| format!("{ratio:.2}")).collect();
        findings.push(
            Finding::new(format!(
                "theorem 3.9, mu {mu}: load of a process that gets 1 item a step, over the mean"
            ))
            .sampled(format!(
                "{counts:?} processes, {steps} steps; up to a factor of 2"
            ))
            .says(
                format!("about 1 + 2 / mu = {predicted:.1} for all counts"),
                shown.join(" "),
                most <= 2.0 * predicted && ratios.last() <= Some(&(1.5 * ratios[0].max(predicted))),
            ),
        );
    }
    findings.push(stealing_one(effort));
    findings
}

/// Theorem 3.9 on deques. The steal range may limit a process to a fourth of the difference, so the
/// constant is larger than that of a vector of loads by up to a factor of four.
///
/// The theorem is about probabilistic balancing. If processes balance when their load has changed
/// by a factor, there is no constant: a process tries again only when its load has doubled or
/// halved, so the number of attempts of all processes together in a step is below a constant that
/// does not depend on their number. One of n - 1 attempts selects the process that pushes, and
/// takes at most half of its items. So the load of that process levels off at a value that is
/// proportional to n, after a number of steps that is proportional to n.
fn balance_of_deques(effort: Effort) -> Vec<Finding> {
    let counts = effort.choose(&[16, 64, 256][..], &[16, 64, 256, 1024, 4096]);
    let steps = effort.choose(3000, 8000);
    let ratios = |steps: &dyn Fn(usize) -> u64, when, amount| -> Vec<f64> {
        (counts.iter())
            .map(|&count| ratio::<Extended<()>>(count, steps(count), when, amount))
            .collect()
    };
    let finding = |name: &str, sample: String, predicted: &str, ratios: &[f64], holds| {
        let shown: Vec<String> = ratios.iter().map(|ratio| format!("{ratio:.2}")).collect();
        Finding::new(format!(
            "theorem 3.9 on extended deques, {name}: load of a process that pushes 1 item a step"
        ))
        .sampled(format!("{counts:?} processes, {sample}"))
        .says(predicted, shown.join(" "), holds)
    };
    let bounded = [("mu 1", Amount::Difference), ("mu 1, half", Amount::Half)];
    let mut findings: Vec<Finding> = (bounded.into_iter())
        .map(|(name, amount)| {
            let ratios = ratios(&|_| steps, When::PROBABILISTIC, amount);
            let most = ratios.iter().copied().fold(0.0, f64::max);
            let holds = most <= 12.0 && ratios.last() <= Some(&(2.0 * ratios[0].max(3.0)));
            let predicted = "a constant for all counts, below 4 (1 + 2)";
            finding(name, format!("{steps} steps"), predicted, &ratios, holds)
        })
        .collect();
    let ratios = ratios(
        &|count| 200 * count as u64,
        When::FACTOR,
        Amount::Difference,
    );
    findings.push(finding(
        "when the load has doubled or halved",
        "200 steps for each process".to_string(),
        "no constant: more than doubles with four times as many processes",
        &ratios,
        ratios.windows(2).all(|pair| pair[1] > 2.0 * pair[0]),
    ));
    findings
}

/// If processes steal one item when they are empty, items accumulate at the process that gets them:
/// there is no constant for all numbers of processes.
fn stealing_one(effort: Effort) -> Finding {
    let counts = effort.choose(&[16, 64][..], &[16, 64, 256]);
    let steps = effort.choose(3000, 20_000);
    let ratios: Vec<f64> = (counts.iter())
        .map(|&count| ratio::<usize>(count, steps, When::Empty, Amount::One))
        .collect();
    let shown: Vec<String> = ratios.iter().map(|ratio| format!("{ratio:.2}")).collect();
    Finding::new("the same, if processes steal one item when they are empty")
        .sampled(format!("{counts:?} processes, {steps} steps"))
        .says(
            "no constant: grows with n",
            shown.join(" "),
            ratios.windows(2).all(|pair| pair[1] > 2.0 * pair[0]),
        )
}

/// Theorem 3.10: at least an eighth of the items can be stolen at once.
fn range(effort: Effort) -> Finding {
    let operations = effort.choose(100_000, 5_000_000);
    let mut deques = [Extended::default(), Extended::default()];
    let mut least = f64::INFINITY;
    let mut pushing = true;
    for operation in 0..operations {
        let mut draw = CounterRng::at(8, 0, operation);
        let p = draw.below(2);
        // Long runs of pushes and of pops, so that many lengths occur.
        if draw.below(500) == 0 {
            pushing = !pushing;
        }
        match draw.below(10) {
            0..7 if pushing => deques[p].push(operation),
            0..7 => drop(deques[p].pop()),
            7..9 => drop(deques[p].pop()),
            _ => {
                let own = deques[p].len();
                let amount = [Amount::Half, Amount::Difference][draw.below(2)];
                let stolen: Vec<u64> = deques[1 - p].steal(amount, own).collect();
                if !stolen.is_empty() {
                    deques[p].receive(stolen.into_iter());
                }
            }
        }
        for deque in &deques {
            if deque.len() > 0 {
                least = least.min(deque.range() as f64 / deque.len() as f64);
            }
        }
    }
    Finding::new("theorem 3.10: steal range over the length of an extended deque")
        .sampled(format!(
            "{operations} random operations on two deques; no exception"
        ))
        .says(">= 1/8", format!(">= {least:.4}"), least >= 0.125)
}
