// The tour in Go: ../README.md says what it does.
//
//	tour MODEL OUT                         MODEL is a file of make_model, OUT a folder
package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"

	headrace "github.com/headrace/headrace/bindings/go"
)

const examples, features, classes = 12, 8, 3

var ctx = context.Background()

// try ends the program if something has failed, else returns the value.
func try[T any](value T, err error) T {
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "tour:", err)
		os.Exit(1)
	}
}

// show prints a line: a name, and the bits of each element.
func show(name string, values ...float32) {
	fmt.Print(name, ":")
	for _, value := range values {
		fmt.Printf(" %08x", math.Float32bits(value))
	}
	fmt.Println()
}

// makeData returns the data: all numbers are exact in float32.
func makeData() (x []float32, labels []int64) {
	for i := range examples {
		labels = append(labels, int64(i%classes))
		for j := range features {
			value := float32((i*7+j*5)%17-8) / 16
			if j%classes == i%classes {
				value++
			}
			x = append(x, value)
		}
	}
	return x, labels
}

// infer runs the signature "infer" on two examples and prints "p".
func infer(session *headrace.Session, x []float32, name string) {
	call := try(session.NewCall("infer"))
	defer call.Close()
	check(headrace.BindSlice(call, "x", x[:2*features], 2, features))
	check(call.Run(ctx))
	p := try(call.Result("p"))
	defer p.Close()
	show(name, try(headrace.Data[float32](p))...)
}

// load loads a file and runs it (1).
func load(env *headrace.Env, path string, x []float32, name string) *headrace.Model {
	model := try(env.LoadModel(path, nil))
	session := try(model.NewSession(ctx, nil))
	defer session.Close()
	infer(session, x, name)
	return model
}

// extend goes on building: a new head on the frozen features of the model (2).
func extend(base *headrace.Model) *headrace.Model {
	g := try(base.Graph())
	defer g.Close()
	for v := range try(g.Info()).Variables {
		g.SetTrainable(headrace.Variable(v), false)
	}
	g.RemoveSignature("infer")
	x, features := try(g.FindValue("x")), try(g.FindValue("features"))
	labels := g.NamedInput("labels", headrace.Int64, []int64{-1}, []string{"batch"})
	rate := g.Input("rate", headrace.Float32)
	scores := g.Dense("head", features, classes)
	loss := g.Op("SoftmaxCrossEntropyLoss", "", scores, labels)
	p := g.Op("Softmax", "axis=1", scores)
	g.SignatureInput("infer", "x", x)
	g.SignatureOutput("infer", "p", p)
	g.SignatureInput("train", "x", x)
	g.SignatureInput("train", "labels", labels)
	g.SignatureInput("train", "rate", rate)
	g.SignatureOutput("train", "loss", loss)
	g.Minimize("train", loss, "sgd momentum=0.9", rate)
	g.Prune()
	fmt.Println("variables:", try(g.Info()).Variables)
	return try(g.Model())
}

// tune fine-tunes: the head learns from the data (3).
func tune(env *headrace.Env, session *headrace.Session, x []float32, labels []int64) {
	tensors := []*headrace.Tensor{
		try(headrace.WrapTensor(x, examples, features)), try(headrace.WrapTensor(labels))}
	data := try(env.NewDataset([]string{"x", "labels"}, tensors,
		&headrace.DatasetOptions{Batch: 4, Repeat: 5, Shuffle: true, Seed: 3}))
	defer data.Close()
	step := try(session.NewCall("train"))
	defer step.Close()
	loss := make([]float32, 1)
	check(step.BindDataset(data))
	check(step.BindScalar("rate", 0.125))
	check(headrace.OutputTo(step, "loss", loss))
	for !data.Done(ctx) {
		check(step.Run(ctx))
		show("loss", loss...)
	}
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: tour MODEL OUT")
		os.Exit(2)
	}
	checkpoints, file := filepath.Join(os.Args[2], "checkpoints"), filepath.Join(os.Args[2], "tuned.hrg")
	x, labels := makeData()
	env := try(headrace.NewEnv(&headrace.EnvOptions{Threads: 1}))
	defer env.Close()
	model := extend(load(env, os.Args[1], x, "loaded"))
	session := try(model.NewSession(ctx, &headrace.SessionOptions{Seed: 7}))
	infer(session, x, "untrained")
	tune(env, session, x, labels)
	infer(session, x, "trained")

	// Save a checkpoint to go on from, and a file to serve (4).
	check(session.Save(ctx, checkpoints, nil))
	check(session.Export(ctx, file, []string{"infer"}, nil))

	// Reload both (5).
	again := try(model.NewSession(ctx, nil))
	try(again.Restore(ctx, checkpoints, nil))
	fmt.Println("step:", again.Step())
	infer(again, x, "restored")
	load(env, file, x, "served")

	// What goes wrong says so (6).
	call := try(again.NewCall("infer"))
	err := call.Run(ctx) // "x" is not bound
	fmt.Println("failure:", headrace.CodeOf(err))
}
