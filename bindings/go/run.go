package headrace

// #include "callbacks.h"
import "C"

import (
	"context"
	"log/slog"
	"unsafe"
)

// Run is a run in the background. Several goroutines may use it.
type Run struct {
	object *object[*C.hr_run]
	done   chan struct{}
}

// Start starts a run on a thread of the library and returns at once. Until the run has ended it owns
// the call and the memory that is bound to it. The context ends the run, as it does that of Call.Run.
func (c *Call) Start(ctx context.Context) (*Run, error) {
	call, err := c.object.use()
	if err != nil {
		return nil, err
	}
	var l limits
	limit, err := l.begin(ctx)
	if err != nil {
		c.object.done()
		return nil, err
	}
	var handle *C.hr_run
	if err := l.explain(failure(C.hr_call_start(call, limit, &handle))); err != nil {
		c.object.done()
		_ = l.end(nil)
		return nil, err
	}
	out := &Run{done: make(chan struct{})}
	own(out, &out.object, handle, "run", false, func(p *C.hr_run) { C.hr_run_release(p) })
	done := out.done
	err = out.whenDone(func(error) {
		close(done)
		c.object.done() // the memory of its outputs was in use until now
		_ = l.end(nil)
	})
	return out, err
}

// Lets the library call a function when something has ended.
func whenDone(register func(callback *[0]byte, context unsafe.Pointer) *C.hr_status, function func(error)) error {
	context := newContext(function)
	err := failure(register((*[0]byte)(C.hrgo_done), context))
	if err != nil {
		hrgo_release(context)
	}
	return err
}

//export hrgo_done
func hrgo_done(cell unsafe.Pointer, status *C.hrgo_status) {
	function := contextValue[func(error)](cell)
	hrgo_release(cell)
	var err error
	if status != nil {
		err = copyOf((*C.hr_status)(status))
	}
	lost(caught("a function for the end of a run or an operation", func() error {
		function(err)
		return nil
	}))
}

// Reports an error of a function of the program that the library cannot pass on to anybody.
func lost(err error) {
	if err != nil {
		_ = caught("slog.Default", func() error { // it may be what has failed
			slog.Default().Error("headrace: a failure that no call can return", "error", err)
			return nil
		})
	}
}

func (r *Run) whenDone(function func(error)) error {
	run, err := r.object.use()
	if err != nil {
		return err
	}
	defer r.object.done()
	return whenDone(func(callback *[0]byte, context unsafe.Pointer) *C.hr_status {
		return C.hr_run_on_done(run, callback, context)
	}, function)
}

// Close releases the run, which does not end it.
func (r *Run) Close() error {
	r.object.close()
	return nil
}

// Done returns a channel that is closed when the run has ended.
func (r *Run) Done() <-chan struct{} { return r.done }

// Ended reports whether the run has ended. It does not wait.
func (r *Run) Ended() bool {
	run, err := r.object.use()
	if err != nil {
		return false
	}
	defer r.object.done()
	return C.hr_run_test(run) != 0
}

// Wait waits for the end of the run and returns its result. The context ends the waiting, not the run.
func (r *Run) Wait(ctx context.Context) error {
	run, err := r.object.use()
	if err != nil {
		return err
	}
	defer r.object.done()
	return limited(ctx, func(l *C.hr_limits) *C.hr_status { return C.hr_run_wait(run, l) })
}

// OnDone calls a function once when the run has ended, on a thread for callbacks. The function gets
// the failure of the run; it may call any function, also start the call again.
func (r *Run) OnDone(function func(err error)) error { return r.whenDone(function) }

// Enqueue puts the run into a queue when it has ended.
func (r *Run) Enqueue(queue *Queue, key uint64) error {
	var lent loan
	defer lent.end()
	run, into := borrow(&lent, r.object), borrow(&lent, queue.object)
	if lent.failure != nil {
		return lent.failure
	}
	return failure(C.hr_run_enqueue(run, into, C.uint64_t(key)))
}

// Cancel cancels the run.
func (r *Run) Cancel() {
	if run, err := r.object.use(); err == nil {
		C.hr_run_cancel(run)
		r.object.done()
	}
}
