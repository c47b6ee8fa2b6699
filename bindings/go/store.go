package headrace

// #include "callbacks.h"
import "C"

import "unsafe"

// Store is a small key-value store where the ranks of a group meet, and which decides which cause a
// group has failed of. Groups keep their store alive, so it may be closed first.
type Store struct{ object *object[*C.hr_store] }

func newStore(store *C.hr_store) *Store {
	if store == nil {
		return nil
	}
	out := new(Store)
	return own(out, &out.object, store, "store", true, func(p *C.hr_store) { C.hr_store_release(p) })
}

// StoreOptions are the options of a store. The zero value means defaults.
type StoreOptions struct {
	// Serve makes this process keep the store, for as long as it or a group that uses it is open. Port
	// 0 means any free port.
	Serve         bool
	TrustedFabric bool   // as in GroupOptions
	Secret        string // as in GroupOptions
}

// OpenStore opens a store: "tcp:HOST:PORT", "file:FOLDER" or "memory:". The options may be nil.
func (e *Env) OpenStore(url string, options *StoreOptions) (*Store, error) {
	var lent loan
	defer lent.end()
	env, text := borrow(&lent, e.object), lent.text(url)
	var store *C.hr_store
	var status func() *C.hr_status
	if options == nil {
		status = func() *C.hr_status { return C.hr_store_open(env, text, &store) }
	} else {
		c := lendStruct(&lent, C.hr_store_options{struct_size: C.sizeof_hr_store_options, serve: flag(options.Serve),
			trusted_fabric: flag(options.TrustedFabric), secret: lent.optional(options.Secret)})
		status = func() *C.hr_status { return C.hr_store_open_with(env, text, c, &store) }
	}
	if lent.failure != nil {
		return nil, lent.failure
	}
	err := failure(status())
	return newStore(store), err
}

// Close releases the store.
func (s *Store) Close() error {
	s.object.close()
	return nil
}

// URL returns the URL with which other processes open the store; "" if they cannot.
func (s *Store) URL() (string, error) {
	store, err := s.object.use()
	if err != nil {
		return "", err
	}
	defer s.object.done()
	var text *C.hr_text
	out, err := described(C.hr_store_url(store, &text), text)
	return string(out), err
}

// KeyValue is a store of the program. Any thread may call it, several at a time. Keys have at most 512
// bytes, values at most 1 MiB.
type KeyValue interface {
	// Get returns the value; found is false if there is no such key.
	Get(key string) (value []byte, found bool, err error)
	// CompareAndSwap sets the key to desired if its value is expected. If expected is nil, it sets the
	// key if that does not exist. The step is atomic for all ranks. It reports whether the key was set.
	CompareAndSwap(key string, expected, desired []byte) (swapped bool, err error)
	// Remove removes the key if it exists.
	Remove(key string) error
}

// NewStore makes a store of the program's own.
func NewStore(contents KeyValue) (*Store, error) {
	if contents == nil {
		return nil, invalid("the contents of the store are nil; give a KeyValue")
	}
	context := newContext(contents)
	c := C.hr_store_callbacks{struct_size: C.sizeof_hr_store_callbacks, context: context, get: (*[0]byte)(C.hrgo_get),
		compare_and_swap: (*[0]byte)(C.hrgo_compare_and_swap), remove: (*[0]byte)(C.hrgo_remove), release: releaser()}
	var store *C.hr_store
	err := failure(C.hr_store_from_callbacks(&c, &store))
	if err != nil {
		hrgo_release(context)
	}
	return newStore(store), err
}

//export hrgo_get
func hrgo_get(cell unsafe.Pointer, key *C.hrgo_text, value *C.char, capacity C.size_t, size *C.int64_t) *C.hr_status {
	return guarded("the store's Get", func() error {
		got, found, err := contextValue[KeyValue](cell).Get(C.GoString(key))
		if err != nil {
			return err
		}
		*size = -1
		if found {
			*size = C.int64_t(len(got))
			copy(unsafe.Slice((*byte)(unsafe.Pointer(value)), capacity), got)
		}
		return nil
	})
}

//export hrgo_compare_and_swap
func hrgo_compare_and_swap(cell unsafe.Pointer, key, expected *C.hrgo_text, expectedSize C.size_t,
	desired *C.hrgo_text, desiredSize C.size_t, swapped *C.int32_t) *C.hr_status {
	return guarded("the store's CompareAndSwap", func() error {
		var before []byte
		if expected != nil {
			before = append([]byte{}, unsafe.Slice((*byte)(unsafe.Pointer(expected)), expectedSize)...)
		}
		after := append([]byte{}, unsafe.Slice((*byte)(unsafe.Pointer(desired)), desiredSize)...)
		done, err := contextValue[KeyValue](cell).CompareAndSwap(C.GoString(key), before, after)
		*swapped = flag(done)
		return err
	})
}

//export hrgo_remove
func hrgo_remove(cell unsafe.Pointer, key *C.hrgo_text) *C.hr_status {
	return guarded("the store's Remove", func() error { return contextValue[KeyValue](cell).Remove(C.GoString(key)) })
}
