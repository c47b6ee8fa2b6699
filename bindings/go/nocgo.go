//go:build !cgo

package headrace

// This package calls the library by cgo. Set CGO_ENABLED=1 and have a C compiler; what follows is no
// declared name and makes the compiler say so.
var _ = headrace_needs_cgo_so_set_CGO_ENABLED_to_1_and_install_a_C_compiler
