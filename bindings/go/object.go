package headrace

// #include "callbacks.h"
import "C"

import (
	"math"
	"runtime"
	"sync/atomic"
)

// object owns a handle of the library. It counts the calls that are using the handle, so that
// closing is safe at any time: the handle is released when it is closed and no call uses it.
// P is the pointer type of the handle.
type object[P any] struct {
	pointer P
	kind    string  // for messages: "session"
	release func(P) // releases the handle
	uses    atomic.Int64
	cleanup runtime.Cleanup
}

// What the number of uses is lowered by when the object is closed.
const closedUses = math.MinInt64

// Returns an object, which is closed when owner is collected if that has not happened before.
// If waits is true, releasing may take long and the collector's thread leaves it to another one.
func own[O, P any](owner *O, field **object[P], pointer P, kind string, waits bool, release func(P)) *O {
	inner := &object[P]{pointer: pointer, kind: kind, release: release}
	*field = inner
	inner.cleanup = runtime.AddCleanup(owner, func(inner *object[P]) {
		if waits {
			go inner.close()
		} else {
			inner.close()
		}
	}, inner)
	return owner
}

// Returns the handle for a call of the library; after the call comes done. Fails if the object is
// closed.
func (o *object[P]) use() (P, error) {
	var none P
	if o == nil {
		return none, invalid("the object is nil or was not made by a function of this package")
	}
	for {
		n := o.uses.Load()
		if n < 0 {
			return none, &Error{Code: FailedPrecondition, cause: ErrClosed,
				Message: "the " + o.kind + " is closed; make another one"}
		}
		if o.uses.CompareAndSwap(n, n+1) {
			return o.pointer, nil
		}
	}
}

func (o *object[P]) done() {
	if o.uses.Add(-1) == closedUses {
		o.release(o.pointer)
	}
}

// Closes the object; returns false if it was closed before.
func (o *object[P]) close() bool {
	if o == nil {
		return false
	}
	for {
		n := o.uses.Load()
		if n < 0 {
			return false
		}
		if o.uses.CompareAndSwap(n, n+closedUses) {
			o.cleanup.Stop()
			if n == 0 {
				o.release(o.pointer)
			}
			return true
		}
	}
}
