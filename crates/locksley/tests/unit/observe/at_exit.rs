use super::*;

#[test]
fn names_can_have_the_number_of_the_process() {
    let named = |name| with_number(name, "7");
    assert_eq!(named("trace.json"), None);
    assert_eq!(named("100%/trace%%"), None);
    assert_eq!(named("%p").as_deref(), Some("7"));
    assert_eq!(named("100%-%p.%p%").as_deref(), Some("100%-7.7%"));
}
