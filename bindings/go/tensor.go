package headrace

// #include "callbacks.h"
import "C"

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"unsafe"
)

// Tensor is a typed view of memory that several tensors can share. The description is immutable;
// a program that writes elements must see to it that no other goroutine uses them meanwhile.
//
// Runs, calls, data sets and graphs keep the memory of the tensors that they are given, so a tensor
// may be closed as soon as its owner needs it no more.
type Tensor struct{ object *object[*C.hr_tensor] }

func newTensor(tensor *C.hr_tensor) *Tensor {
	if tensor == nil {
		return nil
	}
	out := new(Tensor)
	return own(out, &out.object, tensor, "tensor", false, func(p *C.hr_tensor) { C.hr_tensor_release(p) })
}

// The handle of a tensor that may be nil.
func (l *loan) tensor(t *Tensor) *C.hr_tensor {
	if t == nil {
		return nil
	}
	return borrow(l, t.object)
}

func lendDims(l *loan, dims []int64) *C.int64_t { return (*C.int64_t)(lend(l, dims)) }

// NewTensor creates a contiguous (row-major) tensor in memory of the env's allocator. Its elements
// are not set.
func (e *Env) NewTensor(dtype DType, dims ...int64) (*Tensor, error) {
	var lent loan
	defer lent.end()
	env := borrow(&lent, e.object)
	if lent.failure != nil {
		return nil, lent.failure
	}
	var tensor *C.hr_tensor
	err := failure(C.hr_tensor_create(env, C.hr_dtype(dtype), C.size_t(len(dims)), lendDims(&lent, dims), &tensor))
	return newTensor(tensor), err
}

// TensorOf creates a tensor in memory of the env's allocator and copies data into it. Without dims
// it has one dimension; a scalar is Scalar.
func TensorOf[T Element](env *Env, data []T, dims ...int64) (*Tensor, error) {
	if len(dims) == 0 {
		dims = []int64{int64(len(data))}
	}
	return copyTensor(env, data, dims)
}

// Scalar creates a tensor without dimensions.
func Scalar[T Element](env *Env, value T) (*Tensor, error) {
	return copyTensor(env, []T{value}, nil)
}

func copyTensor[T Element](env *Env, data []T, dims []int64) (*Tensor, error) {
	var lent loan
	defer lent.end()
	handle := borrow(&lent, env.object)
	if lent.failure != nil {
		return nil, lent.failure
	}
	var tensor *C.hr_tensor
	err := failure(C.hr_tensor_copy_of(handle, C.hr_dtype(DTypeOf[T]()), C.size_t(len(dims)), lendDims(&lent, dims),
		unsafe.Pointer(lend(&lent, data)), bytesOf(data), &tensor))
	return newTensor(tensor), err
}

// WrapTensor makes a tensor of the memory of data, which is used in place: what the program writes
// to data, runs read. The memory is pinned, so Go neither moves nor frees it, until the last user of
// the tensor is gone. Without dims the tensor has one dimension.
func WrapTensor[T Element](data []T, dims ...int64) (*Tensor, error) {
	if len(dims) == 0 {
		dims = []int64{int64(len(data))}
	}
	var lent loan
	defer lent.end()
	memory := pin(address(data))
	var tensor *C.hr_tensor
	err := failure(C.hr_tensor_wrap(C.hr_dtype(DTypeOf[T]()), C.size_t(len(dims)), lendDims(&lent, dims), address(data),
		bytesOf(data), releaser(), memory, &tensor))
	if err != nil {
		hrgo_release(memory)
	}
	return newTensor(tensor), err
}

// WrapStrided makes a tensor as WrapTensor does, of elements that may lie apart. Strides are in
// elements and not negative. Calls copy such a tensor when it is bound.
func WrapStrided[T Element](data []T, dims, strides []int64) (*Tensor, error) {
	if strides != nil && len(strides) != len(dims) {
		return nil, invalid("there are %d strides for %d dimensions; give one stride for each dimension", len(strides), len(dims))
	}
	var lent loan
	defer lent.end()
	memory := pin(address(data))
	var tensor *C.hr_tensor
	err := failure(C.hr_tensor_wrap_strided(C.hr_dtype(DTypeOf[T]()), C.size_t(len(dims)), lendDims(&lent, dims),
		lendDims(&lent, strides), address(data), bytesOf(data), releaser(), memory, &tensor))
	if err != nil {
		hrgo_release(memory)
	}
	return newTensor(tensor), err
}

// Close releases the tensor. Slices that Data has given must not be used afterwards.
func (t *Tensor) Close() error {
	t.object.close()
	return nil
}

// Share makes another tensor of the same memory.
func (t *Tensor) Share() (*Tensor, error) {
	tensor, err := t.object.use()
	if err != nil {
		return nil, err
	}
	defer t.object.done()
	var out *C.hr_tensor
	err = failure(C.hr_tensor_share(tensor, &out))
	return newTensor(out), err
}

