//! Finds libheadrace; `src/lib.rs` says where.
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn main() {
    for name in ["HEADRACE_DIR", "HEADRACE_SOURCE", "DOCS_RS"] {
        println!("cargo:rerun-if-env-changed={name}");
    }
    if env::var_os("DOCS_RS").is_some() {
        return;
    }
    if let Some(folder) = folder_of("HEADRACE_DIR") {
        link(&folder);
    } else if let Err(error) = ask_pkg_config() {
        if let Some(folder) = folder_of("HEADRACE_SOURCE") {
            return link(&build(&folder));
        }
        panic!(
            "libheadrace was not found: set HEADRACE_DIR to the folder where Headrace is \
             installed, or HEADRACE_SOURCE to its sources, or PKG_CONFIG_PATH to the folder of \
             headrace.pc ({error})"
        );
    }
}

/// The folder that an environment variable names, if it is set.
fn folder_of(variable: &str) -> Option<PathBuf> {
    let given = PathBuf::from(env::var_os(variable)?);
    match fs::canonicalize(&given) {
        Ok(folder) => Some(folder),
        Err(error) => panic!("{variable} is {}: {error}", given.display()),
    }
}

/// Links the library of an installation.
fn link(prefix: &Path) {
    let folders = ["lib", "lib64"].map(|name| prefix.join(name));
    let has_library = |folder: &&PathBuf| {
        ["libheadrace.so", "libheadrace.dylib", "headrace.lib"]
            .iter()
            .any(|name| folder.join(name).exists())
    };
    let Some(folder) = folders.iter().find(has_library) else {
        panic!(
            "there is no libheadrace in {}/lib; HEADRACE_DIR is the folder that `cmake --install` \
             was given as --prefix",
            prefix.display()
        );
    };
    println!("cargo:rustc-link-search=native={}", folder.display());
    println!("cargo:rustc-link-lib=dylib=headrace");
    tell(folder, &prefix.join("include"));
}

/// Values for the build scripts of crates that depend on this one (`DEP_HEADRACE_LIB`, …), and the
/// headers for this crate's tests.
fn tell(library: &Path, include: &Path) {
    println!("cargo:lib={}", library.display());
    println!("cargo:include={}", include.display());
    println!("cargo:rustc-env=HEADRACE_INCLUDE={}", include.display());
    println!("cargo:rustc-link-arg=-Wl,-rpath,{}", library.display());
}

fn ask_pkg_config() -> Result<(), pkg_config::Error> {
    let found = pkg_config::Config::new().probe("headrace")?;
    if let (Some(library), Some(include)) = (found.link_paths.first(), found.include_paths.first())
    {
        tell(library, include);
    }
    Ok(())
}

/// Builds and installs the sources below OUT_DIR, and returns the folder of the installation.
fn build(source: &Path) -> PathBuf {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let (work, prefix) = (out.join("build"), out.join("installed"));
    cmake(Command::new("cmake").arg("-S").arg(source).arg("-B").arg(&work).args([
        "-DCMAKE_BUILD_TYPE=Release",
        "-DHEADRACE_TESTS=OFF",
        "-DHEADRACE_TOOLS=OFF",
    ]));
    let jobs = env::var("NUM_JOBS").unwrap_or_else(|_| "1".to_owned());
    cmake(Command::new("cmake").arg("--build").arg(&work).args(["--parallel", &jobs]));
    cmake(Command::new("cmake").arg("--install").arg(&work).arg("--prefix").arg(&prefix));
    println!("cargo:rerun-if-changed={}", source.display());
    prefix
}

fn cmake(command: &mut Command) {
    match command.status() {
        Ok(status) if status.success() => {}
        Ok(status) => panic!("{command:?} has failed: {status}"),
        Err(error) => panic!("cannot start cmake to build HEADRACE_SOURCE: {error}"),
    }
}
