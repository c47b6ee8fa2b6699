//! Building and reading graphs, models, tensors.
mod common;

use common::{negation, Folder};
use headrace::{
    AttributeKind, Call, Code, Compute, ConvertOptions, DType, Dim, Env, ExportOptions, Gradient,
    Graph, GraphView, Infer, LoadOptions, Model, ModelReader, NodeSpec, Operator,
    OperatorAttribute, OperatorDef, ParameterGroup, Result, SaveOptions, Session, Tensor,
};

#[test]
fn what_is_built_can_be_read() -> Result<()> {
    let env = Env::new()?;
    let mut graph = Graph::new(&env)?;
    let x = graph.input("x", DType::FLOAT32, &["batch".into(), 4.into(), Dim::Unknown])?;
    graph.bound("batch", 1, Some(64), &[8, 64])?;
    let weights = Tensor::from_vec(vec![1.0f32, 2.0], &[2])?;
    let c = graph.constant(Some("c"), &weights)?;
    let v = graph.variable("v", &weights, true)?;
    let drawn = graph.variable_init("r", DType::FLOAT32, &[3], false, "RandomUniform", "low=0")?;
    let spec = NodeSpec::new("Transpose")?.name("turned")?.input(x).ints("perm", &[2, 1, 0])?;
    let (outputs, node) = graph.add(&spec, 1)?;
    let assigned = graph.assign(v, c)?;
    let read = graph.read(v)?;

    let info = graph.value_info(x)?;
    assert_eq!(info.dims, Some(vec!["batch".into(), 4.into(), Dim::Unknown]));
    assert_eq!((info.dtype, info.producer, info.is_constant), (DType::FLOAT32, None, false));
    assert_eq!(graph.type_of(x)?, "float32[batch, 4, ?]");
    let info = graph.node_info(node)?;
    assert_eq!((info.op.as_str(), info.name.as_str()), ("Transpose", "turned"));
    assert_eq!((info.inputs, &info.outputs[0]), (vec![Some(x)], &Some(outputs[0])));
    assert_eq!(info.attributes, [("perm".to_owned(), AttributeKind::INTS)]);
    assert_eq!(graph.node_ints(node, "perm")?, [2, 1, 0]);
    assert_eq!(graph.node_int(node, "none", 9)?, 9);
    assert_eq!(graph.node_float(node, "none", 0.5)?, 0.5);
    assert_eq!(graph.node_string(node, "none", None)?, None);
    assert_eq!(graph.node_string(node, "none", Some("f"))?.as_deref(), Some("f"));
    assert!(
        graph.node_floats(node, "none")?.is_empty() && graph.node_strings(node, "none")?.is_empty()
    );
    assert!(graph.node_tensor(node, "none")?.is_none());
    assert_eq!(graph.find_node("turned")?, node);
    assert_eq!(graph.find_variable("v")?, v);
    assert_eq!(graph.find_value("nix").unwrap_err().code(), Code::NOT_FOUND);
    assert_eq!(graph.value_tensor(c)?.unwrap().as_slice::<f32>()?, [1.0, 2.0]);
    assert!(graph.value_tensor(x)?.is_none() && graph.variable_tensor(drawn)?.is_none());
    assert_eq!(graph.variable_tensor(v)?.unwrap().as_slice::<f32>()?, [1.0, 2.0]);
    let info = graph.variable_info(v)?;
    assert_eq!((info.name.as_str(), info.shape, info.trainable), ("v", vec![2], true));
    assert_eq!(graph.variables()?.count(), 2);
    assert!(graph.nodes()?.count() >= 3);

    graph.signature_output("infer", "read", read)?;
    graph.signature_target("infer", assigned)?;
    let signature = graph.find_signature("infer")?;
    assert_eq!(
        (signature.outputs, signature.targets),
        (vec![("read".into(), read)], vec![assigned])
    );
    assert_eq!(graph.signatures()?.len(), 1);
    graph.prune()?;
    assert_eq!(graph.find_node("turned").unwrap_err().code(), Code::NOT_FOUND);
    Ok(())
}

