// A rank in Go: ../README.md says what it does.
//
//	rank MODEL DATA STEPS
package main

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"strconv"
	"unsafe"

	headrace "github.com/headrace/headrace/bindings/go"
)

var ctx = context.Background()

// try ends the program if something has failed, else returns the value.
func try[T any](value T, err error) T {
	check(err)
	return value
}

// check prints a failure of the library and ends the program.
func check(err error) {
	var failure *headrace.Error
	if errors.As(err, &failure) {
		fmt.Println("failure:", failure.Code, failure.Message)
		os.Exit(1)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "rank:", err)
		os.Exit(2)
	}
}

// bind makes "gradients" write the gradients of all variables to a slice, one after the other, and the
// loss as its last number, and "apply" read them there. It returns the slice.
func bind(session *headrace.Session, compute, apply *headrace.Call) []float32 {
	names, dims, count := session.Variables(), [][]int64{}, 1
	for _, name := range names {
		value := try(session.Variable(ctx, name))
		dims, count = append(dims, value.Dims()), count+value.Len()
		value.Close()
	}
	gradients := make([]float32, count)
	at := gradients
	for i, name := range names {
		size := 1
		for _, dim := range dims[i] {
			size *= int(dim)
		}
		check(headrace.OutputTo(compute, name, at[:size]))
		check(headrace.BindSlice(apply, name, at[:size], dims[i]...))
		at = at[size:]
	}
	check(headrace.OutputTo(compute, "loss", at))
	return gradients
}

// checksum returns that of all variables.
func checksum(session *headrace.Session) (crc uint32) {
	for _, name := range session.Variables() {
		value := try(session.Variable(ctx, name))
		data := try(headrace.Data[float32](value))
		bytes := unsafe.Slice((*byte)(unsafe.Pointer(&data[0])), value.Bytes())
		crc = crc32.Update(crc, crc32.IEEETable, bytes)
		value.Close()
	}
	return crc
}

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: rank MODEL DATA STEPS")
		os.Exit(2)
	}
	env := try(headrace.NewEnv(&headrace.EnvOptions{Threads: 1}))
	group := try(env.NewGroup(ctx, nil))
	session := try(try(env.LoadModel(os.Args[1], nil)).NewSession(ctx, nil))
	compute, apply := try(session.NewCall("gradients")), try(session.NewCall("apply"))
	gradients := bind(session, compute, apply)
	data := try(env.OpenDataset(fmt.Sprintf("%s?batch=16&shuffle=1&seed=5&repeat=forever&shard=%d/%d",
		os.Args[2], group.Rank(), group.Size())))
	check(compute.BindDataset(data))
	for range try(strconv.Atoi(os.Args[3])) {
		check(compute.Run(ctx))
		check(headrace.AllReduce(ctx, group, gradients, gradients, headrace.Average))
		check(apply.Run(ctx))
		fmt.Printf("loss: %08x\n", math.Float32bits(gradients[len(gradients)-1]))
	}
	fmt.Printf("weights: %08x\n", checksum(session))
	group.Close()
	env.Close()
}
