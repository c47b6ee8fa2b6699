package headrace

// #cgo pkg-config: headrace
// #include "callbacks.h"
import "C"

import (
	"encoding/json"
	"fmt"
	"log/slog"
)

// Env holds what the models, sessions and groups of a program share: memory, log, clock, threads,
// operators. Several goroutines may use it. Two envs are independent of each other.
//
// What is made with an env keeps it alive, so the env may be closed first.
type Env struct{ object *object[*C.hr_env] }

// EnvOptions are the options of an env. The zero value means defaults.
type EnvOptions struct {
	Threads   int          // the most threads that compute at one time; 0: one per processor
	Log       *slog.Logger // gets the library's messages; nil: they are dropped
	Clock     Clock        // nil: the system's monotonic clock
	Executor  Executor     // nil: threads of the library
	Allocator Allocator    // nil: malloc
	CostTable string       // a file of `headrace roof --costs`, by which plans are chosen; "": none
}

// Version returns the version of the library and what its build contains, such as
// "0.1.0 +onednn".
func Version() string { return C.GoString(C.hr_version_text()) }

// LibraryAPIVersion returns the version of the interface that the library has:
// 10000 * major + 100 * minor.
func LibraryAPIVersion() int { return int(C.hr_api_version()) }

// Fails if the library cannot serve what this package was built for.
func checkVersion(library, package_ int) error {
	if library/10000 == package_/10000 && library >= package_ {
		return nil
	}
	return &Error{Code: FailedPrecondition, Message: fmt.Sprintf(
		"this package was built for version %s of the interface, and the library that was loaded has %s; "+
			"install a library of the same major version that is not older, or build the program again",
		versionText(package_), versionText(library))}
}

func versionText(version int) string {
	return fmt.Sprintf("%d.%d", version/10000, version/100%100)
}

// NewEnv creates an env. The options may be nil, which means defaults.
func NewEnv(options *EnvOptions) (*Env, error) {
	if err := checkVersion(LibraryAPIVersion(), APIVersion); err != nil {
		return nil, err
	}
	if options == nil {
		options = &EnvOptions{}
	}
	var lent loan
	defer lent.end()
	c := C.hr_env_options{struct_size: C.sizeof_hr_env_options, threads: lent.number("Threads", options.Threads),
		cost_table: lent.optional(options.CostTable)}
	if lent.failure != nil {
		return nil, lent.failure
	}
	services := lendServices(&lent, &c, options)
	var env *C.hr_env
	if err := failure(C.hr_env_create(&c, &env)); err != nil {
		services.drop()
		return nil, err
	}
	out := new(Env)
	return own(out, &out.object, env, "env", true, func(p *C.hr_env) { C.hr_env_release(p) }), nil
}

// Close releases the env. If it is the last reference, it waits for callbacks that are running.
// It may be called any number of times, also while other goroutines use the env.
func (e *Env) Close() error {
	e.object.close()
	return nil
}

// LoadPlugin loads a plugin by its name ("cuda") or path and adds its backends and transports to
// the env. It must be called before the env's first model or group, while no other goroutine uses
// the env.
func (e *Env) LoadPlugin(nameOrPath string) error {
	var lent loan
	defer lent.end()
	env, name := borrow(&lent, e.object), lent.text(nameOrPath)
	if lent.failure != nil {
		return lent.failure
	}
	return failure(C.hr_env_load_plugin(env, name))
}

// Describe returns devices, plugins, threads, transports and operators as JSON.
func (e *Env) Describe() (json.RawMessage, error) {
	env, err := e.object.use()
	if err != nil {
		return nil, err
	}
	defer e.object.done()
	var text *C.hr_text
	return described(C.hr_env_describe(env, &text), text)
}
