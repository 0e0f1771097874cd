//! Passwords and TLS: clear messages on errors, and no secret in them.

use std::process::Command;

use locksley_cluster::leases::{LeaseError, LeasePool, Redis, Server};

use crate::processes::{Process, check, command, small, submit_tree, this};
use crate::server::{Started, there_is, until};

#[test]
fn a_server_that_wants_a_password_says_so_and_gets_it_from_the_environment() {
    let Some(server) = Started::with(&["--requirepass", "nottingham"], "127.0.0.1") else {
        return;
    };
    let open = Server::find(Some(&server.url())).expect("it is an address");
    let denied = Redis::connect(open).expect_err("it has no password");
    assert!(matches!(denied, LeaseError::Denied(_)), "{denied:?}");
    assert!(
        denied.to_string().contains("LOCKSLEY_REDIS_PASSWORD"),
        "{denied}"
    );

    let mut program = Command::new(this());
    command(&mut program, "worker", &server.url());
    let said = Process::spawn(&mut program).end();
    assert_eq!(said.status.code(), Some(3));
    assert!(said.err.contains("requires a password"), "{}", said.err);

    let start = |role: &str, password: &str| {
        let mut program = Command::new(this());
        command(&mut program, role, &server.url());
        program.env("LOCKSLEY_REDIS_PASSWORD", password);
        Process::spawn(&mut program)
    };
    let said = start("worker", "sherwood").end();
    assert_eq!(said.status.code(), Some(3));
    assert!(
        said.err.contains("refuses access") && !said.err.contains("sherwood"),
        "{}",
        said.err
    );

    let worker = start("worker", "nottingham");
    let said = start("secret", "nottingham").end();
    assert_eq!(
        said.count("nodes"),
        small().1.nodes,
        "{}{}",
        said.out,
        said.err
    );
    let said = worker.stop();
    assert!(!said.err.contains("nottingham") && !said.out.contains("nottingham"));
}

/// Creates an authority, and a certificate by it for a server at 127.0.0.1.
fn certificates(folder: &std::path::Path) {
    let script = "set -e
        openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -days 2 -subj /CN=authority \
            -addext basicConstraints=critical,CA:TRUE
        openssl req -newkey rsa:2048 -nodes -keyout server.key -out server.csr -subj /CN=server
        printf 'subjectAltName=IP:127.0.0.1\nbasicConstraints=CA:FALSE\n' > server.ext
        openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out server.pem -days 2 -extfile server.ext
        openssl req -x509 -newkey rsa:2048 -nodes -keyout other.key -out other.pem -days 2 -subj /CN=other";
    let made = Command::new("sh")
        .args(["-c", script])
        .current_dir(folder)
        .output();
    let made = made.expect("there is a shell");
    assert!(
        made.status.success(),
        "{}",
        String::from_utf8_lossy(&made.stderr)
    );
}

#[test]
fn tls_is_checked_against_an_authority() {
    if !there_is("openssl") {
        return;
    }
    let Some(open) = Started::new() else { return };
    certificates(&open.folder);
    let file = |name: &str| open.folder.join(name).display().to_string();
    let (certificate, key, authority) = (file("server.pem"), file("server.key"), file("ca.pem"));
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("there is a port");
    let port = listener
        .local_addr()
        .expect("it has an address")
        .port()
        .to_string();
    drop(listener);
    let options = [
        "--tls-port",
        &port,
        "--tls-cert-file",
        &certificate,
        "--tls-key-file",
        &key,
        "--tls-ca-cert-file",
        &authority,
        "--tls-auth-clients",
        "no",
    ];
    let Some(server) = Started::with(&options, "127.0.0.1") else {
        return;
    };
    until("it listens", || {
        std::net::TcpStream::connect(format!("127.0.0.1:{port}")).is_ok()
    });
    let url = format!("rediss://127.0.0.1:{port}");
    let start = |role: &str, authority: &str| {
        let mut program = Command::new(this());
        command(&mut program, role, &url);
        program.env("LOCKSLEY_REDIS_CA_FILE", file(authority));
        Process::spawn(&mut program)
    };
    let said = start("worker", "other.pem").end();
    assert_eq!(said.status.code(), Some(3), "{}{}", said.out, said.err);
    assert!(
        said.err.contains("certificate") && said.err.contains("LOCKSLEY_REDIS_CA_FILE"),
        "{}",
        said.err
    );

    let worker = start("worker", "ca.pem");
    let said = start("safe", "ca.pem").end();
    assert_eq!(
        said.count("nodes"),
        small().1.nodes,
        "{}{}",
        said.out,
        said.err
    );
    worker.stop();
    // The same server has a second port without TLS, which shows the same job.
    let redis = server.connect();
    assert!(
        redis
            .status(&"safe".parse().expect("it is plain"))
            .is_ok_and(|status| status.is_some())
    );
}

#[test]
fn a_link_that_never_was_is_a_clear_error() {
    let Some(mut server) = Started::new() else {
        return;
    };
    let (tree, size) = small();
    let redis = server.connect();
    server.kill();
    let dead = Server::find(Some(&server.url())).expect("it is an address");
    let away = Redis::connect(dead).expect_err("no server is there");
    assert!(
        away.passes() && away.to_string().contains(&server.url()),
        "{away}"
    );
    // A worker may start before its server.
    let mut worker = Process::worker(&server);
    let said = worker.first_words();
    assert!(said.contains("cannot be used now"), "{said}");
    server.restart();
    until("it is back", || redis.running().is_ok());
    let job = submit_tree(&redis, tree);
    check(&redis, &job.id, size);
    worker.stop();
}
