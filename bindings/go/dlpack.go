package headrace

// #include "callbacks.h"
import "C"

import "unsafe"

// TensorFromDLPack makes a tensor of a DLManagedTensorVersioned of DLPack 1.x and takes it over: its
// deleter is called when the last user is gone. If the call fails, the caller keeps it.
func TensorFromDLPack(managed unsafe.Pointer) (*Tensor, error) {
	var tensor *C.hr_tensor
	err := failure(C.hr_tensor_from_dlpack((*C.hr_dlpack)(managed), &tensor))
	return newTensor(tensor), err
}

// DLPack makes a DLManagedTensorVersioned that shares the memory of the tensor. Whoever takes it
// calls its deleter once; DeleteDLPack does that.
func (t *Tensor) DLPack() (unsafe.Pointer, error) {
	tensor, err := t.object.use()
	if err != nil {
		return nil, err
	}
	defer t.object.done()
	var managed *C.hr_dlpack
	if err := failure(C.hr_tensor_to_dlpack(tensor, &managed)); err != nil {
		return nil, err
	}
	return unsafe.Pointer(managed), nil
}

// DeleteDLPack calls the deleter of a managed tensor that nobody has taken.
func DeleteDLPack(managed unsafe.Pointer) { C.hrgo_delete((*C.hr_dlpack)(managed)) }
