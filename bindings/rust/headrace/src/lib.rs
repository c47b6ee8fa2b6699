//! Headrace, an embeddable dataflow runtime that trains and serves models.
//!
//! This is the safe interface; `headrace-sys` has the C functions and says how the library is
//! found. A program loads or builds a [`Graph`], makes a [`Model`] and a [`Session`] of it, and runs
//! it, once ([`Session::run`]) or through a prepared [`Call`]:
//!
//! ```
//! use headrace::{Call, DType, Env, Graph, Session, Tensor};
//!
//! let env = Env::new()?;
//! let mut graph = Graph::new(&env)?;
//! let x = graph.input("x", DType::FLOAT32, &["batch".into(), 4.into()])?;
//! let labels = graph.input("labels", DType::INT64, &["batch".into()])?;
//! let rate = graph.input("rate", DType::FLOAT32, &[])?;
//! let scores = graph.dense("fc", x, 3)?;
//! let loss = graph.op("SoftmaxCrossEntropyLoss", "", &[scores, labels])?;
//! for (name, value) in [("x", x), ("labels", labels), ("rate", rate)] {
//!     graph.signature_input("train", name, value)?;
//! }
//! graph.signature_output("train", "loss", loss)?;
//! graph.minimize("train", loss, "sgd momentum=0.9", rate)?;
//!
//! let session = Session::new(&graph.to_model()?, None)?;
//! let mut step = Call::new(&session, "train")?;
//! step.bind("x", Tensor::from_vec(vec![0.5f32; 8], &[2, 4])?)?;
//! step.bind("labels", Tensor::from_vec(vec![0i64, 2], &[2])?)?;
//! step.bind_scalar("rate", 0.1)?;
//! step.run(None)?;
//! println!("loss {}", step.result("loss")?.as_slice::<f32>()?[0]);
//! # Ok::<(), headrace::Error>(())
//! ```
//!
//! What can wait takes [`Limits`], or `None` for no limits. Panics in functions of yours that the
//! library calls become errors of the call that needed them. A name or another text with a NUL is
//! an error, since C cannot take it.
mod call;
mod completion;
mod control;
mod dataset;
mod dtype;
mod env;
mod error;
mod graph;
mod graph_info;
mod group;
mod group_options;
mod group_start;
mod host;
mod launch;
mod limits;
mod model;
mod node_spec;
mod operation;
mod operator;
mod progress;
mod queue;
mod raw;
mod run;
mod services;
mod session;
mod store;
mod summary;
mod tensor;
mod train;
mod training_graph;
mod weights;
mod work;

pub use call::Call;
pub use control::Body;
pub use dataset::{Batch, Batches, Cache, DataSet, DataSetOptions, Field, Source};
pub use dtype::{Bf16, DType, Element, Plain, F16};
pub use env::{library_version, version_text, Env, EnvBuilder};
pub use error::{Code, Error, Result};
pub use graph::{Dim, Graph, Node, SaveOptions, Value, Variable};
pub use graph_info::{AttributeKind, GraphInfo, NodeInfo, SignatureInfo, ValueInfo, VariableInfo};
pub use group::{dump_read, Group};
pub use group_options::GroupOptions;
pub use launch::Launch;
pub use limits::{Cancel, Limits};
pub use model::{ConvertOptions, ExportOptions, GraphView, LoadOptions, Model, ModelReader};
pub use node_spec::NodeSpec;
pub use operation::{Operation, OperationKind, ReduceOp};
pub use operator::{Compute, Gradient, Infer, Operator, OperatorAttribute, OperatorDef};
pub use progress::Progress;
pub use queue::{Done, Queue};
pub use run::Run;
pub use services::{Allocator, Executor, LogLevel};
pub use session::{Session, SessionOptions};
pub use store::{Store, StoreBackend, StoreOptions};
pub use summary::Summary;
pub use tensor::{Tensor, TensorView};
pub use train::{checkpoint_describe, CheckpointOptions, TrainOptions, TrainReport};
pub use training_graph::ParameterGroup;
pub use weights::{weights_describe, WeightsOptions};
pub use work::{Buffer, BufferMut, Work};

/// The programs of the page are compiled with the documentation's tests.
#[cfg(doctest)]
#[doc = include_str!("../../../../docs/rust.md")]
struct Page;
