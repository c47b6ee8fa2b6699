//! Libraries of other versions are refused. A library that says another version is put before the
//! real one in a process of its own.
use std::process::Command;

use headrace::{library_version, version_text, Code, Env};

const SAYS: &str = "HEADRACE_TEST_SAYS_VERSION";

/// The part of the test that runs in the other process.
#[test]
fn in_a_process_with_another_library() {
    if std::env::var(SAYS).is_err() {
        return;
    }
    let error = Env::new().unwrap_err();
    assert_eq!(error.code(), Code::FAILED_PRECONDITION);
    println!("{error}");
}

fn message_of(version: u32) -> String {
    let library = format!("{}/says_{version}.so", env!("CARGO_TARGET_TMPDIR"));
    let source = format!("{library}.c");
    std::fs::write(&source, format!("unsigned hr_api_version(void) {{ return {version}; }}\n"))
        .unwrap();
    let built = Command::new("cc").args(["-shared", "-fPIC", &source, "-o", &library]).status();
    assert!(built.unwrap().success());
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "in_a_process_with_another_library", "--nocapture"])
        .envs([("LD_PRELOAD", library.as_str()), (SAYS, "1")])
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{printed}");
    printed
}

#[cfg(target_os = "linux")]
#[test]
fn older_and_newer_libraries_are_refused() {
    let older = message_of(0);
    assert!(older.contains("a library of version 0.0; install a newer library"), "{older}");
    let newer = message_of(20300);
    assert!(
        newer.contains("a library of version 2.3; use a newer version of the crate"),
        "{newer}"
    );
}

#[test]
fn the_library_says_its_version() {
    assert!(library_version() >= 100);
    assert!(!version_text().is_empty());
}
