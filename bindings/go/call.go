package headrace

// #cgo noescape hr_call_run
// #include "callbacks.h"
import "C"

import (
	"context"
	"encoding/json"
	"runtime"
	"sync"
	"sync/atomic"
)

// Call is a prepared run, the fast path: names are resolved once and memory is bound once. One
// goroutine at a time uses it: a function on a call that another goroutine is using, or whose run is
// in flight, fails with FailedPrecondition. Several calls of one session may run at the same time.
type Call struct {
	object *object[*C.hr_call]
	rest   *callRest
}

// callRest is what a call has in Go, for as long as the library has the call.
type callRest struct {
	mutex sync.Mutex
	pins  map[string]*runtime.Pinner // of the memory of Go that runs write outputs to
	// Of the run before: most runs have the context of the one before, and making limits takes longer
	// than a small run.
	limits atomic.Pointer[limits]
}

// Binds the memory of an output by a function of the library, and keeps it pinned until another is
// bound; a nil pinner is none of Go's. One goroutine at a time does both, so that what is pinned is what
// is bound. A pinner that is not kept is unpinned.
func (r *callRest) bind(output string, pinner *runtime.Pinner, bind func() *C.hr_status) *C.hr_status {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if status := bind(); status != nil {
		if pinner != nil {
			pinner.Unpin()
		}
		return status
	}
	if before := r.pins[output]; before != nil {
		before.Unpin()
	}
	delete(r.pins, output)
	if pinner != nil {
		if r.pins == nil {
			r.pins = map[string]*runtime.Pinner{}
		}
		r.pins[output] = pinner
	}
	return nil
}

func (r *callRest) release() {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for _, pinner := range r.pins {
		pinner.Unpin()
	}
	r.pins = nil
	r.keep(nil)
}

// Returns limits for a run; those of the run before if they serve.
func (r *callRest) begin(ctx context.Context) (*limits, error) {
	if before := r.limits.Swap(nil); before != nil {
		if before.again(ctx) {
			return before, nil
		}
		_ = before.end(nil)
	}
	out := new(limits)
	_, err := out.begin(ctx)
	return out, err
}

// Keeps limits for the next run.
func (r *callRest) keep(l *limits) {
	if before := r.limits.Swap(l); before != nil {
		_ = before.end(nil)
	}
}

func newCall(call *C.hr_call) *Call {
	out := &Call{rest: new(callRest)}
	rest := out.rest
	return own(out, &out.object, call, "call", false, func(p *C.hr_call) {
		C.hr_call_release(p)
		rest.release()
	})
}

// NewCall creates a call of a signature, which names its inputs and outputs.
func (s *Session) NewCall(signature string) (*Call, error) {
	var lent loan
	defer lent.end()
	session, name := borrow(&lent, s.object), lent.text(signature)
	if lent.failure != nil {
		return nil, lent.failure
	}
	var call *C.hr_call
	if err := failure(C.hr_call_create(session, name, &call)); err != nil {
		return nil, err
	}
	return newCall(call), nil
}

// NewCustomCall creates a call with any values as inputs and outputs and any nodes as targets.
func (s *Session) NewCustomCall(feeds, fetches, targets []string) (*Call, error) {
	var lent loan
	defer lent.end()
	session := borrow(&lent, s.object)
	feedNames, fetchNames, targetNames := lent.texts(feeds), lent.texts(fetches), lent.texts(targets)
	if lent.failure != nil {
		return nil, lent.failure
	}
	var call *C.hr_call
	err := failure(C.hr_call_create_custom(session, C.size_t(len(feeds)), feedNames, C.size_t(len(fetches)), fetchNames,
		C.size_t(len(targets)), targetNames, &call))
	if err != nil {
		return nil, err
	}
	return newCall(call), nil
}

// Close releases the call. A run in flight finishes.
func (c *Call) Close() error {
	c.object.close()
	return nil
}

// Calls a function with the handle and the name of an input or output.
func (c *Call) named(name string, function func(call *C.hr_call, name *C.char, l *loan) *C.hr_status) error {
	var lent loan
	defer lent.end()
	call, text := borrow(&lent, c.object), lent.text(name)
	if lent.failure != nil {
		return lent.failure
	}
	if err := failure(function(call, text, &lent)); err != nil {
		return err
	}
	return lent.failure
}

// Bind binds a tensor to an input for all runs from now on. Contiguous memory is used in place. The
// tensor may be closed afterwards. If it is nil, nothing is bound to the input any more.
func (c *Call) Bind(input string, tensor *Tensor) error {
	return c.named(input, func(call *C.hr_call, name *C.char, l *loan) *C.hr_status {
		handle := l.tensor(tensor)
		if l.failure != nil {
			return nil
		}
		return C.hr_call_bind(call, name, handle)
	})
}

// BindScalar binds a single number, such as a learning rate, to an input.
func (c *Call) BindScalar(input string, value float64) error {
	return c.named(input, func(call *C.hr_call, name *C.char, l *loan) *C.hr_status {
		return C.hr_call_bind_scalar(call, name, C.double(value))
	})
}

