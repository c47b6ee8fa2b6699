package headrace

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func newGraphOf(t testing.TB, env *Env) *Graph {
	t.Helper()
	g := must(env.NewGraph())(t)
	t.Cleanup(func() { g.Close() })
	return g
}

// Runs a signature "run" without inputs of a graph that a function builds and returns its output "out".
func evaluate(t testing.TB, build func(g *Graph) Value) []float32 {
	t.Helper()
	session := newSession(t, newEnv(t), func(g *Graph) { g.SignatureOutput("run", "out", build(g)) })
	call := must(session.NewCall("run"))(t)
	check(t, call.Run(background))
	return must(Values[float32](must(call.Result("out"))(t)))(t)
}

func TestGraphsKeepTheirFirstFailure(t *testing.T) {
	g := newGraphOf(t, newEnv(t))
	x := g.Input("x", Float32, 2)
	y := g.Op("Nope", "", x)
	z := g.Op("Relu", "", y)
	if y != None || z != None {
		t.Fatal(y, z)
	}
	expect(t, g.Err(), Unimplemented, "Nope")
	_, err := g.Model()
	expect(t, err, Unimplemented, "Nope")
	expect(t, g.Save(filepath.Join(t.TempDir(), "x.hrg"), nil), Unimplemented)
	expect(t, g.ClearErr(), Unimplemented)
	if got := must(g.TypeOf(g.Op("Relu", "", x)))(t); got != "float32[2]" {
		t.Fatal(got)
	}
	check(t, g.Err())
}

func TestGraphsAreRead(t *testing.T) {
	env := newEnv(t)
	g := newGraphOf(t, env)
	x := g.NamedInput("x", Float32, []int64{-1, 3}, []string{"batch", ""})
	g.Bound("batch", 1, 64, 8, 64)
	table := must(TensorOf(env, []float32{1, 2, 3}))(t)
	constant := g.Constant("table", table)
	weight := g.Variable("weight", table, true)
	noise := g.VariableInit("noise", Float32, []int64{3}, false, "RandomUniform", "low=-1 high=1")
	outputs, node := g.Add(&NodeSpec{Op: "Concat", Name: "joined", Inputs: []Value{x, x}, Attributes: map[string]any{"axis": 0}}, 1)
	g.SignatureInput("s", "in", x)
	g.SignatureOutput("s", "out", outputs[0])
	g.SignatureOutput("s", "read", g.Read(weight))
	check(t, g.Err())
	info := must(g.Info())(t)
	if info.Variables != 2 || info.Signatures != 1 || !slices.Equal(info.Inputs, []Value{x}) {
		t.Fatalf("%+v", info)
	}
	value := must(g.Value(x))(t)
	if value.Name != "x" || value.DType != Float32 || !slices.Equal(value.Dims, []int64{-1, 3}) ||
		!slices.Equal(value.Symbols, []string{"batch", ""}) || value.Producer != None || !value.RankKnown || value.IsConstant {
		t.Fatalf("%+v", value)
	}
	about := must(g.Node(node))(t)
	if about.Name != "joined" || about.Op != "Concat" || !slices.Equal(about.Inputs, []Value{x, x}) ||
		!slices.Equal(about.Outputs, outputs) || !slices.Contains(about.Attributes, AttributeInfo{"axis", AttributeInt}) {
		t.Fatalf("%+v", about)
	}
	if found := must(g.FindNode("joined"))(t); found != node || must(g.FindVariable("noise"))(t) != noise {
		t.Fatal(found)
	}
	variable := must(g.VariableInfo(weight))(t)
	if variable.Name != "weight" || !variable.Trainable || !slices.Equal(variable.Dims, []int64{3}) {
		t.Fatalf("%+v", variable)
	}
	signature := must(g.Signature(must(g.FindSignature("s"))(t)))(t)
	if signature.Name != "s" || !slices.Equal(signature.Inputs, []NamedValue{{"in", x}}) || len(signature.Outputs) != 2 {
		t.Fatalf("%+v", signature)
	}
	contents := must(g.ValueTensor(constant))(t)
	if !slices.Equal(must(Values[float32](contents))(t), []float32{1, 2, 3}) || must(g.ValueTensor(x))(t) != nil {
		t.Fatal(contents)
	}
	if must(g.VariableTensor(weight))(t) == nil || must(g.VariableTensor(noise))(t) != nil {
		t.Fatal("initial values are wrong")
	}
	_, err := g.FindValue("tabel")
	expect(t, err, NotFound, "table")
	_, err = g.Node(12345)
	expect(t, err, InvalidArgument)
}

