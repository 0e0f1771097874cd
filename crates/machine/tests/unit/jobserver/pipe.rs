use std::os::fd::{AsRawFd, FromRawFd};

use super::*;
use crate::jobserver::Token;

#[test]
fn flags_tell_where_the_pipe_is() {
    let descriptor = |read| Some(Address::Descriptors(read, read + 1));
    assert_eq!(address(" -j8 --jobserver-auth=3,4"), descriptor(3));
    assert_eq!(address("n --jobserver-fds=5,6 -j"), descriptor(5));
    let both = "--jobserver-fds=3,4 --jobserver-auth=fifo:/tmp/GMfifo7 -- A=--jobserver-auth=9,9";
    assert_eq!(address(both), Some(Address::Path("/tmp/GMfifo7")));
    for none in [
        "",
        "k",
        "-j1",
        "--jobserver-auth=-2,-2",
        "--jobserver-auth=3",
    ] {
        assert_eq!(address(none), None, "{none}");
    }
}

/// Creates a pipe, and returns both ends.
fn pipe(flags: c_int) -> [File; 2] {
    let mut ends = [0; 2];
    // SAFETY: there is room for two descriptors; each is then owned by one file.
    unsafe {
        assert_eq!(libc::pipe2(ends.as_mut_ptr(), flags), 0);
        ends.map(|end| File::from_raw_fd(end))
    }
}

fn address_of([read, write]: &[File; 2]) -> Address<'static> {
    Address::Descriptors(read.as_raw_fd(), write.as_raw_fd())
}

/// Creates a pipe with these bytes in it, and a jobserver that has opened it by its descriptor.
fn piped(bytes: &[u8]) -> (File, Jobserver) {
    let ends = pipe(0);
    let jobserver = Jobserver::open(address_of(&ends));
    let [read, write] = ends;
    (&write).write_all(bytes).expect("a pipe has room");
    (read, jobserver.expect("it is a pipe"))
}

#[test]
fn what_is_taken_is_given_back() {
    let (mut pipe, jobserver) = piped(b"+*");
    let jobserver: &'static Jobserver = Box::leak(Box::new(jobserver));
    let mut tokens: Vec<Token> = (0..4).map(|_| Token::of(Some(jobserver))).collect();
    // The process's own job, and two bytes.
    let held = tokens.iter_mut().map(Token::take);
    assert_eq!(held.collect::<Vec<_>>(), [true, true, true, false]);
    assert!(tokens[0].take(), "it is held");
    assert_eq!(jobserver.jobs(), 3);
    tokens[1].put_back();
    tokens[1].put_back();
    assert!(tokens[3].take() && !tokens[1].take());
    drop(tokens);
    assert_eq!(jobserver.jobs(), 1);
    let mut left = [0; 2];
    pipe.read_exact(&mut left).expect("both bytes are there");
    left.sort_unstable();
    assert_eq!(&left, b"*+");
}

#[test]
fn a_forked_process_has_none_of_its_parents_jobs() {
    let (_pipe, mut jobserver) = piped(b"+");
    assert!(jobserver.take() && jobserver.take());
    jobserver.put_back();
    jobserver.put_back();
    jobserver.generation = jobserver.generation.wrapping_sub(1);
    assert!(!jobserver.take());
    jobserver
        .tokens
        .get_mut()
        .expect("no panic")
        .taken
        .push(b'+');
    assert_eq!(jobserver.jobs(), 1);
}

#[test]
fn what_is_no_pipe_is_left_alone() {
    let file = File::open("/proc/self/stat").expect("Linux has it");
    let number = file.as_raw_fd();
    assert!(Jobserver::open(Address::Descriptors(number, number)).is_none());
    // The program's own pipe, at the descriptors where make's would be if it had been passed on.
    let own = pipe(libc::O_CLOEXEC);
    assert!(Jobserver::open(address_of(&own)).is_none());
    assert!(Jobserver::open(Address::Path("/proc/self/stat")).is_none());
    assert!(Jobserver::open(Address::Path("/no such file")).is_none());
}

#[test]
fn without_a_jobserver_every_token_can_be_had() {
    let mut token = Token::of(None);
    assert!(token.take());
    token.put_back();
    assert!(token.take());
}