// BindSlice binds the memory of data to an input, in place, as WrapTensor does: a run sees what data
// contains at that time.
func BindSlice[T Element](c *Call, input string, data []T, dims ...int64) error {
	tensor, err := WrapTensor(data, dims...)
	if err != nil {
		return err
	}
	defer tensor.Close()
	return c.Bind(input, tensor)
}

// BindDataset makes the call take the next batch before each run and feed every field to the input of
// the same name. If the data set is nil, the call takes no batches any more.
func (c *Call) BindDataset(dataset *Dataset) error {
	var lent loan
	defer lent.end()
	call := borrow(&lent, c.object)
	var handle *C.hr_dataset
	if dataset != nil {
		handle = borrow(&lent, dataset.object)
	}
	if lent.failure != nil {
		return lent.failure
	}
	return failure(C.hr_call_bind_dataset(call, handle))
}

// BindOutput makes all runs from now on write an output to the memory of a tensor, which must be
// contiguous and of the output's type and shape. If it is nil, runs write to memory of the call again.
func (c *Call) BindOutput(output string, tensor *Tensor) error {
	return c.named(output, func(call *C.hr_call, name *C.char, l *loan) *C.hr_status {
		handle := l.tensor(tensor)
		if l.failure != nil {
			return nil
		}
		return c.rest.bind(output, nil, func() *C.hr_status { return C.hr_call_bind_output(call, name, handle) })
	})
}

// OutputTo makes all runs from now on write an output to data, which must have exactly the elements
// that the output needs; the next run checks their bytes. The memory is pinned until another output
// is set or the call is closed. If data is nil, runs write to memory of the call again.
func OutputTo[T Element](c *Call, output string, data []T) error {
	return c.named(output, func(call *C.hr_call, name *C.char, l *loan) *C.hr_status {
		var pinner *runtime.Pinner
		if len(data) > 0 {
			pinner = new(runtime.Pinner)
			pinner.Pin(&data[0])
		}
		return c.rest.bind(output, pinner, func() *C.hr_status {
			return C.hr_call_output(call, name, address(data), bytesOf(data))
		})
	})
}

// OutputType returns the type and shape of an output for the inputs that are bound now.
func (c *Call) OutputType(output string) (dtype DType, dims []int64, err error) {
	err = c.named(output, func(call *C.hr_call, name *C.char, l *loan) *C.hr_status {
		var rank C.size_t
		var sizes *C.int64_t
		status := C.hr_call_output_type(call, name, (*C.hr_dtype)(&dtype), &rank, &sizes)
		if status == nil {
			dims = clone[int64](sizes, int(rank))
		}
		return status
	})
	return dtype, dims, err
}

// Run runs the call and waits for the end. OutOfRange: a bound data set has no more data, and nothing
// has run. If the context ends, the run ends before it has changed a variable, or it finishes.
func (c *Call) Run(ctx context.Context) error {
	call, err := c.object.use()
	if err != nil {
		return err
	}
	if ctx == nil || ctx.Done() == nil {
		status := C.hr_call_run(call, nil)
		c.object.done()
		return failure(status)
	}
	defer c.object.done()
	l, err := c.rest.begin(ctx)
	if err != nil {
		return err
	}
	err = l.explain(failure(C.hr_call_run(call, l.c)))
	c.rest.keep(l)
	return err
}

// Result returns an output of the last run. The next run overwrites its memory.
func (c *Call) Result(output string) (*Tensor, error) {
	var out *C.hr_tensor
	err := c.named(output, func(call *C.hr_call, name *C.char, l *loan) *C.hr_status {
		return C.hr_call_result(call, name, &out)
	})
	return newTensor(out), err
}

// TakeResult returns an output of the last run and gives its memory away: the next run writes to other
// memory.
func (c *Call) TakeResult(output string) (*Tensor, error) {
	var out *C.hr_tensor
	err := c.named(output, func(call *C.hr_call, name *C.char, l *loan) *C.hr_status {
		return C.hr_call_take_result(call, name, &out)
	})
	return newTensor(out), err
}

// Describe returns the plan for the shapes that are bound now as JSON.
func (c *Call) Describe() (json.RawMessage, error) {
	call, err := c.object.use()
	if err != nil {
		return nil, err
	}
	defer c.object.done()
	var text *C.hr_text
	return described(C.hr_call_describe(call, &text), text)
}

// Profile runs the call as Run does, and returns what the run did, step by step, as JSON: when each
// step began and ended, on which threads, and how much there was to compute.
func (c *Call) Profile(ctx context.Context) (json.RawMessage, error) {
	call, err := c.object.use()
	if err != nil {
		return nil, err
	}
	defer c.object.done()
	l, err := c.rest.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer c.rest.keep(l)
	var text *C.hr_text
	out, err := described(C.hr_call_profile(call, l.c, &text), text)
	return out, l.explain(err)
}