func TestAttributesAreRead(t *testing.T) {
	env := operatorEnv(t, &Operator{Name: "test.All", MaxInputs: 1, MinOutputs: 1, MaxOutputs: 1,
		Attributes: []OperatorAttribute{{"i", AttributeInt, false}, {"f", AttributeFloat, false}, {"s", AttributeString, false},
			{"is", AttributeInts, false}, {"fs", AttributeFloats, false}},
		Infer:   func(o *InferOp) error { return o.SetOutput(0, Float32, 1) },
		Compute: func(*ComputeOp) error { return nil }})
	g := newGraphOf(t, env)
	_, node := g.Add(&NodeSpec{Op: "test.All", Attributes: map[string]any{
		"i": int64(-3), "f": 0.5, "s": "grüße", "is": []int64{1, 2}, "fs": []float64{0.25}}}, 1)
	check(t, g.Err())
	i, f := must(g.NodeInt(node, "i", 0))(t), must(g.NodeFloat(node, "f", 0))(t)
	s, none := must(g.NodeString(node, "s", "x"))(t), must(g.NodeString(node, "none", "x"))(t)
	if i != -3 || f != 0.5 || s != "grüße" || none != "x" || must(g.NodeInt(node, "none", 7))(t) != 7 {
		t.Fatal(i, f, s, none)
	}
	is, fs := must(g.NodeInts(node, "is"))(t), must(g.NodeFloats(node, "fs"))(t)
	if !slices.Equal(is, []int64{1, 2}) || !slices.Equal(fs, []float64{0.25}) || len(must(g.NodeStrings(node, "none"))(t)) != 0 {
		t.Fatal(is, fs)
	}
	if tensor := must(g.NodeTensor(node, "none"))(t); tensor != nil {
		t.Fatal(tensor)
	}
	_, err := g.NodeInt(node, "s", 0)
	expect(t, err, InvalidArgument)
	g.Add(&NodeSpec{Op: "test.All", Attributes: map[string]any{"i": true}}, 1)
	expect(t, g.ClearErr(), InvalidArgument, "'i'", "bool")
	_, err = g.NodeString(node, "\x00", "")
	expect(t, err, InvalidArgument, "NUL")
}

func TestTensorAttributes(t *testing.T) {
	env := newEnv(t)
	value := must(TensorOf(env, []float32{4, 5}))(t)
	g := newGraphOf(t, env)
	_, node := g.Add(&NodeSpec{Op: "Constant", Attributes: map[string]any{"value": value}}, 1)
	check(t, g.Err())
	_ = node // a constant may be folded into a value at once
	value.Close()
	g.Add(&NodeSpec{Op: "Constant", Attributes: map[string]any{"value": value}}, 1)
	expect(t, g.ClearErr(), FailedPrecondition, "closed")
}

