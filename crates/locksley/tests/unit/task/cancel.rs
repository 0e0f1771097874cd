use super::*;

#[test]
fn a_token_is_cancelled_with_any_ancestor() {
    let tokens: Vec<CancelToken> =
        std::iter::successors(Some(CancelToken::new()), |last| Some(last.child()))
            .take(5)
            .collect();
    tokens[2].cancel();
    let cancelled: Vec<bool> = tokens.iter().map(CancelToken::is_cancelled).collect();
    assert_eq!(cancelled, [false, false, true, true, true]);
}

#[test]
fn a_long_line_of_descendants_is_dropped_without_recursion() {
    let mut token = CancelToken::new();
    for _ in 0..1_000_000 {
        token = token.child();
    }
    assert!(!token.is_cancelled());
}
