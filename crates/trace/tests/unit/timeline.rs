use super::*;

#[test]
fn an_entry_fits_into_a_word() {
    let begins = Activity::ALL.map(EntryKind::Begin).into_iter();
    let ends = Activity::ALL.map(EntryKind::End);
    let moves = Arrow::ALL.map(|how| EntryKind::Moved(how, MOST_INDEX));
    for what in begins.chain(ends).chain(moves) {
        for depth in [0, 7, u16::MAX] {
            for load in [0, 9, u16::MAX] {
                let entry = Entry { what, depth, load };
                assert_eq!(Entry::from_word(entry.to_word()), entry);
            }
        }
    }
}