#[test]
fn every_kind_of_attribute_can_be_set() -> Result<()> {
    let mut graph = Graph::new(&Env::new()?)?;
    let value = Tensor::from_vec(vec![3.0f32], &[1])?;
    let (outputs, node) = graph.add(&NodeSpec::new("Constant")?.tensor("value", &value)?, 1)?;
    assert_eq!(graph.node_tensor(node, "value")?.unwrap().as_slice::<f32>()?, [3.0]);
    let spec = NodeSpec::new("LeakyRelu")?.device("")?.input(outputs[0]).after(node);
    let (_, leaky) = graph.add(&spec.float("alpha", 0.25)?, 1)?;
    assert_eq!(graph.node_float(leaky, "alpha", 0.0)?, 0.25);
    let (x, _) = graph.add(&NodeSpec::new("Constant")?.floats("value_floats", &[1.0, 2.0])?, 1)?;
    let (_, softmax) = graph.add(&NodeSpec::new("Softmax")?.input(x[0]).int("axis", 0)?, 1)?;
    assert_eq!(graph.node_int(softmax, "axis", 7)?, 0);
    let spec = NodeSpec::new("Gelu")?.input(x[0]).string("approximate", "tanh")?;
    let (_, gelu) = graph.add(&spec, 1)?;
    assert_eq!(graph.node_string(gelu, "approximate", None)?.as_deref(), Some("tanh"));
    let wrong = NodeSpec::new("Relu")?.input(x[0]).strings("names", &["a", "b"])?;
    assert_eq!(graph.add(&wrong, 1).unwrap_err().code(), Code::INVALID_ARGUMENT);
    graph.device(None)
}

#[test]
fn gradients_and_updates_can_be_built_by_hand() -> Result<()> {
    let env = Env::new()?;
    let mut graph = Graph::new(&env)?;
    let x = graph.input("x", DType::FLOAT32, &[1.into(), 3.into(), 6.into(), 6.into()])?;
    let y = graph.conv2d("conv", x, 2, 3, "")?;
    let (y, update) = graph.batch_norm("norm", y, true, "momentum=0.1")?;
    let loss = graph.op("ReduceMean", "keepdims=0", &[y])?;
    let unused = graph.variable("unused", &Tensor::from_vec(vec![0.0f32], &[1])?, true)?;
    let weight = graph.find_variable("conv/weight")?;
    let gradients = graph.variable_gradients(loss, &[weight, unused])?;
    assert!(gradients[0].is_some() && gradients[1].is_none());
    assert!(graph.gradients(loss, &[x])?[0].is_some());
    let rate = graph.constant(None, &Tensor::from_vec(vec![0.1f32], &[])?)?;
    let updates = [(weight, gradients[0]), (unused, gradients[1])];
    graph.apply_gradients("train", "sgd", rate, &updates)?;
    graph.signature_target("train", update.expect("it trains"))?;
    graph.signature_input("train", "x", x)?;
    graph.set_trainable(weight, false)?;
    graph.set_metadata("author", "a test")?;
    let step = graph.variable("step", &Tensor::from_vec(vec![0i64], &[])?, false)?;
    let one = graph.constant(None, &Tensor::from_vec(vec![1i64], &[])?)?;
    let counted = graph.assign_add(step, one)?;
    graph.signature_target("train", counted)?;
    let session = Session::new(&graph.to_model()?, None)?;
    let mut call = Call::new(&session, "train")?;
    call.bind("x", Tensor::from_vec(vec![0.5f32; 108], &[1, 3, 6, 6])?)?;
    call.run(None)?;
    call.run(None)?;
    assert_eq!(session.variable("step", None)?.to_vec::<i64>()?, [2]);
    assert!(session.variables().contains(&"conv/weight".to_owned()));
    graph.remove_signature("train")
}