func TestGradients(t *testing.T) {
	env := newEnv(t)
	g := newGraphOf(t, env)
	x := g.Input("x", Float32, 3)
	other := g.Input("other", Float32, 3)
	y := g.Op("Mul", "", x, x)
	gradients := g.Gradients(y, x, other)
	check(t, g.Err())
	if gradients[0] == None || gradients[1] != None {
		t.Fatal(gradients)
	}
	g.SignatureInput("d", "x", x)
	g.SignatureOutput("d", "dx", gradients[0])
	model := must(g.Model())(t)
	call := must(must(model.NewSession(background, nil))(t).NewCall("d"))(t)
	check(t, BindSlice(call, "x", []float32{1, 2, 3}))
	check(t, call.Run(background))
	if got := must(Values[float32](must(call.Result("dx"))(t)))(t); !slices.Equal(got, []float32{2, 4, 6}) {
		t.Fatal(got)
	}
}

func TestAppliedGradients(t *testing.T) {
	env := newEnv(t)
	session := newSession(t, env, func(g *Graph) {
		w := g.Variable("w", must(TensorOf(env, []float32{1, 2}))(t), true)
		frozen := g.Variable("frozen", must(TensorOf(env, []float32{5, 5}))(t), true)
		g.SetTrainable(frozen, false)
		value := g.Read(w)
		loss := g.Op("ReduceSum", "keepdims=0", g.Op("Mul", "", value, g.Read(frozen)))
		rate := g.Input("rate", Float32)
		gradients := g.VariableGradients(loss, w)
		g.ApplyGradients("train", "sgd", rate, []Variable{w}, gradients)
		g.SignatureInput("train", "rate", rate)
		g.SignatureTarget("train", g.AssignAdd(frozen, value))
		g.ApplyGradients("train", "sgd", rate, []Variable{w}, nil)
		expect(t, g.ClearErr(), InvalidArgument, "0 gradients for 1 variables")
	})
	call := must(session.NewCall("train"))(t)
	check(t, call.BindScalar("rate", 0.1))
	check(t, call.Run(background))
	got := must(Values[float32](must(session.Variable(background, "w"))(t)))(t)
	moved := must(Values[float32](must(session.Variable(background, "frozen"))(t)))(t)
	if got[0] != 0.5 || got[1] != 1.5 || !slices.Equal(moved, []float32{6, 7}) {
		t.Fatal(got, moved)
	}
	check(t, session.SetVariable(background, "w", must(TensorOf(env, []float32{9, 9}))(t)))
	expect(t, session.SetVariable(background, "w", must(TensorOf(env, []float32{9}))(t)), InvalidArgument)
	_, err := session.Variable(background, "v")
	expect(t, err, NotFound, "'v'")
	if session.Step() != 1 || !slices.Equal(session.Variables(), []string{"w", "frozen"}) {
		t.Fatal(session.Step(), session.Variables())
	}
}

func TestLayers(t *testing.T) {
	env := newEnv(t)
	g := newGraphOf(t, env)
	x := g.Input("x", Float32, 2, 3, 8, 8)
	y := g.Conv2D("conv", x, 4, 3, "strides=2,2")
	y, update := g.BatchNorm("norm", y, true, "")
	_, none := g.BatchNorm("norm", y, false, "")
	scores := g.Dense("dense", y, 5)
	check(t, g.Err())
	if got := must(g.TypeOf(scores))(t); got != "float32[2, 5]" || update == None || none != None {
		t.Fatal(got, update, none)
	}
	g.SignatureOutput("run", "y", scores)
	g.SignatureTarget("run", update)
	g.SetMetadata("author", "me")
	g.Device("")
	g.RemoveSignature("nobody")
	expect(t, g.ClearErr(), NotFound, "nobody")
	g.Prune()
	check(t, g.Err())
}

func TestAssignAndOps(t *testing.T) {
	out := evaluate(t, func(g *Graph) Value {
		x := g.Op("Constant", "value_floats=3,1,2")
		return g.Ops("TopK", "", 2, x, g.Op("Constant", "value_ints=2"))[0]
	})
	if !slices.Equal(out, []float32{3, 2}) {
		t.Fatal(out)
	}
}

