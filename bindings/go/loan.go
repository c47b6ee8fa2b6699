package headrace

// #include "callbacks.h"
import "C"

import (
	"encoding/json"
	"runtime"
	"runtime/cgo"
	"strings"
	"unsafe"
)

// loan lends memory of Go to the library for the time of a call, and remembers the first argument
// that cannot be given to it.
type loan struct {
	pinner  runtime.Pinner
	uses    []interface{ done() }
	failure error
}

func (l *loan) end() {
	l.pinner.Unpin()
	for _, used := range l.uses {
		used.done()
	}
}

// Returns a NUL-terminated copy of a text.
func (l *loan) text(s string) *C.char {
	if i := strings.IndexByte(s, 0); i >= 0 && l.failure == nil {
		l.failure = invalid("the text %q has a NUL at byte %d; texts end at a NUL, so it must not contain one", s, i)
	}
	bytes := make([]byte, len(s)+1)
	copy(bytes, s)
	l.pinner.Pin(&bytes[0])
	return (*C.char)(unsafe.Pointer(&bytes[0]))
}

// Returns NULL for an empty text.
func (l *loan) optional(s string) *C.char {
	if s == "" {
		return nil
	}
	return l.text(s)
}

// Returns a number of the library's size.
func (l *loan) number(name string, n int) C.int32_t {
	if n != int(int32(n)) && l.failure == nil {
		l.failure = invalid("%s is %d, which is out of range; give a number of 32 bits", name, n)
	}
	return C.int32_t(n)
}

func (l *loan) texts(list []string) **C.char {
	out := make([]*C.char, len(list))
	for i, s := range list {
		out[i] = l.text(s)
	}
	return lend(l, out)
}

// Returns the first element; NULL if there are none.
func lend[T any](l *loan, list []T) *T {
	if len(list) == 0 {
		return nil
	}
	l.pinner.Pin(&list[0])
	return &list[0]
}

// Returns the address of a struct that the library reads or writes during the call.
func lendStruct[T any](l *loan, value T) *T {
	out := new(T)
	*out = value
	l.pinner.Pin(out)
	return out
}

// Returns the handle of an object and keeps it for the time of the call.
func borrow[P any](l *loan, o *object[P]) P {
	pointer, err := o.use()
	if err != nil {
		if l.failure == nil {
			l.failure = err
		}
		return pointer
	}
	l.uses = append(l.uses, o)
	return pointer
}

// Returns what the functions that write a text have made, and its failure.
func described(status *C.hr_status, text *C.hr_text) (json.RawMessage, error) {
	if err := failure(status); err != nil {
		return nil, err
	}
	return json.RawMessage(takeText(text)), nil
}

// Returns the characters of a text and releases it; "" if it is nil.
func takeText(text *C.hr_text) string {
	if text == nil {
		return ""
	}
	defer C.hr_text_release(text)
	return C.GoStringN(C.hr_text_data(text), C.int(C.hr_text_size(text)))
}

// Returns C memory that names a value of Go, to be the context of functions that the library calls.
// The library gives it back by hrgo_release.
func newContext(value any) unsafe.Pointer {
	cell := C.malloc(C.size_t(unsafe.Sizeof(cgo.Handle(0))))
	*(*cgo.Handle)(cell) = cgo.NewHandle(value)
	return cell
}

func contextValue[T any](cell unsafe.Pointer) T { return (*(*cgo.Handle)(cell)).Value().(T) }

//export hrgo_release
func hrgo_release(cell unsafe.Pointer) {
	handle := *(*cgo.Handle)(cell)
	value := handle.Value()
	handle.Delete()
	C.free(cell)
	if held, ok := value.(interface{ released() }); ok {
		held.released()
	}
}

// pinned is memory of Go that the library keeps after a call.
type pinned struct{ pinner runtime.Pinner }

func (p *pinned) released() { p.pinner.Unpin() }

// Returns the context of memory of Go that stays where it is until hrgo_release.
func pin(data unsafe.Pointer) unsafe.Pointer {
	out := new(pinned)
	if data != nil {
		out.pinner.Pin(data)
	}
	return newContext(out)
}

// Returns the function that gives a context back.
func releaser() *[0]byte { return (*[0]byte)(C.hrgo_release) }