#[test]
fn models_are_saved_and_loaded_in_every_way() -> Result<()> {
    struct Bytes(Vec<u8>);
    impl ModelReader for Bytes {
        fn size(&self) -> u64 {
            self.0.len() as u64
        }
        fn read(&mut self, offset: u64, out: &mut [u8]) -> Result<()> {
            out.copy_from_slice(&self.0[offset as usize..offset as usize + out.len()]);
            Ok(())
        }
    }
    let (env, folder) = (Env::new()?, Folder::new());
    let file = folder.0.join("model \u{1F40E}.hrg");
    let graph = Graph::from_model(&negation(&env)?)?;
    graph.save(&file, None)?;
    let bytes = std::fs::read(&file).unwrap();
    let options =
        LoadOptions { read_whole_file: true, verify_checksums: true, ..Default::default() };
    let models = [
        Model::load(&env, &file, Some(&options))?,
        Model::load_memory(&env, bytes.clone(), None)?,
        Model::load_from(&env, Bytes(bytes), None)?,
    ];
    for model in &models {
        assert_eq!(common::infer(&Session::new(model, None)?, &[1.0])?, [-1.0]);
    }
    assert!(models[0].describe()?.contains("infer"));
    assert!(models[0].graph_text("dot")?.contains("digraph"));
    let view = GraphView { signature: Some("infer"), graph: 0 };
    assert!(models[0].view("json", &view)?.contains("Neg"));
    let stripped = SaveOptions {
        strip_names: true,
        side_file: Some("side.bin".to_owned()),
        ..Default::default()
    };
    graph.save(folder.0.join("stripped.hrg"), Some(&stripped))
}

// ---- Operators ----

/// y = x^2 scaled by an attribute.
struct Square;

impl Operator for Square {
    fn infer(&self, node: &mut Infer<'_>) -> Result<()> {
        let (dtype, dims) = node.input(0);
        assert_eq!((node.input_count(), node.output_count()), (1, 1));
        assert_eq!(node.string("name", Some("none"))?.as_deref(), Some("none"));
        assert!(node.floats("list")?.is_empty());
        node.set_output(0, dtype, dims.as_deref())
    }

    fn compute(&self, node: &mut Compute<'_>) -> Result<()> {
        let (scale, x) = (node.float("scale", 1.0)? as f32, node.input::<f32>(0)?);
        assert_eq!(node.input_type(0)?, node.output_type(0)?);
        assert_eq!(node.input::<i32>(0).unwrap_err().code(), Code::INVALID_ARGUMENT);
        assert_eq!(node.input::<f32>(1).unwrap_err().code(), Code::OUT_OF_RANGE);
        let y = node.output::<f32>(0)?;
        assert_eq!(node.output::<f32>(0).unwrap_err().code(), Code::FAILED_PRECONDITION);
        for (y, x) in y.iter_mut().zip(x) {
            *y = scale * x * x;
        }
        Ok(())
    }

    fn gradient(&self, node: &mut Gradient<'_>) -> Result<()> {
        let (x, dy) = (node.input(0).unwrap(), node.output_gradient(0).unwrap());
        assert!(node.wants(0) && node.output(0).is_some() && node.output(1).is_none());
        let two = node.scalar(2.0 * node.float("scale", 1.0)?, x)?;
        let slope = node.op("Mul", "", &[x, two])?;
        let dx = node.op("Mul", "", &[slope, dy])?;
        node.set(0, dx)
    }
}

#[test]
fn an_operator_of_the_host_is_as_any() -> Result<()> {
    let env = Env::new()?;
    let attribute =
        |name: &str, kind| OperatorAttribute { name: name.into(), kind, required: false };
    let def = OperatorDef {
        differentiable: true,
        attributes: vec![
            attribute("scale", AttributeKind::FLOAT),
            attribute("name", AttributeKind::STRING),
            attribute("list", AttributeKind::FLOATS),
        ],
        ..OperatorDef::new("test.Square", 1, 1)
    };
    env.add_operator(&def, Square)?;
    assert_eq!(env.add_operator(&def, Square).unwrap_err().code(), Code::ALREADY_EXISTS);
    let mut graph = Graph::new(&env)?;
    let x = graph.input("x", DType::FLOAT32, &["n".into()])?;
    let y = graph.op("test.Square", "scale=3", &[x])?;
    let dx = graph.gradients(y, &[x])?[0].expect("it has a gradient");
    graph.name_value(y, "y")?;
    graph.name_value(dx, "dx")?;
    let session = Session::new(&graph.to_model()?, None)?;
    let x = Tensor::from_vec(vec![1.0f32, 2.0], &[2])?;
    let outputs = session.run(&[("x", &x)], &["y", "dx"], &[], None)?;
    assert_eq!(outputs[0].as_slice::<f32>()?, [3.0, 12.0]);
    assert_eq!(outputs[1].as_slice::<f32>()?, [6.0, 12.0]);
    Ok(())
}

// ---- Tensors ----

