use super::*;

#[test]
fn lists_of_all_kinds() {
    let parse = |text| CpuList::parse(text).map(|list| list.0);
    assert_eq!(parse("0-3,8,10-11\n"), Some(vec![0, 1, 2, 3, 8, 10, 11]));
    assert_eq!(parse("5"), Some(vec![5]));
    assert_eq!(parse(" 3 , 1-2,"), Some(vec![1, 2, 3]));
    assert_eq!(parse("1,1,0-1"), Some(vec![0, 1]));
    assert_eq!(parse("0-7:1/4"), Some(vec![0, 4]));
    assert_eq!(parse("0-7:2/4,9"), Some(vec![0, 1, 4, 5, 9]));
    assert_eq!(parse(""), Some(vec![]));
    for wrong in [
        "a",
        "3-1",
        "1-",
        "-1",
        "0-99999999999",
        "1;2",
        "0-7:3",
        "0-7:1/0",
        "0x1",
    ] {
        assert_eq!(parse(wrong), None, "{wrong}");
    }
}

#[test]
fn printed_lists_parse_to_themselves() {
    for text in ["0-3,8,10-11", "7", "0,2,4", "", "0-1"] {
        assert_eq!(CpuList::parse(text).unwrap().to_string(), text);
    }
}
