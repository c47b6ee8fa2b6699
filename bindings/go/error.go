package headrace

// #include "callbacks.h"
import "C"

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
)

// Error is a failure of the library.
//
// errors.Is compares it with codes: errors.Is(err, headrace.NotFound). A call that its context has
// ended also matches the error of the context, such as context.Canceled.
type Error struct {
	Code    Code
	Message string // says what was expected, what came and what to do
	Node    string // the name of the node that failed; "" if no node is to blame
	cause   error
}

// ErrClosed matches the failures of calls on objects that were closed before.
var ErrClosed = errors.New("headrace: the object is closed")

func (e *Error) Error() string {
	if e.Node == "" || strings.Contains(e.Message, e.Node) {
		return "headrace: " + e.Code.String() + ": " + e.Message
	}
	return "headrace: " + e.Code.String() + ": " + e.Message + " (node '" + e.Node + "')"
}

// Is reports whether target is the code of the failure.
func (e *Error) Is(target error) bool {
	code, ok := target.(Code)
	return ok && code == e.Code
}

// Unwrap returns the error of Go that is behind the failure; nil if there is none.
func (e *Error) Unwrap() error { return e.cause }

// Error makes codes errors, so that errors.Is compares failures with them.
func (c Code) Error() string { return c.String() }

// CodeOf returns the code that a failure has: OK for nil, Unknown for errors that are not of this package.
func CodeOf(err error) Code {
	if err == nil {
		return OK
	}
	var failure *Error
	if errors.As(err, &failure) {
		return failure.Code
	}
	var code Code
	if errors.As(err, &code) {
		return code
	}
	switch {
	case errors.Is(err, context.Canceled):
		return Cancelled
	case errors.Is(err, context.DeadlineExceeded):
		return DeadlineExceeded
	}
	return Unknown
}

func invalid(format string, values ...any) *Error {
	return &Error{Code: InvalidArgument, Message: fmt.Sprintf(format, values...)}
}

// Returns the failure that a call of the library has given, and releases it; nil for success.
func failure(status *C.hr_status) error {
	if status == nil {
		return nil
	}
	defer C.hr_status_release(status)
	return copyOf(status)
}

func copyOf(status *C.hr_status) *Error {
	return &Error{
		Code:    Code(C.hr_status_code(status)),
		Message: C.GoString(C.hr_status_message(status)),
		Node:    C.GoString(C.hr_status_node(status)),
	}
}

// Runs a function of the program for the library and returns its error, or its panic, as a status.
func guarded(what string, function func() error) *C.hr_status {
	err := caught(what, function)
	if err == nil {
		return nil
	}
	message := err.Error()
	var known *Error
	if errors.As(err, &known) && known == err {
		message = known.Message
	}
	var lent loan
	defer lent.end()
	return C.hr_status_create(C.hr_code(CodeOf(err)), lent.text(strings.ReplaceAll(message, "\x00", "\\0")))
}

// Runs a function and returns its error, or its panic as an error.
func caught(what string, function func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			cause, _ := value.(error)
			err = &Error{Code: Internal, cause: cause,
				Message: fmt.Sprintf("%s panicked%s: %v", what, panicPlace(), value)}
		}
	}()
	return function()
}

// Returns where the panic that is being recovered has begun, such as " at model.go:12".
func panicPlace() string {
	pcs := make([]uintptr, 32)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)])
	for {
		frame, more := frames.Next()
		if frame.File != "" && !strings.HasPrefix(frame.Function, "runtime.") {
			return fmt.Sprintf(" at %s:%d", frame.File[strings.LastIndexByte(frame.File, '/')+1:], frame.Line)
		}
		if !more {
			return ""
		}
	}
}
