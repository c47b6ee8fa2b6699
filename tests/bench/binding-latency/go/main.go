// The Go side of the benchmark. usage: binding-latency ENGINE
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"time"

	headrace "github.com/headrace/headrace/bindings/go"
	ort "github.com/yalue/onnxruntime_go"
)

// engine is a model with its input and output bound.
type engine struct {
	run     func() error
	result  []float32 // what the last run has computed
	version string
}

// of describes a case.
type of struct {
	input, output string
	isMagika      bool
	elements      int // of the output
}

func caseOf(name string) of {
	if name == "magika" {
		return of{"bytes", "target_label", true, 214}
	}
	return of{"x", "y", false, 4}
}

func (c of) shape() []int64 {
	if c.isMagika {
		return []int64{1, int64(c.elements)}
	}
	return []int64{int64(c.elements)}
}

func numbers() []float32 { return []float32{1, 2, 3, 4} }

func bytes() []int32 {
	out := make([]int32, 2048)
	for i := range out {
		out[i] = int32(i % 257)
	}
	return out
}

// try ends the program if something has failed, else returns the value.
func try[T any](value T, err error) T {
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func ofHeadrace(path string, c of, threads int) *engine {
	ctx := context.Background()
	env := try(headrace.NewEnv(&headrace.EnvOptions{Threads: threads}))
	session := try(try(env.LoadModel(path+".hrg", nil)).NewSession(ctx, nil))
	call, y := try(session.NewCall("infer")), make([]float32, c.elements)
	if c.isMagika {
		check(headrace.BindSlice(call, c.input, bytes(), 1, 2048))
	} else {
		check(headrace.BindSlice(call, c.input, numbers()))
	}
	check(headrace.OutputTo(call, c.output, y))
	return &engine{func() error { return call.Run(ctx) }, y, headrace.Version()}
}

func ofOnnxRuntime(path string, c of, threads int) *engine {
	if !ort.IsInitialized() {
		ort.SetSharedLibraryPath(os.Getenv("ONNXRUNTIME"))
		check(ort.InitializeEnvironment())
	}
	options := try(ort.NewSessionOptions())
	check(options.SetIntraOpNumThreads(threads))
	var x ort.Value
	if c.isMagika {
		x = try(ort.NewTensor(ort.NewShape(1, 2048), bytes()))
	} else {
		x = try(ort.NewTensor(ort.NewShape(4), numbers()))
	}
	y := make([]float32, c.elements)
	bound := try(ort.NewTensor(ort.NewShape(c.shape()...), y))
	session := try(ort.NewAdvancedSession(path+".onnx", []string{c.input}, []string{c.output},
		[]ort.Value{x}, []ort.Value{bound}, options))
	return &engine{session.Run, y, ort.GetVersion()}
}

// side measures an engine.
type side struct {
	engine *engine
	count  int
}

// newSide finds how many runs take about 0.1 s, and warms up on the way.
func newSide(which, name string) *side {
	threads := 2
	fmt.Sscan(os.Getenv("HEADRACE_BENCH_THREADS"), &threads)
	open := map[string]func(string, of, int) *engine{"headrace": ofHeadrace, "onnxruntime": ofOnnxRuntime}[which]
	if open == nil {
		log.Fatalf("there is no engine %q", which)
	}
	s := &side{open(os.Getenv("HEADRACE_BENCH_SCRATCH")+"/"+name, caseOf(name), threads), 1}
	for ; ; s.count *= 2 {
		if each := s.time(); each*float64(s.count) > 0.02 {
			s.count = max(1, int(0.1/each))
			return s
		}
	}
}

// time returns how many seconds a run takes.
func (s *side) time() float64 {
	begin := time.Now()
	for range s.count {
		check(s.engine.run())
	}
	return time.Since(begin).Seconds() / float64(s.count)
}

func (s *side) answer(repeats int) map[string]any {
	values := make([]float64, repeats)
	for i := range values {
		values[i] = 1e6 * s.time()
	}
	return map[string]any{"values": values, "version": s.engine.version, "result": s.engine.result}
}

func main() {
	sides := map[string]*side{}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var name string
		repeats := 1
		try(fmt.Sscan(lines.Text(), &name, &repeats))
		if sides[name] == nil {
			sides[name] = newSide(os.Args[1], name)
		}
		fmt.Println(string(try(json.Marshal(sides[name].answer(repeats)))))
	}
}