func TestModelsAreSavedAndLoaded(t *testing.T) {
	env := newEnv(t)
	g := newGraphOf(t, env)
	linear(g)
	path := filepath.Join(t.TempDir(), "linear.hrg")
	check(t, g.Save(path, &SaveOptions{SideFile: "weights.bin"}))
	side := must(env.LoadModel(path, &LoadOptions{VerifyChecksums: true}))(t)
	side.Close()
	check(t, g.Save(path, nil))
	data := must(os.ReadFile(path))(t)
	file := must(os.Open(path))(t)
	defer file.Close()
	models := []*Model{
		must(env.LoadModel(path, &LoadOptions{ReadWholeFile: true}))(t),
		must(env.LoadModelBytes(data, nil))(t),
		must(env.LoadModelFrom(file, int64(len(data)), nil))(t),
	}
	for _, model := range models {
		session := must(model.NewSession(background, nil))(t)
		if got := session.Variables(); !slices.Contains(got, "layer/weight") {
			t.Fatal(got)
		}
		dot := must(model.GraphText("dot"))(t)
		view := must(model.View("json", "infer", 0))(t)
		if !strings.Contains(dot, "digraph") || !json.Valid([]byte(view)) || !json.Valid(must(model.Describe())(t)) {
			t.Fatal(dot, view)
		}
		again := must(model.Graph())(t)
		if info := must(again.Info())(t); info.Variables != 2 {
			t.Fatalf("%+v", info)
		}
	}
	if about := must(DescribeModelFile(path))(t); !json.Valid(about) {
		t.Fatal(string(about))
	}
}

type badReader struct{ panics bool }

func (r badReader) ReadAt([]byte, int64) (int, error) {
	if r.panics {
		panic("the disk is gone")
	}
	return 0, os.ErrPermission
}

func TestReadersThatFail(t *testing.T) {
	env := newEnv(t)
	_, err := env.LoadModelFrom(badReader{}, 1000, nil)
	expect(t, err, Unknown, "permission denied")
	_, err = env.LoadModelFrom(badReader{panics: true}, 1000, nil)
	expect(t, err, Internal, "the disk is gone")
	_, err = env.LoadModelFrom(strings.NewReader("short"), 1000, nil)
	expect(t, err, DataLoss, "ended")
	_, err = env.LoadModelFrom(nil, 0, nil)
	expect(t, err, InvalidArgument)
	_, err = env.LoadModelBytes([]byte("no model at all, but long enough to be looked at"), nil)
	if err == nil {
		t.Fatal("nonsense was loaded")
	}
	_, err = env.LoadModelBytes(nil, nil)
	if err == nil {
		t.Fatal("nothing was loaded")
	}
}

// Returns a graph with a signature "body" from the inputs to what a function makes of them.
func bodyGraph(t testing.TB, env *Env, dtypes []DType, build func(g *Graph, in []Value) []Value) *Graph {
	t.Helper()
	g := newGraphOf(t, env)
	var in []Value
	for i, dtype := range dtypes {
		in = append(in, g.Input(string(rune('a'+i)), dtype))
		g.SignatureInput("body", string(rune('a'+i)), in[i])
	}
	for i, value := range build(g, in) {
		g.SignatureOutput("body", string(rune('a'+i)), value)
	}
	return g
}

