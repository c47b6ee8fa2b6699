package headrace

// #include "callbacks.h"
import "C"

import (
	"math"
	"unsafe"
)

// Element is a type that elements of tensors have in Go.
type Element interface {
	float32 | float64 | int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | bool |
		Float16Bits | BFloat16Bits
}

// Float16Bits are the bits of a number of 16 bits as IEEE 754 describes it.
type Float16Bits uint16

// BFloat16Bits are the bits of a bfloat16, the upper half of a float32.
type BFloat16Bits uint16

// DTypeOf returns the element type of the library that T has.
func DTypeOf[T Element]() DType {
	switch any(*new(T)).(type) {
	case float32:
		return Float32
	case float64:
		return Float64
	case int8:
		return Int8
	case int16:
		return Int16
	case int32:
		return Int32
	case int64:
		return Int64
	case uint8:
		return Uint8
	case uint16:
		return Uint16
	case uint32:
		return Uint32
	case uint64:
		return Uint64
	case bool:
		return Bool
	case Float16Bits:
		return Float16
	}
	return BFloat16
}

// Size returns the bytes of one element; 0 if tensors cannot hold the type.
func (d DType) Size() int { return int(C.hr_dtype_size(C.hr_dtype(d))) }

// String returns the name of the type, such as "float32".
func (d DType) String() string { return C.GoString(C.hr_dtype_name(C.hr_dtype(d))) }

// String returns the name of the code, such as "INVALID_ARGUMENT".
func (c Code) String() string { return C.GoString(C.hr_code_name(C.hr_code(c))) }

// Float32 returns the number that has these bits.
func (b BFloat16Bits) Float32() float32 { return math.Float32frombits(uint32(b) << 16) }

// ToBFloat16 returns the nearest bfloat16; between two, the even one.
func ToBFloat16(x float32) BFloat16Bits {
	bits := math.Float32bits(x)
	if x != x {
		return BFloat16Bits(bits>>16 | 0x40) // stays not a number
	}
	return BFloat16Bits((bits + 0x7fff + bits>>16&1) >> 16)
}

// Float32 returns the number that has these bits.
func (b Float16Bits) Float32() float32 {
	sign, exponent, fraction := uint32(b>>15)<<31, int(b>>10&31), uint32(b&0x3ff)
	switch exponent {
	case 0:
		value := float32(fraction) / (1 << 24)
		return math.Float32frombits(math.Float32bits(value) | sign)
	case 31:
		return math.Float32frombits(sign | 0x7f800000 | fraction<<13)
	}
	return math.Float32frombits(sign | uint32(exponent+112)<<23 | fraction<<13)
}

// ToFloat16 returns the nearest number of 16 bits; between two, the even one.
func ToFloat16(x float32) Float16Bits {
	bits := math.Float32bits(x)
	sign, magnitude := Float16Bits(bits>>16&0x8000), bits&0x7fffffff
	switch {
	case magnitude > 0x7f800000:
		return sign | 0x7e00
	case magnitude >= 0x477ff000: // rounds to more than the largest
		return sign | 0x7c00
	case magnitude < 0x38800000: // below the smallest normal number
		return sign | Float16Bits(math.RoundToEven(float64(math.Float32frombits(magnitude))*(1<<24)))
	}
	return sign | Float16Bits((magnitude-0x38000000+0xfff+magnitude>>13&1)>>13)
}

// Returns the address of the first element; nil if there is none.
func address[T any](data []T) unsafe.Pointer {
	if len(data) == 0 {
		return nil
	}
	return unsafe.Pointer(&data[0])
}

func bytesOf[T any](data []T) C.size_t { return C.size_t(len(data)) * C.size_t(unsafe.Sizeof(*new(T))) }
