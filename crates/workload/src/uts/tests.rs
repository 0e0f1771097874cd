use super::*;
use crate::Serial;

/// Searches on a stack that is deep enough for T3 without optimisation.
fn search(tree: UtsTree) -> Size {
    let search = move || {
        let mut uts = Uts::new(tree);
        let size = uts.task().run(Serial);
        assert_eq!(uts.check(size), Ok(()));
        size
    };
    let deep = std::thread::Builder::new().stack_size(64 << 20);
    deep.spawn(search).unwrap().join().unwrap()
}

#[test]
fn small_trees_of_every_kind_are_searched() {
    for seed in 0..5 {
        search(UtsTree::binomial(20.0, 0.2, 4, seed));
        search(UtsTree::hybrid(Shape::Linear, 6, 2.0, 0.2, 4, seed));
        for shape in [Shape::Linear, Shape::Fixed] {
            let size = search(UtsTree::geometric(shape, 5, 2.0, seed));
            assert!(size.depth <= 5 && size.leaves <= size.nodes);
        }
        search(UtsTree::geometric(Shape::Cyclic, 2, 1.1, seed));
    }
}

#[test]
fn a_hybrid_tree_is_geometric_above_and_binomial_below() {
    // From half of the depth limit on a node has four children or none; above, any number.
    let tree = UtsTree::hybrid(Shape::Linear, 6, 4.0, 0.2, 4, 1);
    let (mut nodes, mut above) = (vec![tree.root()], Vec::new());
    let mut below = 0;
    while let Some(node) = nodes.pop() {
        let children = tree.children(&node);
        if node.depth() < 3 {
            above.push(children);
        } else {
            assert!(children == 0 || children == 4, "{children}");
            below += 1;
        }
        nodes.extend((0..children).map(|number| node.child(number)));
    }
    assert!(
        above.iter().any(|count| ![0, 4].contains(count)),
        "{above:?}"
    );
    assert!(below > 100, "{below}");
}

#[test]
fn shapes_have_the_published_branching_factors() {
    let at = |shape, depth| UtsTree::geometric(shape, 16, 4.0, 1).branching_at(depth);
    for shape in [
        Shape::Linear,
        Shape::Exponential,
        Shape::Cyclic,
        Shape::Fixed,
    ] {
        assert_eq!(at(shape, 0), 4.0);
    }
    assert_eq!((at(Shape::Linear, 4), at(Shape::Linear, 16)), (3.0, 0.0));
    // 4 h^(-ln 4 / ln 16) = 4 / sqrt(h).
    assert!((at(Shape::Exponential, 4) - 2.0).abs() < 1e-12);
    assert_eq!((at(Shape::Fixed, 15), at(Shape::Fixed, 16)), (4.0, 0.0));
    // 4^sin(2 pi h / 16).
    assert!((at(Shape::Cyclic, 4) - 4.0).abs() < 1e-12);
    assert!((at(Shape::Cyclic, 12) - 0.25).abs() < 1e-12);
    assert!(at(Shape::Cyclic, 80) > 0.0 && at(Shape::Cyclic, 81) == 0.0);
}

#[test]
fn every_name_of_the_literature_is_known() {
    for name in ["T1", "T2", "T3", "T4", "T5", "T1L", "T2L", "T3L", "T1XL"] {
        assert!(UtsTree::published(name).is_some(), "{name}");
    }
    assert_eq!(UtsTree::published("T0"), None);
}

#[test]
#[ignore = "slow without optimisation; run with --release"]
fn trees_of_four_million_nodes_have_their_published_sizes() {
    for name in ["T1", "T2", "T3", "T4", "T5"] {
        let (tree, size) = UtsTree::published_with_size(name).unwrap();
        assert_eq!(search(tree), size, "{name}");
    }
}

#[test]
#[ignore = "minutes; run with --release"]
fn trees_of_a_hundred_million_nodes_have_their_published_sizes() {
    for name in ["T1L", "T2L", "T3L"] {
        let (tree, size) = UtsTree::published_with_size(name).unwrap();
        assert_eq!(Uts::new(tree).size(), size, "{name}");
    }
}
