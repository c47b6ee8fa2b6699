package headrace

import (
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"
)

func roundTrip[T Element](t *testing.T, env *Env, dtype DType, data ...T) {
	t.Helper()
	tensor := must(TensorOf(env, data, int64(len(data)), 1))(t)
	defer tensor.Close()
	got := must(Values[T](tensor))(t)
	if tensor.DType() != dtype || dtype.Size() != int(unsafe.Sizeof(data[0])) || !slices.Equal(got, data) {
		t.Fatalf("%v: %v became %v", tensor, data, got)
	}
}

func TestEveryElementType(t *testing.T) {
	env := newEnv(t)
	roundTrip(t, env, Float32, 1.5, float32(math.Inf(1)))
	roundTrip(t, env, Float64, 1.5, math.MaxFloat64)
	roundTrip[int8](t, env, Int8, 1, -128)
	roundTrip[int16](t, env, Int16, 1, -32768)
	roundTrip[int32](t, env, Int32, 1, math.MinInt32)
	roundTrip[int64](t, env, Int64, 1, math.MinInt64)
	roundTrip[uint8](t, env, Uint8, 1, 255)
	roundTrip[uint16](t, env, Uint16, 1, 65535)
	roundTrip[uint32](t, env, Uint32, 1, math.MaxUint32)
	roundTrip[uint64](t, env, Uint64, 1, math.MaxUint64)
	roundTrip(t, env, Bool, true, false)
	roundTrip(t, env, Float16, ToFloat16(1.5))
	roundTrip(t, env, BFloat16, ToBFloat16(1.5))
}

func TestNumbersOf16Bits(t *testing.T) {
	env := newEnv(t)
	session := newSession(t, env, func(g *Graph) {
		x := g.Input("x", Float32, -1)
		g.SignatureInput("cast", "x", x)
		g.SignatureOutput("cast", "half", g.Op("Cast", "to=10", x))
		g.SignatureOutput("cast", "brain", g.Op("Cast", "to=16", x))
	})
	x := []float32{0, 1, -2.5, 65504, 65519, 65520, 1e-8, 5.9604645e-8, 6.0975552e-05, 0.333333, 1e30, -1e-40,
		float32(math.Inf(-1)), 3.14159, 2049, 2051}
	call := must(session.NewCall("cast"))(t)
	check(t, BindSlice(call, "x", x))
	check(t, call.Run(background))
	half := must(Values[Float16Bits](must(call.Result("half"))(t)))(t)
	brain := must(Values[BFloat16Bits](must(call.Result("brain"))(t)))(t)
	for i, value := range x {
		if ToFloat16(value) != half[i] || ToBFloat16(value) != brain[i] {
			t.Errorf("%g: %#x %#x, the library has %#x %#x", value, ToFloat16(value), ToBFloat16(value), half[i], brain[i])
		}
		if ToFloat16(half[i].Float32()) != half[i] || ToBFloat16(brain[i].Float32()) != brain[i] {
			t.Errorf("%g changes when it is widened and rounded again", value)
		}
	}
	if nan := float32(math.NaN()); !math.IsNaN(float64(ToFloat16(nan).Float32())) || !math.IsNaN(float64(ToBFloat16(nan).Float32())) {
		t.Error("NaN became a number")
	}
}

func TestWrappedMemoryIsUsedInPlace(t *testing.T) {
	data := []float32{1, 2, 3, 4}
	tensor := must(WrapTensor(data, 2, 2))(t)
	view := must(Data[float32](tensor))(t)
	if &view[0] != &data[0] || !slices.Equal(tensor.Dims(), []int64{2, 2}) || tensor.Bytes() != 16 || tensor.Len() != 4 {
		t.Fatal(tensor, view)
	}
	kind, _ := tensor.Device()
	if kind != 1 || tensor.DeviceAddress() != uintptr(unsafe.Pointer(&data[0])) || tensor.ReadOnly() {
		t.Fatal(kind, tensor.DeviceAddress())
	}
	shared := must(tensor.Share())(t)
	tensor.Close()
	runtime.GC()
	if got := must(Values[float32](shared))(t); !slices.Equal(got, data) {
		t.Fatal(got)
	}
}

func TestCallsUseTheMemoryOfTheProgram(t *testing.T) {
	env := newEnv(t)
	var in, out uintptr // what the kernel saw
	check(t, env.AddOperator(&Operator{Name: "test.Where", MinInputs: 1, MaxInputs: 1, MinOutputs: 1, MaxOutputs: 1,
		Infer: func(o *InferOp) error { return o.SetOutputLike(0, 0) },
		Compute: func(o *ComputeOp) error {
			in, out = uintptr(o.Input(0).data), uintptr(o.Output(0).data)
			return nil
		}}))
	session := newSession(t, env, func(g *Graph) {
		x := g.Input("x", Float32, -1)
		g.SignatureInput("run", "x", x)
		g.SignatureOutput("run", "y", g.Op("test.Where", "", x))
	})
	call := must(session.NewCall("run"))(t)
	x, y, z := make([]float32, 100), make([]float32, 100), must(env.NewTensor(Float32, 100))(t)
	check(t, BindSlice(call, "x", x))
	check(t, OutputTo(call, "y", y))
	check(t, call.Run(background))
	if in != uintptr(unsafe.Pointer(&x[0])) || out != uintptr(unsafe.Pointer(&y[0])) {
		t.Fatal("a slice was copied")
	}
	check(t, call.BindOutput("y", z))
	check(t, call.Run(background))
	if out != z.DeviceAddress() {
		t.Fatal("the output of the tensor was copied")
	}
	check(t, OutputTo[float32](call, "y", nil))
	check(t, call.Run(background))
	if result := must(call.Result("y"))(t); out != result.DeviceAddress() || out == z.DeviceAddress() {
		t.Fatal("the output did not go back to memory of the call")
	}
}

