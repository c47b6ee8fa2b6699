//! The C interface of Headrace as it is; the crate `headrace` is a safe one.
//!
//! `src/generated.rs` is made from the description of the C headers, whose comments are the
//! documentation here, too. The build looks for the library in this order:
//!
//! 1. `HEADRACE_DIR`: the folder where Headrace is installed (`lib/libheadrace.so`).
//! 2. pkg-config, which knows a Headrace that is installed in the system.
//! 3. `HEADRACE_SOURCE`: a folder with the sources of Headrace, which CMake builds.
//!
//! Nothing is downloaded. With `DOCS_RS` in the environment the library is not looked for, so that
//! documentation can be built without it.
#![allow(non_camel_case_types)]
// The comments are those of the C headers, which a constant or a field may do without.
#![allow(missing_docs, clippy::doc_lazy_continuation, clippy::doc_overindented_list_items)]

include!("generated.rs");
