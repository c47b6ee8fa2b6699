package headrace

// #include "callbacks.h"
import "C"

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
)

// Session has the variables and compiled plans of a model. Any number of goroutines may use it: runs
// that only read variables go in parallel, and a run that writes variables excludes the others.
//
// A run that fails in its update phase leaves the session tainted: later runs fail with Tainted until
// a checkpoint has been restored.
type Session struct{ object *object[*C.hr_session] }

// SessionOptions are the options of a session. The zero value means defaults.
type SessionOptions struct {
	Seed          uint64 // of initial values and of random operators
	MaxPlans      int    // the most compiled plans that are cached; 0: 64
	DisableFusion bool   // runs every node by itself, for example to find a fault
	Device        string // of nodes that name none ("TOY:0"); "": the CPU
	MaxSizes      int    // the most sizes of bounded dimensions that a plan keeps; 0: 64
	CheckMemory   bool   // fills dead memory with a pattern and verifies every plan; slower
	ExactSums     bool   // uses no algorithm that trades accuracy for speed
	MemoryLimit   uint64 // the most bytes of working memory that a plan may take; 0: no limit
	Pin           string // for developers of the library: layouts and kernels of convolutions
}

// NewSession creates a session and computes the initial values of its variables. The options may be
// nil.
func (m *Model) NewSession(ctx context.Context, options *SessionOptions) (*Session, error) {
	if options == nil {
		options = &SessionOptions{}
	}
	var lent loan
	defer lent.end()
	model := borrow(&lent, m.object)
	c := lendStruct(&lent, C.hr_session_options{struct_size: C.sizeof_hr_session_options, seed: C.uint64_t(options.Seed),
		max_plans: lent.number("MaxPlans", options.MaxPlans), disable_fusion: flag(options.DisableFusion),
		device: lent.optional(options.Device), max_sizes: lent.number("MaxSizes", options.MaxSizes),
		check_memory: flag(options.CheckMemory), exact_sums: flag(options.ExactSums),
		memory_limit: C.uint64_t(options.MemoryLimit), pin: lent.optional(options.Pin)})
	if lent.failure != nil {
		return nil, lent.failure
	}
	var session *C.hr_session
	if err := limited(ctx, func(l *C.hr_limits) *C.hr_status { return C.hr_session_create(model, c, l, &session) }); err != nil {
		return nil, err
	}
	out := new(Session)
	return own(out, &out.object, session, "session", false, func(p *C.hr_session) { C.hr_session_release(p) }), nil
}

// Calls a function with the limits of the context.
func limited(ctx context.Context, function func(*C.hr_limits) *C.hr_status) error {
	var l limits
	c, err := l.begin(ctx)
	if err != nil {
		return err
	}
	return l.end(function(c))
}

// Close closes the session: new runs fail, also those of its calls, and runs that have begun finish.
// It may be called any number of times, also while other goroutines use the session.
func (s *Session) Close() error {
	if session, err := s.object.use(); err == nil {
		C.hr_session_close(session)
		s.object.close()
		s.object.done()
	}
	return nil
}

// Trim frees the memory that cached plans keep for their next runs.
func (s *Session) Trim() {
	if session, err := s.object.use(); err == nil {
		C.hr_session_trim(session)
		s.object.done()
	}
}

// Run runs the graph once. Any values may be feeds and fetches, and any nodes targets. The result has
// one tensor for each fetch, which the caller closes.
func (s *Session) Run(ctx context.Context, feeds map[string]*Tensor, fetches []string, targets ...string) ([]*Tensor, error) {
	var lent loan
	defer lent.end()
	session := borrow(&lent, s.object)
	names := slices.Sorted(maps.Keys(feeds)) // plans are cached by the names in their order
	tensors := make([]*C.hr_tensor, len(names))
	for i, name := range names {
		if tensors[i] = lent.tensor(feeds[name]); tensors[i] == nil && lent.failure == nil {
			lent.failure = invalid("the feed '%s' is nil; give a tensor", name)
		}
	}
	feedNames, fetchNames, targetNames := lent.texts(names), lent.texts(fetches), lent.texts(targets)
	if lent.failure != nil {
		return nil, lent.failure
	}
	outputs := make([]*C.hr_tensor, len(fetches))
	err := limited(ctx, func(l *C.hr_limits) *C.hr_status {
		return C.hr_session_run(session, C.size_t(len(names)), feedNames, lend(&lent, tensors), C.size_t(len(fetches)),
			fetchNames, C.size_t(len(targets)), targetNames, l, lend(&lent, outputs))
	})
	if err != nil {
		return nil, err
	}
	return newTensors(outputs), nil
}

func newTensors(handles []*C.hr_tensor) []*Tensor {
	out := make([]*Tensor, len(handles))
	for i, handle := range handles {
		out[i] = newTensor(handle)
	}
	return out
}

// Variables returns the names of the variables.
func (s *Session) Variables() []string {
	session, err := s.object.use()
	if err != nil {
		return nil
	}
	defer s.object.done()
	out := make([]string, C.hr_session_variable_count(session))
	for i := range out {
		out[i] = C.GoString(C.hr_session_variable_name(session, C.size_t(i)))
	}
	return out
}

// Variable returns a copy of the value of a variable. It waits for runs that are in the way.
func (s *Session) Variable(ctx context.Context, name string) (*Tensor, error) {
	var lent loan
	defer lent.end()
	session, text := borrow(&lent, s.object), lent.text(name)
	if lent.failure != nil {
		return nil, lent.failure
	}
	var out *C.hr_tensor
	err := limited(ctx, func(l *C.hr_limits) *C.hr_status { return C.hr_session_get_variable(session, text, l, &out) })
	if err != nil {
		return nil, err
	}
	return newTensor(out), nil
}

// SetVariable copies a tensor into a variable, whose type and shape it must have.
func (s *Session) SetVariable(ctx context.Context, name string, value *Tensor) error {
	var lent loan
	defer lent.end()
	session, text, tensor := borrow(&lent, s.object), lent.text(name), lent.tensor(value)
	if lent.failure != nil {
		return lent.failure
	}
	return limited(ctx, func(l *C.hr_limits) *C.hr_status { return C.hr_session_set_variable(session, text, tensor, l) })
}

// Step returns the number of steps done so far: runs that write variables or draw random numbers.
func (s *Session) Step() int64 {
	session, err := s.object.use()
	if err != nil {
		return 0
	}
	defer s.object.done()
	return int64(C.hr_session_step(session))
}

// Describe returns variables, cached plans with their devices, steps and kernels, and memory as JSON.
func (s *Session) Describe() (json.RawMessage, error) {
	session, err := s.object.use()
	if err != nil {
		return nil, err
	}
	defer s.object.done()
	var text *C.hr_text
	return described(C.hr_session_describe(session, &text), text)
}

// Export writes a .hrg file for serving: the signatures and what they need, with the present values of
// the variables as initial values. The options may be nil.
func (s *Session) Export(ctx context.Context, path string, signatures []string, options *SaveOptions) error {
	var lent loan
	defer lent.end()
	session, file, names, how := borrow(&lent, s.object), lent.text(path), lent.texts(signatures), lent.save(options)
	if lent.failure != nil {
		return lent.failure
	}
	return limited(ctx, func(l *C.hr_limits) *C.hr_status {
		return C.hr_session_export(session, file, C.size_t(len(signatures)), names, how, l)
	})
}