func TestControlFlow(t *testing.T) {
	env := newEnv(t)
	double := bodyGraph(t, env, []DType{Float32}, func(g *Graph, in []Value) []Value {
		return []Value{g.Op("Add", "", in[0], in[0])}
	})
	negate := bodyGraph(t, env, []DType{Float32}, func(g *Graph, in []Value) []Value {
		return []Value{g.Op("Neg", "", in[0])}
	})
	step := bodyGraph(t, env, []DType{Int64, Bool, Float32}, func(g *Graph, in []Value) []Value {
		next := g.Op("Add", "", in[2], in[2])
		return []Value{g.Op("Identity", "", in[1]), next, g.Op("Identity", "", next)}
	})
	sums := bodyGraph(t, env, []DType{Float32, Float32}, func(g *Graph, in []Value) []Value {
		sum := g.Op("Add", "", in[0], in[1])
		return []Value{sum, g.Op("Identity", "", sum)}
	})
	session := newSession(t, env, func(g *Graph) {
		x, positive := g.Input("x", Float32), g.Input("positive", Bool)
		twice, minus := g.Body(double, "body"), g.Body(negate, "body")
		list := g.Op("Constant", "value_floats=1,2,3")
		g.SignatureInput("run", "x", x)
		g.SignatureInput("run", "positive", positive)
		g.SignatureOutput("run", "if", g.If(positive, twice, minus, []Value{x}, 1)[0])
		g.SignatureOutput("run", "call", g.Call(minus, 1, x)[0])
		g.SignatureOutput("run", "loop", g.Loop(g.Op("Constant", "value_int=3"), None, g.Body(step, "body"), []Value{x}, nil, 2)[1])
		g.SignatureOutput("run", "scan", g.Scan(g.Body(sums, "body"), "", []Value{x}, []Value{list}, nil, 2)[1])
		check(t, g.Err())
		g.SequenceInput("sequence", Float32)
		check(t, g.Err())
		g.Add(&NodeSpec{Op: "SequenceMap", Inputs: []Value{g.Op("SequenceConstruct", "", x, x)},
			Attributes: map[string]any{"body": twice}}, 1)
		check(t, g.ClearErr())
		broken := newGraphOf(t, env)
		broken.Op("Nope", "")
		g.Body(broken, "body")
		expect(t, g.ClearErr(), Unimplemented, "Nope")
		g.Body(double, "nobody")
		expect(t, g.ClearErr(), NotFound, "nobody")
	})
	call := must(session.NewCall("run"))(t)
	check(t, call.Bind("x", must(Scalar(env, float32(5)))(t)))
	check(t, call.Bind("positive", must(Scalar(env, false))(t)))
	check(t, call.Run(background))
	for output, want := range map[string][]float32{"if": {-5}, "call": {-5}, "loop": {10, 20, 40}, "scan": {6, 8, 11}} {
		if got := must(Values[float32](must(call.Result(output))(t)))(t); !slices.Equal(got, want) {
			t.Error(output, got, want)
		}
	}
}

func TestTrainingGraphs(t *testing.T) {
	env := newEnv(t)
	session := newSession(t, env, func(g *Graph) {
		x := g.Input("x", Float32, -1, 2)
		body := g.Dense("body", x, 2)
		y := g.Dense("head", body, 1)
		loss := g.Op("ReduceMean", "keepdims=0", g.Op("Mul", "", y, y))
		if got := g.SetTrainableMatching("body/*", false); got != 2 {
			t.Fatal(got)
		}
		rate := g.Schedule("train", "cosine base=0.1 steps=10")
		g.SignatureInput("train", "x", x)
		g.SignatureOutput("train", "loss", loss)
		g.SignatureInput("eval", "x", x)
		g.SignatureOutput("eval", "loss", loss)
		g.CopySignature("eval", "copy")
		clipped, norm := g.ClipGradients("value=0.5 global_norm=1", g.Gradients(loss, body)[0], None)
		if clipped[0] == None || clipped[1] != None || norm == None {
			t.Fatal(clipped, norm)
		}
		g.MinimizeGroups("train", loss, ParameterGroup{"head/weight", "sgd average=0.9", rate}, ParameterGroup{"*", "adam", rate})
		g.AverageSignature("eval", "average")
		g.SwapAverages("swap")
		g.SetTrainableMatching("hed/*", true)
		expect(t, g.ClearErr(), NotFound, "head")
		relu := g.Op("Relu", "", body)
		g.Replace(body, relu)
	})
	for _, signature := range []string{"train", "average", "copy"} {
		call := must(session.NewCall(signature))(t)
		check(t, BindSlice(call, "x", []float32{1, 2}, 1, 2))
		check(t, call.Run(background))
	}
	check(t, must(session.NewCall("swap"))(t).Run(background))
}