// Of the outputs that goroutines set at one time, the one that the library has is kept.
func TestOutputsThatAreSetAtOneTime(t *testing.T) {
	type memory [64]float32
	session := newSession(t, newEnv(t), doubling)
	calls, outputs := make([]*Call, 2000), make([][8]*memory, 2000)
	for i := range calls {
		calls[i] = must(session.NewCall("double"))(t)
		defer calls[i].Close()
		for which := range outputs[i] {
			outputs[i][which] = new(memory)
		}
	}
	var all sync.WaitGroup
	for which := range outputs[0] {
		all.Add(1)
		go func() {
			defer all.Done()
			for i, call := range calls {
				for OutputTo(call, "y", outputs[i][which][:]) != nil { // another goroutine is using it
				}
			}
		}()
	}
	all.Wait()
	var lost atomic.Int64
	x := make([]float32, 64)
	x[0] = 1
	for i, call := range calls {
		check(t, BindSlice(call, "x", x))
		check(t, call.Run(background))
		for _, one := range outputs[i] {
			if one[0] == 2 {
				runtime.SetFinalizer(one, func(*memory) { lost.Add(1) })
			}
		}
	}
	outputs = nil
	for range 3 {
		runtime.GC()
		time.Sleep(5 * time.Millisecond)
	}
	if lost.Load() != 0 {
		t.Fatalf("%d outputs went while the library had them", lost.Load())
	}
}

func TestStridedTensors(t *testing.T) {
	tensor := must(WrapStrided([]float32{1, 2, 3, 4, 5, 6}, []int64{3, 2}, []int64{1, 3}))(t)
	if !slices.Equal(tensor.Strides(), []int64{1, 3}) || tensor.String() != "float32[3, 2]" {
		t.Fatal(tensor, tensor.Strides())
	}
	_, err := Data[float32](tensor)
	expect(t, err, InvalidArgument, "apart")
	_, err = WrapStrided([]float32{1}, []int64{1}, []int64{1, 1})
	expect(t, err, InvalidArgument, "strides")
	_, err = WrapStrided([]float32{1, 2, 3}, []int64{3, 2}, []int64{1, 3})
	expect(t, err, InvalidArgument)
}

func TestWrongTypesAndShapes(t *testing.T) {
	env := newEnv(t)
	tensor := must(TensorOf(env, []float32{1, 2}))(t)
	_, err := Data[int64](tensor)
	expect(t, err, InvalidArgument, "float32", "int64")
	expect(t, Fill(tensor, []float32{1}), InvalidArgument, "2 elements")
	_, err = TensorOf(env, []float32{1, 2}, 3)
	expect(t, err, InvalidArgument)
	_, err = WrapTensor([]float32{1, 2}, 2, -1)
	expect(t, err, InvalidArgument)
	_, err = env.NewTensor(DType(77), 1)
	expect(t, err, InvalidArgument)
	session := newSession(t, env, linear)
	call := must(session.NewCall("infer"))(t)
	bad := BindSlice(call, "x", []float64{1, 2}, 1, 2)
	if bad == nil {
		bad = call.Run(background)
	}
	expect(t, bad, InvalidArgument, "float64")
	bad = BindSlice(call, "x", []float32{1, 2, 3}, 1, 3)
	if bad == nil {
		bad = call.Run(background)
	}
	expect(t, bad, InvalidArgument, "3")
	expect(t, BindSlice(call, "nobody", []float32{1}), NotFound, "nobody")
}

func TestEmptyAndScalarTensors(t *testing.T) {
	env := newEnv(t)
	empty := must(TensorOf(env, []float32{}))(t)
	if data := must(Data[float32](empty))(t); len(data) != 0 || empty.Len() != 0 {
		t.Fatal(data)
	}
	wrapped := must(WrapTensor([]float32(nil), 0, 3))(t)
	if wrapped.Len() != 0 {
		t.Fatal(wrapped)
	}
	number := must(Scalar(env, 2.5))(t)
	if number.Len() != 1 || number.String() != "float64[]" || must(Values[float64](number))(t)[0] != 2.5 {
		t.Fatal(number)
	}
	check(t, Fill(number, []float64{3}))
}

func TestDLPackSharesMemory(t *testing.T) {
	tensor := must(TensorOf(newEnv(t), []float32{1, 2, 3}))(t)
	managed := must(tensor.DLPack())(t)
	other := must(TensorFromDLPack(managed))(t)
	data, view := must(Data[float32](tensor))(t), must(Data[float32](other))(t)
	if &data[0] != &view[0] {
		t.Fatal("DLPack copied the elements")
	}
	tensor.Close()
	if !slices.Equal(view, []float32{1, 2, 3}) {
		t.Fatal(view)
	}
	DeleteDLPack(must(other.DLPack())(t))
	_, err := TensorFromDLPack(nil)
	expect(t, err, InvalidArgument)
}
