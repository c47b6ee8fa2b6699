//! The generated bindings against the C headers, as the C compiler reads them.
use std::process::Command;

#[rustfmt::skip]
#[path = "layout/table.rs"]
mod table;

/// Compiles and runs the program that prints what C says.
fn lines_of_c() -> String {
    let folder = env!("CARGO_TARGET_TMPDIR");
    let (source, program) = (format!("{folder}/layout.c"), format!("{folder}/layout"));
    std::fs::write(&source, table::PROGRAM).unwrap();
    let include = concat!("-I", env!("HEADRACE_INCLUDE"));
    let built = Command::new("cc").args([include, &source, "-o", &program]).status().unwrap();
    assert!(built.success(), "the program of layouts does not compile");
    let output = Command::new(&program).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn sizes_offsets_and_constants_are_those_of_c() {
    let ours: String =
        table::LINES.iter().map(|(name, value)| format!("{name} {value}\n")).collect();
    assert_eq!(ours, lines_of_c());
}

#[test]
fn every_function_is_in_the_library() {
    assert!(table::functions().iter().all(|address| !address.is_null()));
}
