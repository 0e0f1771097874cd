use super::*;

#[test]
fn a_value_is_made_once_until_it_is_removed() {
    static VALUE: PerProcess<u32> = PerProcess::new();
    assert_eq!(VALUE.get(), None);
    assert_eq!(VALUE.get_or_init(|| 1), &1);
    assert_eq!(VALUE.get_or_init(|| 2), &1);
    assert_eq!(VALUE.set(3), Err(3));
    assert_eq!(VALUE.remove(), Some(&1));
    assert_eq!(VALUE.get(), None);
    assert_eq!(VALUE.set(4), Ok(()));
    assert_eq!(VALUE.get(), Some(&4));
}