func TestExporting(t *testing.T) {
	env, folder := newEnv(t), t.TempDir()
	path, onnx := filepath.Join(folder, "linear.hrg"), filepath.Join(folder, "linear.onnx")
	check(t, newSession(t, env, linear).Export(background, path, []string{"infer"}, nil))
	report, err := env.ExportModel(background, path, onnx, &ExportOptions{Signature: "infer"})
	if CodeOf(err) == Unavailable {
		t.Skip(err) // the library was built without the plugin
	}
	check(t, err)
	if !json.Valid(report) {
		t.Fatal(string(report))
	}
	again := must(env.ConvertModel(background, onnx, filepath.Join(folder, "again.hrg"), nil))(t)
	if !strings.Contains(string(again), "variable_bytes") {
		t.Fatal(string(again))
	}
	again = must(env.ConvertModel(background, onnx, filepath.Join(folder, "again.hrg"), &ConvertOptions{Simplify: true}))(t)
	if !strings.Contains(string(again), "simplified") {
		t.Fatal(string(again))
	}
	_, err = env.ExportModel(background, path, onnx, &ExportOptions{Signature: "nobody"})
	expect(t, err, NotFound, "nobody")
	_, _, err = env.LoadTensor(filepath.Join(folder, "nothing.pb"))
	expect(t, err, NotFound, "nothing.pb")
	// A TensorProto: dims 2, float32, name "x", raw data.
	check(t, os.WriteFile(filepath.Join(folder, "x.pb"), append([]byte("\x08\x02\x10\x01\x42\x01x\x4a\x08"), 0, 0, 0x80, 0x3f, 0, 0, 0, 0x40), 0o600))
	tensor, name, err := env.LoadTensor(filepath.Join(folder, "x.pb"))
	check(t, err)
	if got := must(Values[float32](tensor))(t); name != "x" || !slices.Equal(got, []float32{1, 2}) {
		t.Fatal(name, got)
	}
}

func TestConverting(t *testing.T) {
	_, err := newEnv(t).ConvertModel(background, "/no/such.onnx", filepath.Join(t.TempDir(), "x.hrg"), &ConvertOptions{Constants: true})
	expect(t, err, NotFound, "such.onnx")
	_, err = newEnv(t).ConvertModel(background, "model.what", "x.hrg", nil)
	if err == nil {
		t.Fatal("an unknown format was converted")
	}
}

func TestAdaptersAndMetrics(t *testing.T) {
	env, folder := newEnv(t), t.TempDir()
	session := newSession(t, env, func(g *Graph) {
		linear(g)
		g.RemoveSignature("train")
		g.Prune()
		if got := g.AddLoRA("layer/weight", "rank=1", ""); got != 1 {
			t.Fatal(got, g.Err())
		}
		g.AddLoRA("nobody", "", "")
		expect(t, g.ClearErr(), NotFound, "nobody")
	})
	path := filepath.Join(folder, "adapters.safetensors")
	check(t, session.SaveAdapters(background, path))
	check(t, session.LoadAdapters(background, path))
	expect(t, session.LoadAdapters(background, filepath.Join(folder, "nothing")), NotFound)
	for _, merge := range []bool{false, true} {
		file := filepath.Join(folder, "serve.hrg")
		check(t, session.Export(background, file, []string{"infer"}, &SaveOptions{MergeAdapters: merge}))
		about := string(must(must(env.LoadModel(file, nil))(t).Describe())(t))
		if strings.Contains(about, "lora") == merge {
			t.Fatal(merge, about)
		}
	}
	metrics := must(session.EvaluateMetrics(background, "", linearData(t, env, 1)))(t)
	if !strings.Contains(string(metrics), "loss") {
		t.Fatal(string(metrics))
	}
}
