//! What the tests share.
#![allow(dead_code)]
use std::future::Future;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;
use std::task::{Context, Poll, Wake};
use std::thread::{self, Thread};

use headrace::{Call, DType, Env, Graph, Model, Result, Session, Tensor};

/// y = -x for x [n], as the signature "infer".
pub fn negation(env: &Env) -> Result<Model> {
    let mut graph = Graph::new(env)?;
    let x = graph.input("x", DType::FLOAT32, &["n".into()])?;
    let y = graph.op("Neg", "", &[x])?;
    graph.name_value(y, "y")?;
    graph.signature_input("infer", "x", x)?;
    graph.signature_output("infer", "y", y)?;
    graph.to_model()
}

/// A classifier of x [batch, 2] in 2 classes, with "infer", "eval" and "train".
pub fn classifier(env: &Env) -> Result<Model> {
    let mut graph = Graph::new(env)?;
    let x = graph.input("x", DType::FLOAT32, &["batch".into(), 2.into()])?;
    let labels = graph.input("labels", DType::INT64, &["batch".into()])?;
    let rate = graph.input("rate", DType::FLOAT32, &[])?;
    let scores = graph.dense("fc", x, 2)?;
    let loss = graph.op("SoftmaxCrossEntropyLoss", "", &[scores, labels])?;
    let best = graph.op("ArgMax", "axis=1 keepdims=0", &[scores])?;
    let equal = graph.op("Equal", "", &[best, labels])?;
    let hits = graph.op("Cast", "to=1", &[equal])?;
    let correct = graph.op("ReduceSum", "keepdims=0", &[hits])?;
    graph.signature_input("infer", "x", x)?;
    graph.signature_output("infer", "scores", scores)?;
    for signature in ["eval", "train"] {
        graph.signature_input(signature, "x", x)?;
        graph.signature_input(signature, "labels", labels)?;
        graph.signature_output(signature, "loss", loss)?;
    }
    graph.signature_output("eval", "correct", correct)?;
    graph.signature_input("train", "rate", rate)?;
    graph.minimize("train", loss, "sgd momentum=0.9", rate)?;
    graph.to_model()
}

/// 16 examples of the classifier: the label says which of the two numbers is greater.
pub fn examples() -> Result<(Tensor, Tensor)> {
    let x: Vec<f32> = (0..32).map(|i| ((i * 7) % 13) as f32 / 13.0).collect();
    let labels: Vec<i64> = x.chunks(2).map(|pair| i64::from(pair[1] > pair[0])).collect();
    Ok((Tensor::from_vec(x, &[16, 2])?, Tensor::from_vec(labels, &[16])?))
}

pub fn infer(session: &Session, x: &[f32]) -> Result<Vec<f32>> {
    let mut call = Call::new(session, "infer")?;
    call.bind("x", Tensor::from_vec(x.to_vec(), &[x.len() as i64])?)?;
    call.run(None)?;
    call.result("y")?.to_vec()
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// The smallest executor there is.
pub fn block_on<F: Future>(future: F) -> F::Output {
    let waker = Arc::new(Unpark(thread::current())).into();
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

/// A folder of its own for a test, which is removed at the end.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("headrace-rust-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
