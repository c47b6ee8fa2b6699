package headrace

// #include "callbacks.h"
import "C"

import (
	"context"
	"runtime"
	"unsafe"
)

// Work is an operation in flight. Its slices are pinned and in use until it has ended. Several
// goroutines may use it.
type Work struct {
	object *object[*C.hr_work]
	done   chan struct{}
}

// Starts an operation with slices that stay pinned until it has ended.
func (g *Group) start(function func(group *C.hr_group, out **C.hr_work) *C.hr_status, slices ...unsafe.Pointer) (*Work, error) {
	group, err := g.object.use()
	if err != nil {
		return nil, err
	}
	defer g.object.done()
	pinner := new(runtime.Pinner)
	for _, data := range slices {
		if data != nil {
			pinner.Pin(data)
		}
	}
	var handle *C.hr_work
	if err := failure(function(group, &handle)); err != nil {
		pinner.Unpin()
		return nil, err
	}
	out := &Work{done: make(chan struct{})}
	own(out, &out.object, handle, "work", true, func(p *C.hr_work) { C.hr_work_release(p) })
	done := out.done
	err = out.whenDone(func(error) {
		close(done)
		pinner.Unpin()
	})
	return out, err
}

func (w *Work) whenDone(function func(error)) error {
	work, err := w.object.use()
	if err != nil {
		return err
	}
	defer w.object.done()
	return whenDone(func(callback *[0]byte, context unsafe.Pointer) *C.hr_status {
		return C.hr_work_on_done(work, callback, context)
	}, function)
}

// Close releases the work, which does not end the operation.
func (w *Work) Close() error {
	w.object.close()
	return nil
}

// Done returns a channel that is closed when the operation has ended.
func (w *Work) Done() <-chan struct{} { return w.done }

// Ended reports whether the operation has ended. It does not wait, but moves data that can be moved now.
func (w *Work) Ended() bool {
	work, err := w.object.use()
	if err != nil {
		return false
	}
	defer w.object.done()
	return C.hr_work_test(work) != 0
}

// Wait waits for the end of the operation and returns its result. The context ends the waiting, not the
// operation.
func (w *Work) Wait(ctx context.Context) error {
	work, err := w.object.use()
	if err != nil {
		return err
	}
	defer w.object.done()
	return limited(ctx, func(l *C.hr_limits) *C.hr_status { return C.hr_work_wait(work, l) })
}

// OnDone calls a function once when the operation has ended, on a thread for callbacks. The function
// gets the failure; it may call any function, and it may wait.
func (w *Work) OnDone(function func(err error)) error { return w.whenDone(function) }

// Enqueue puts the operation into a queue when it has ended.
func (w *Work) Enqueue(queue *Queue, key uint64) error {
	var lent loan
	defer lent.end()
	work, into := borrow(&lent, w.object), borrow(&lent, queue.object)
	if lent.failure != nil {
		return lent.failure
	}
	return failure(C.hr_work_enqueue(work, into, C.uint64_t(key)))
}

// Cancel ends the operation with Cancelled. A cancelled receive has no effect; any other operation ends
// the group.
func (w *Work) Cancel() error {
	work, err := w.object.use()
	if err != nil {
		return err
	}
	defer w.object.done()
	return failure(C.hr_work_cancel(work))
}
