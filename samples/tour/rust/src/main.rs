//! The tour in Rust: ../README.md says what it does.
//!
//!     tour MODEL OUT                             MODEL is a file of make_model, OUT a folder
use std::path::Path;

use headrace::{
    Call, DType, DataSet, DataSetOptions, Env, Graph, Model, Result, Session, SessionOptions,
    Tensor,
};

const EXAMPLES: usize = 12;
const FEATURES: usize = 8;
const CLASSES: usize = 3;

/// Prints a line: a name, and the bits of each element.
fn show(name: &str, values: &[f32]) {
    let bits: String = values
        .iter()
        .map(|value| format!(" {:08x}", value.to_bits()))
        .collect();
    println!("{name}:{bits}");
}

/// The first `rows` rows of the data; all numbers are exact in float32.
fn rows_of_x(rows: usize) -> Result<Tensor> {
    let feature = |i: usize, j: usize| {
        let base = ((i * 7 + j * 5) % 17) as f32 - 8.0;
        base / 16.0 + if j % CLASSES == i % CLASSES { 1.0 } else { 0.0 }
    };
    let x = (0..rows)
        .flat_map(|i| (0..FEATURES).map(move |j| feature(i, j)))
        .collect();
    Tensor::from_vec(x, &[rows as i64, FEATURES as i64])
}

/// Runs the signature "infer" on two examples and prints "p".
fn infer(session: &Session, name: &str) -> Result<()> {
    let mut call = Call::new(session, "infer")?;
    call.bind("x", rows_of_x(2)?)?;
    call.run(None)?;
    show(name, call.result("p")?.as_slice()?);
    Ok(())
}

/// 1. Load a file and run it.
fn load(env: &Env, path: &Path, name: &str) -> Result<Model> {
    let model = Model::load(env, path, None)?;
    infer(&Session::new(&model, None)?, name)?;
    Ok(model)
}

/// 2. Go on building: a new head on the frozen features of the model.
fn extend(base: &Model) -> Result<Model> {
    let mut graph = Graph::from_model(base)?;
    for variable in graph.variables()? {
        graph.set_trainable(variable, false)?;
    }
    graph.remove_signature("infer")?;
    let x = graph.find_value("x")?;
    let features = graph.find_value("features")?;
    let labels = graph.input("labels", DType::INT64, &["batch".into()])?;
    let rate = graph.input("rate", DType::FLOAT32, &[])?;
    let scores = graph.dense("head", features, CLASSES as i64)?;
    let loss = graph.op("SoftmaxCrossEntropyLoss", "", &[scores, labels])?;
    let p = graph.op("Softmax", "axis=1", &[scores])?;
    graph.signature_input("infer", "x", x)?;
    graph.signature_output("infer", "p", p)?;
    for (name, value) in [("x", x), ("labels", labels), ("rate", rate)] {
        graph.signature_input("train", name, value)?;
    }
    graph.signature_output("train", "loss", loss)?;
    graph.minimize("train", loss, "sgd momentum=0.9", rate)?;
    graph.prune()?;
    println!("variables: {}", graph.info()?.variables);
    graph.to_model()
}

/// 3. Fine-tune: the head learns from the data.
fn tune(env: &Env, session: &Session) -> Result<()> {
    let labels = (0..EXAMPLES).map(|i| (i % CLASSES) as i64).collect();
    let labels = Tensor::from_vec(labels, &[EXAMPLES as i64])?;
    let x = rows_of_x(EXAMPLES)?;
    let options = DataSetOptions {
        batch: 4,
        repeat: 5,
        shuffle: true,
        seed: 3,
        ..Default::default()
    };
    let data = DataSet::from_tensors(env, &[("x", &x), ("labels", &labels)], Some(&options))?;
    let mut step = Call::new(session, "train")?;
    step.bind_dataset(Some(&data))?;
    step.bind_scalar("rate", 0.125)?;
    while !data.is_done(None) {
        step.run(None)?;
        show("loss", step.result("loss")?.as_slice()?);
    }
    Ok(())
}

/// 4. Save a checkpoint to go on from, and a file to serve.
fn save(session: &Session, checkpoints: &Path, file: &Path) -> Result<()> {
    session.save(checkpoints, None, None)?;
    session.export(file, &["infer"], None, None)
}

/// 5. Reload both.
fn reload(env: &Env, model: &Model, checkpoints: &Path, file: &Path) -> Result<()> {
    let session = Session::new(model, None)?;
    session.restore(checkpoints, None, None)?;
    println!("step: {}", session.step());
    infer(&session, "restored")?;
    load(env, file, "served")?;
    Ok(())
}

/// 6. What goes wrong says so.
fn fail(model: &Model) -> Result<()> {
    let mut call = Call::new(&Session::new(model, None)?, "infer")?;
    if let Err(error) = call.run(None) {
        println!("failure: {}", error.code()); // "x" is not bound
    }
    Ok(())
}

fn tour(model: &Path, out: &Path) -> Result<()> {
    let (checkpoints, file) = (out.join("checkpoints"), out.join("tuned.hrg"));
    let env = Env::builder().threads(1).build()?;
    let model = extend(&load(&env, model, "loaded")?)?;
    let session = Session::new(
        &model,
        Some(&SessionOptions {
            seed: 7,
            ..Default::default()
        }),
    )?;
    infer(&session, "untrained")?;
    tune(&env, &session)?;
    infer(&session, "trained")?;
    save(&session, &checkpoints, &file)?;
    reload(&env, &model, &checkpoints, &file)?;
    fail(&model)
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, model, out] = arguments.as_slice() else {
        eprintln!("usage: tour MODEL OUT");
        std::process::exit(2);
    };
    if let Err(error) = tour(model.as_ref(), out.as_ref()) {
        eprintln!("tour: {error}");
        std::process::exit(1);
    }
}