// Calls a function with the handle; the result is zero if the tensor is closed.
func ofTensor[R any](t *Tensor, function func(*C.hr_tensor) R) R {
	tensor, err := t.object.use()
	if err != nil {
		return *new(R)
	}
	defer t.object.done()
	return function(tensor)
}

// DType returns the element type; Undefined if the tensor is closed.
func (t *Tensor) DType() DType {
	return ofTensor(t, func(p *C.hr_tensor) DType { return DType(C.hr_tensor_dtype(p)) })
}

// Dims returns the sizes of the dimensions; nil if the tensor is closed.
func (t *Tensor) Dims() []int64 {
	return ofTensor(t, func(p *C.hr_tensor) []int64 {
		return append([]int64{}, sizesOf(p, C.hr_tensor_dims(p))...)
	})
}

// Strides returns the strides in elements; nil if the tensor is contiguous.
func (t *Tensor) Strides() []int64 {
	return ofTensor(t, func(p *C.hr_tensor) []int64 { return sizesOf(p, C.hr_tensor_strides(p)) })
}

func sizesOf(tensor *C.hr_tensor, sizes *C.int64_t) []int64 {
	if sizes == nil {
		return nil
	}
	return slices.Clone(unsafe.Slice((*int64)(sizes), C.hr_tensor_rank(tensor)))
}

// Len returns the number of elements.
func (t *Tensor) Len() int {
	return ofTensor(t, func(p *C.hr_tensor) int { return int(C.hr_tensor_elements(p)) })
}

// Bytes returns the bytes of all elements together.
func (t *Tensor) Bytes() int {
	return ofTensor(t, func(p *C.hr_tensor) int { return int(C.hr_tensor_bytes(p)) })
}

// ReadOnly reports whether the elements must not be written to, as those of a model's file.
func (t *Tensor) ReadOnly() bool {
	return ofTensor(t, func(p *C.hr_tensor) bool { return C.hr_tensor_read_only(p) != 0 })
}

// Device returns the kind of device that the memory belongs to, as DLPack's DLDeviceType (1: the
// host, 2: CUDA), and its number among those of the kind.
func (t *Tensor) Device() (kind, ordinal int32) {
	tensor, err := t.object.use()
	if err != nil {
		return 0, 0
	}
	defer t.object.done()
	kind = int32(C.hr_tensor_device(tensor, (*C.int32_t)(&ordinal)))
	return kind, ordinal
}

// DeviceAddress returns the address of the first element on the tensor's device.
func (t *Tensor) DeviceAddress() uintptr {
	return ofTensor(t, func(p *C.hr_tensor) uintptr { return uintptr(C.hr_tensor_device_data(p)) })
}

// String describes the tensor, such as "float32[2, 3]".
func (t *Tensor) String() string {
	dims := t.Dims()
	if dims == nil {
		return "closed tensor"
	}
	return t.DType().String() + "[" + strings.Trim(strings.ReplaceAll(fmt.Sprint(dims), " ", ", "), "[]") + "]"
}

// Data returns the elements as a slice of the tensor's own memory, without a copy. Fails if T is not
// the element type, if the tensor is not contiguous, or if its memory is not the host's.
//
// The slice is valid until the tensor is closed, and does not keep the tensor alive: the program
// calls Close after its last use (a deferred Close does). The elements must not be written to if
// the tensor is ReadOnly. Values gives a copy that has no such rules.
func Data[T Element](t *Tensor) ([]T, error) {
	if t == nil {
		return nil, invalid("the tensor is nil; give one")
	}
	tensor, err := t.object.use()
	if err != nil {
		return nil, err
	}
	defer t.object.done()
	if has := DType(C.hr_tensor_dtype(tensor)); has != DTypeOf[T]() {
		return nil, invalid("the tensor has elements of %v, not of %v; ask for them as its DType says", has, DTypeOf[T]())
	}
	if C.hr_tensor_strides(tensor) != nil {
		return nil, invalid("the elements of the tensor lie apart, so they are no slice; copy it into a contiguous one")
	}
	data := C.hr_tensor_data(tensor)
	if data == nil && C.hr_tensor_elements(tensor) > 0 {
		return nil, &Error{Code: FailedPrecondition, Message: "the tensor is in memory of a device, which the host cannot read; copy it first"}
	}
	return unsafe.Slice((*T)(data), C.hr_tensor_elements(tensor)), nil
}

// Values returns a copy of the elements.
func Values[T Element](t *Tensor) ([]T, error) {
	data, err := Data[T](t)
	if err != nil {
		return nil, err
	}
	defer runtime.KeepAlive(t)
	return slices.Clone(data), nil
}

// Fill copies data into the tensor, which must have as many elements.
func Fill[T Element](t *Tensor, data []T) error {
	into, err := Data[T](t)
	if err != nil {
		return err
	}
	defer runtime.KeepAlive(t)
	if len(into) != len(data) {
		return invalid("the tensor %v has %d elements, and the slice has %d; give as many as the tensor has", t, len(into), len(data))
	}
	if t.ReadOnly() {
		return &Error{Code: FailedPrecondition, Message: "the tensor is read-only; copy it first"}
	}
	copy(into, data)
	return nil
}