#[test]
fn tensors_go_through_dlpack_without_a_copy() -> Result<()> {
    let tensor = Tensor::from_vec(vec![1.0f32, 2.0], &[2])?;
    let managed = tensor.to_dlpack()?;
    // SAFETY: the managed tensor is valid, and nobody writes it.
    let imported = unsafe { Tensor::from_dlpack(managed)? };
    assert_eq!(imported.as_ptr(), tensor.as_ptr());
    drop(tensor);
    assert_eq!(imported.as_slice::<f32>()?, [1.0, 2.0]);
    assert_eq!((imported.device().0, imported.is_read_only()), (1, false));
    assert_eq!(imported.device_data().cast(), imported.as_ptr());
    let unused = imported.to_dlpack()?;
    // SAFETY: whoever takes a managed tensor calls its deleter once.
    unsafe { (*unused).deleter.expect("it has one")(unused) };
    Ok(())
}

#[cfg(feature = "ndarray")]
#[test]
fn arrays_become_tensors_and_back() -> Result<()> {
    use headrace::TensorView;
    use ndarray::{arr2, s, Array2};
    let array = arr2(&[[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    let address = array.as_ptr();
    let mut tensor = Tensor::from_ndarray(array)?;
    assert_eq!((tensor.as_ptr().cast(), tensor.shape()), (address, &[2i64, 3][..]));
    tensor.as_array_mut::<f32>()?[[1, 2]] = 9.0;
    assert_eq!(tensor.as_array::<f32>()?[[1, 2]], 9.0);

    let array: Array2<f32> = arr2(&[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]);
    let view = TensorView::from_array_view(array.t())?;
    assert_eq!((view.as_ptr().cast(), view.strides()), (array.as_ptr(), Some(&[1i64, 2][..])));
    assert_eq!(view.as_slice::<f32>().unwrap_err().code(), Code::FAILED_PRECONDITION);
    assert_eq!(view.to_vec::<f32>()?, [1.0, 3.0, 5.0, 2.0, 4.0, 6.0]);
    assert_eq!(view.to_array::<f32>()?.shape(), [2, 3]);
    let copy = view.to_tensor(&Env::new()?)?;
    assert_eq!(copy.as_slice::<f32>()?, [1.0, 3.0, 5.0, 2.0, 4.0, 6.0]);
    let backwards = array.slice(s![..;-1, ..]);
    assert!(TensorView::from_array_view(backwards).is_err());
    let column = Tensor::from_ndarray(array.slice(s![.., 1]).to_owned())?;
    assert_eq!(column.as_slice::<f32>()?, [2.0, 4.0, 6.0]);
    let empty = TensorView::from_array_view(array.slice(s![0..0, ..]))?.to_vec::<f32>()?;
    assert!(empty.is_empty());
    Ok(())
}

#[test]
fn scalars_and_empty_tensors_have_elements() -> Result<()> {
    let env = Env::new()?;
    let scalar = Tensor::copy_of(&env, &[5u16], &[])?;
    assert_eq!((scalar.shape(), scalar.as_slice::<u16>()?), (&[][..], &[5u16][..]));
    let mut empty = Tensor::zeros(&env, DType::FLOAT32, &[0, 3])?;
    assert!(empty.is_empty() && empty.as_slice::<f32>()?.is_empty());
    assert!(empty.as_mut_slice::<f32>()?.is_empty());
    assert!(Tensor::from_vec(Vec::<f32>::new(), &[0])?.as_slice::<f32>()?.is_empty());
    assert_eq!((DType::BFLOAT16.name(), DType::BFLOAT16.size()), ("bfloat16", 2));
    Ok(())
}

// ---- Control flow and training graphs ----

/// The signature "f" of a graph of its own: x -> op(x, x).
fn twice(env: &Env, op: &str) -> Result<Graph> {
    let mut graph = Graph::new(env)?;
    let x = graph.input("x", DType::FLOAT32, &["n".into()])?;
    let y = graph.op(op, "", &[x, x])?;
    graph.signature_input("f", "x", x)?;
    graph.signature_output("f", "y", y)?;
    Ok(graph)
}

#[test]
fn branches_and_calls_have_bodies() -> Result<()> {
    let env = Env::new()?;
    let mut graph = Graph::new(&env)?;
    let x = graph.input("x", DType::FLOAT32, &["n".into()])?;
    let positive = graph.input("positive", DType::BOOL, &[])?;
    let sum = graph.body(&twice(&env, "Add")?, "f")?;
    let product = graph.body(&twice(&env, "Mul")?, "f")?;
    let branch = graph.branch(positive, sum, product, &[x], 1)?[0];
    let called = graph.call(product, &[branch], 1)?[0];
    graph.name_value(called, "y")?;
    let session = Session::new(&graph.to_model()?, None)?;
    let x = Tensor::from_vec(vec![3.0f32], &[1])?;
    for (flag, expected) in [(true, 36.0), (false, 81.0)] {
        let flag = Tensor::from_vec(vec![flag], &[])?;
        let outputs = session.run(&[("x", &x), ("positive", &flag)], &["y"], &[], None)?;
        assert_eq!(outputs[0].as_slice::<f32>()?, [expected]);
    }
    Ok(())
}

#[test]
fn loops_have_states_and_scans() -> Result<()> {
    let env = Env::new()?;
    let mut body = Graph::new(&env)?;
    let iteration = body.input("i", DType::INT64, &[])?;
    let go_on = body.input("go_on", DType::BOOL, &[])?;
    let state = body.input("state", DType::FLOAT32, &[])?;
    let doubled = body.op("Add", "", &[state, state])?;
    for (name, value) in [("i", iteration), ("go_on", go_on), ("state", state)] {
        body.signature_input("f", name, value)?;
    }
    for (name, value) in [("again", go_on), ("doubled", doubled), ("scan", state)] {
        body.signature_output("f", name, value)?;
    }
    let mut graph = Graph::new(&env)?;
    let start = graph.input("start", DType::FLOAT32, &[])?;
    let trips = graph.constant(None, &Tensor::from_vec(vec![4i64], &[])?)?;
    let body = graph.body(&body, "f")?;
    let outputs = graph.while_loop((Some(trips), None), body, &[start], &[], 2)?;
    graph.name_value(outputs[0], "last")?;
    graph.name_value(outputs[1], "all")?;
    let session = Session::new(&graph.to_model()?, None)?;
    let start = Tensor::from_vec(vec![1.0f32], &[])?;
    let outputs = session.run(&[("start", &start)], &["last", "all"], &[], None)?;
    assert_eq!(outputs[0].as_slice::<f32>()?, [16.0]);
    assert_eq!(outputs[1].as_slice::<f32>()?, [1.0, 2.0, 4.0, 8.0]);
    Ok(())
}

#[test]
fn a_scan_goes_over_slices() -> Result<()> {
    let env = Env::new()?;
    let mut body = Graph::new(&env)?;
    let sum = body.input("sum", DType::FLOAT32, &[])?;
    let slice = body.input("slice", DType::FLOAT32, &[])?;
    let next = body.op("Add", "", &[sum, slice])?;
    body.signature_input("f", "sum", sum)?;
    body.signature_input("f", "slice", slice)?;
    body.signature_output("f", "next", next)?;
    body.signature_output("f", "scan", next)?;
    let mut graph = Graph::new(&env)?;
    let x = graph.input("x", DType::FLOAT32, &[3.into()])?;
    let zero = graph.constant(None, &Tensor::from_vec(vec![0.0f32], &[])?)?;
    let body = graph.body(&body, "f")?;
    let outputs = graph.scan(body, "", &[zero], &[x], &[], 2)?;
    graph.name_value(outputs[1], "sums")?;
    let session = Session::new(&graph.to_model()?, None)?;
    let x = Tensor::from_vec(vec![1.0f32, 2.0, 3.0], &[3])?;
    let sums = session.run(&[("x", &x)], &["sums"], &[], None)?;
    assert_eq!(sums[0].as_slice::<f32>()?, [1.0, 3.0, 6.0]);
    let sequence = graph.input_sequence("sequence", DType::FLOAT32)?;
    let twice = graph.body(&twice(&env, "Add")?, "f")?;
    let spec = NodeSpec::new("SequenceMap")?.input(sequence);
    assert_eq!(graph.add(&spec, 1).unwrap_err().code(), Code::INVALID_ARGUMENT);
    let (mapped, _) = graph.add(&spec.body("body", twice)?, 1)?;
    assert!(graph.type_of(mapped[0])?.contains("float32"));
    Ok(())
}

#[test]
fn groups_of_variables_have_schedules_and_averages() -> Result<()> {
    let env = Env::new()?;
    let mut graph = Graph::new(&env)?;
    let x = graph.input("x", DType::FLOAT32, &["n".into(), 2.into()])?;
    let hidden = graph.dense("a", x, 2)?;
    let y = graph.dense("b", hidden, 1)?;
    let loss = graph.op("ReduceMean", "keepdims=0", &[y])?;
    graph.signature_input("infer", "x", x)?;
    graph.signature_output("infer", "y", y)?;
    graph.signature_input("train", "x", x)?;
    graph.signature_output("train", "loss", loss)?;
    assert_eq!(graph.set_trainable_matching("a/*", false)?, 2);
    assert_eq!(graph.set_trainable_matching("a/*", true)?, 2);
    let variables = [graph.find_variable("a/weight")?, graph.find_variable("b/weight")?];
    let gradients = graph.variable_gradients(loss, &variables)?;
    let (clipped, norm) = graph.clip_gradients("global_norm=1", &gradients)?;
    assert!(clipped.iter().all(Option::is_some) && norm.is_some());
    let rate = graph.schedule("train", "cosine base=0.1 steps=100")?;
    let groups = [
        ParameterGroup { patterns: "a/*", optimizer: "sgd average=0.9", learning_rate: rate },
        ParameterGroup { patterns: "*", optimizer: "adam", learning_rate: rate },
    ];
    graph.minimize_groups("train", loss, &groups)?;
    graph.average_signature("infer", "averaged")?;
    graph.swap_averages("swap")?;
    graph.copy_signature("infer", "copy")?;
    let doubled = graph.op("Add", "", &[y, y])?;
    graph.replace(y, doubled)?;
    let session = Session::new(&graph.to_model()?, None)?;
    let mut step = Call::new(&session, "train")?;
    step.bind("x", Tensor::from_vec(vec![1.0f32, 2.0], &[1, 2])?)?;
    step.run(None)?;
    assert_eq!(session.step(), 1);
    for signature in ["averaged", "copy", "infer", "swap"] {
        let mut call = Call::new(&session, signature)?;
        if signature != "swap" {
            call.bind("x", Tensor::from_vec(vec![1.0f32, 2.0], &[1, 2])?)?;
        }
        call.run(None)?;
    }
    Ok(())
}

#[test]
fn models_of_onnx_are_written_and_read() -> Result<()> {
    let (env, folder) = (Env::new()?, Folder::new());
    let [first, onnx, second] =
        ["first.hrg", "model.onnx", "second.hrg"].map(|name| folder.0.join(name));
    Graph::from_model(&negation(&env)?)?.save(&first, None)?;
    let options = ExportOptions { signature: Some("infer"), ..Default::default() };
    let report = Model::export(&env, &first, &onnx, Some(&options), None);
    // The plugin is not a part of every build.
    if report.as_ref().is_err_and(|error| error.code() == Code::UNAVAILABLE) {
        return Ok(());
    }
    assert!(report?.contains("opsets"));
    assert!(Model::convert(&env, &onnx, &second, false, None)?.contains("nodes"));
    let options = ConvertOptions { simplify: true, ..Default::default() };
    assert!(Model::convert_with(&env, &onnx, &second, options, None)?.contains("simplified"));
    let session = Session::new(&Model::load(&env, &second, None)?, None)?;
    assert_eq!(common::infer(&session, &[1.0])?, [-1.0]);
    assert!(Tensor::load(&env, &onnx).is_err());
    // A TensorProto: dims 2, data_type FLOAT, name "t", raw_data.
    let mut proto = vec![0x08, 2, 0x10, 1, 0x42, 1, b't', 0x4a, 8];
    proto.extend([1.5f32, -2.0].iter().flat_map(|value| value.to_le_bytes()));
    std::fs::write(folder.0.join("t.pb"), proto).unwrap();
    let (tensor, name) = Tensor::load(&env, folder.0.join("t.pb"))?;
    assert_eq!((tensor.as_slice::<f32>()?, name.as_str()), (&[1.5f32, -2.0][..], "t"));
    Ok(())
}
