use super::*;

#[test]
fn names_parse_and_print_back() {
    for text in ["none", "compact", "spread", "0", "3,1", "0-3,8"] {
        assert_eq!(text.parse::<Pinning>().unwrap().to_string(), text);
    }
    for text in ["", "tight", "3-1", "1,x"] {
        let error = text.parse::<Pinning>().unwrap_err().to_string();
        assert!(error.contains("possible are none, compact"), "{error}");
    }
}

#[test]
fn cpus_are_dealt_round() {
    let topology = Topology::from_listing(
        "cpu/online:0-3\n\
         cpu/cpu0/topology/package_cpus_list:0-1\n\
         cpu/cpu2/topology/package_cpus_list:2-3\n",
    );
    let allowed = [0, 1, 2, 3];
    let dealt = |pinning, workers| deal(&pinning, workers, &allowed, &topology).unwrap();
    assert_eq!(dealt(Pinning::Compact, 6), [0, 1, 2, 3, 0, 1]);
    assert_eq!(dealt(Pinning::Spread, 3), [0, 2, 1]);
    assert_eq!(dealt(Pinning::List(vec![3, 1]), 3), [3, 1, 3]);
    assert_eq!(dealt(Pinning::None, 3), [0; 0]);
}

#[test]
fn a_cpu_outside_of_the_mask_is_an_error_that_names_it_and_the_others() {
    let topology = Topology::from_listing("cpu/online:0-7\n");
    let error = deal(&Pinning::List(vec![2, 5]), 2, &[0, 1, 2], &topology).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("CPU 5") && text.contains("0-2"), "{text}");
    let error = deal(&Pinning::List(vec![]), 2, &[0, 1, 2], &topology).unwrap_err();
    assert!(error.to_string().contains("at least one of 0-2"), "{error}");
}
