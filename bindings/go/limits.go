package headrace

// #include "callbacks.h"
import "C"

import (
	"context"
	"errors"
	"time"
)

// limits gives the deadline and the cancellation of a context to one call of the library.
type limits struct {
	ctx   context.Context
	c     *C.hr_limits // in an object of its own, as pointers that C is given must be
	token *object[*C.hr_cancel]
	stop  func() bool
}

// Returns the limits for the library: nil if the context can never end. Fails if it has ended.
func (l *limits) begin(ctx context.Context) (*C.hr_limits, error) {
	if ctx == nil || ctx.Done() == nil {
		return nil, nil
	}
	if ctx.Err() != nil {
		return nil, ended(ctx)
	}
	var cancel *C.hr_cancel
	if err := failure(C.hr_cancel_create(&cancel)); err != nil {
		return nil, err
	}
	token := &object[*C.hr_cancel]{pointer: cancel, kind: "cancel token", release: releaseCancel}
	l.ctx, l.token = ctx, token
	l.stop = context.AfterFunc(ctx, func() {
		if cancel, err := token.use(); err == nil {
			C.hr_cancel_trigger(cancel)
			token.done()
		}
	})
	l.c = &C.hr_limits{struct_size: C.sizeof_hr_limits, cancel: cancel}
	setDeadline(l.c, ctx)
	return l.c, nil
}

func setDeadline(c *C.hr_limits, ctx context.Context) {
	c.timeout_nanos = 0
	if deadline, ok := ctx.Deadline(); ok {
		c.timeout_nanos = C.int64_t(max(1, time.Until(deadline)))
	}
}

// Makes limits that have begun serve another call. Fails if the context of that is ended by something
// else, or has ended: then the limits must end.
func (l *limits) again(ctx context.Context) bool {
	if ctx.Done() != l.ctx.Done() || ctx.Err() != nil {
		return false
	}
	l.ctx = ctx
	setDeadline(l.c, ctx)
	return true
}

// Ends the limits and returns the failure of the call that had them.
func (l *limits) end(status *C.hr_status) error {
	if l.token != nil {
		l.stop()
		l.token.close()
	}
	return l.explain(failure(status))
}

// Adds to a failure that the context has caused the error of the context.
func (l *limits) explain(err error) error {
	e, ok := err.(*Error)
	if !ok || l.ctx == nil || (e.Code != Cancelled && e.Code != DeadlineExceeded) {
		return err
	}
	switch {
	case l.ctx.Err() == nil && e.Code == DeadlineExceeded && l.c.timeout_nanos > 0:
		e.cause = context.DeadlineExceeded // the library was a moment faster than the context
	case errors.Is(l.ctx.Err(), context.DeadlineExceeded):
		e.Code, e.cause = DeadlineExceeded, cause(l.ctx)
	case l.ctx.Err() != nil:
		e.cause = cause(l.ctx)
	}
	return e
}

func releaseCancel(cancel *C.hr_cancel) { C.hr_cancel_release(cancel) }

// Returns the failure of a call whose context has ended before.
func ended(ctx context.Context) error {
	code := Cancelled
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		code = DeadlineExceeded
	}
	return &Error{Code: code, Message: "the context has ended: " + ctx.Err().Error(), cause: cause(ctx)}
}

// Returns an error that matches both the context's error and its cause.
func cause(ctx context.Context) error {
	if why := context.Cause(ctx); why != ctx.Err() {
		return errors.Join(ctx.Err(), why)
	}
	return ctx.Err()
}
