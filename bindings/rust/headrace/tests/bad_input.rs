//! What goes wrong is an error, never a crash.
mod common;

use std::error::Error as _;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use common::{infer, negation};
use headrace::{
    Call, Code, Compute, DType, Env, Error, Graph, Infer, Limits, Model, ModelReader, Operator,
    OperatorDef, Queue, Result, Session, Tensor, TensorView,
};

fn code<T: std::fmt::Debug>(result: Result<T>) -> Code {
    result.unwrap_err().code()
}

#[test]
fn a_table_of_costs_that_is_damaged_is_refused() -> Result<()> {
    let file = std::env::temp_dir().join(format!("headrace-costs-{}", std::process::id()));
    let env = || Env::builder().cost_table(&file).build();
    assert_eq!(code(env()), Code::NOT_FOUND);
    std::fs::write(&file, "not a table\n")?;
    let refused = code(env());
    std::fs::remove_file(&file)?;
    assert_eq!(refused, Code::DATA_LOSS);
    Ok(())
}

#[test]
fn a_closed_session_refuses_runs() -> Result<()> {
    let session = Session::new(&negation(&Env::new()?)?, None)?;
    let mut call = Call::new(&session, "infer")?;
    call.bind("x", Tensor::from_vec(vec![1.0f32], &[1])?)?;
    session.close();
    session.close();
    assert_eq!(code(call.run(None)), Code::FAILED_PRECONDITION);
    assert_eq!(code(infer(&session, &[1.0])), Code::FAILED_PRECONDITION);
    drop(session);
    assert_eq!(code(call.run(None)), Code::FAILED_PRECONDITION);
    Ok(())
}

#[test]
fn a_session_may_be_closed_while_others_run_it() -> Result<()> {
    for _ in 0..20 {
        let session = Session::new(&negation(&Env::new()?)?, None)?;
        thread::scope(|scope| {
            let runner = scope.spawn(|| loop {
                match infer(&session, &[1.0]) {
                    Ok(y) => assert_eq!(y, [-1.0]),
                    Err(error) => break error,
                }
            });
            session.close();
            assert_eq!(runner.join().unwrap().code(), Code::FAILED_PRECONDITION);
        });
    }
    Ok(())
}

#[test]
fn wrong_types_and_shapes_are_named() -> Result<()> {
    let session = Session::new(&negation(&Env::new()?)?, None)?;
    let mut call = Call::new(&session, "infer")?;
    let bound = call.bind("x", Tensor::from_vec(vec![1i64], &[1])?).and_then(|()| call.run(None));
    let error = bound.unwrap_err();
    assert_eq!(error.code(), Code::INVALID_ARGUMENT);
    assert!(error.message().contains("float32") && error.message().contains("int64"), "{error}");
    let bound =
        call.bind("x", Tensor::from_vec(vec![1.0f32], &[1, 1])?).and_then(|()| call.run(None));
    assert_eq!(code(bound), Code::INVALID_ARGUMENT);
    assert_eq!(code(Tensor::from_vec(vec![1.0f32; 3], &[2])), Code::INVALID_ARGUMENT);
    assert_eq!(code(Tensor::from_vec(vec![1.0f32; 3], &[-3])), Code::INVALID_ARGUMENT);
    assert_eq!(code(Tensor::from_vec(Vec::<f32>::new(), &[i64::MAX, 4])), Code::INVALID_ARGUMENT);
    let tensor = Tensor::from_vec(vec![1.0f32], &[1])?;
    let error = tensor.as_slice::<i32>().unwrap_err();
    assert_eq!(error.message(), "expected a tensor of int32, got float32");
    Ok(())
}

#[test]
fn unknown_names_are_errors() -> Result<()> {
    let env = Env::new()?;
    let session = Session::new(&negation(&env)?, None)?;
    assert_eq!(code(Call::new(&session, "train")), Code::NOT_FOUND);
    let mut call = Call::new(&session, "infer")?;
    assert_eq!(code(call.bind_scalar("z", 1.0)), Code::NOT_FOUND);
    assert_eq!(code(call.result("z")), Code::NOT_FOUND);
    assert_eq!(code(call.input_mut::<f32>("x")), Code::NOT_FOUND);
    assert_eq!(code(session.variable("w", None)), Code::NOT_FOUND);
    assert_eq!(code(Model::load(&env, "no such file.hrg", None)), Code::NOT_FOUND);
    assert_eq!(code(env.load_plugin("no_such_plugin")), Code::UNAVAILABLE);
    Ok(())
}

#[test]
fn a_text_with_nul_is_refused_and_any_other_is_kept() -> Result<()> {
    let env = Env::new()?;
    let mut graph = Graph::new(&env)?;
    let error = graph.input("a\0b", DType::FLOAT32, &[]).unwrap_err();
    assert_eq!(error.code(), Code::INVALID_ARGUMENT);
    assert!(error.source().unwrap().is::<std::ffi::NulError>());
    let name = "input \u{1F40E}\u{10FFFF} ż";
    let x = graph.input(name, DType::FLOAT32, &[])?;
    assert_eq!(graph.find_value(name)?, x);
    assert_eq!(graph.value_info(x)?.name, name);
    let refused = Error::new(Code::NOT_FOUND, "nothing\0here");
    assert_eq!(refused.message(), "nothing\0here");
    Ok(())
}

#[test]
fn memory_that_others_use_is_not_written() -> Result<()> {
    let env = Env::new()?;
    let mut tensor = Tensor::from_vec(vec![1.0f32; 4], &[4])?;
    tensor.as_mut_slice::<f32>()?[0] = 2.0;
    let clone = tensor.try_clone()?;
    assert_eq!(code(tensor.as_mut_slice::<f32>()), Code::FAILED_PRECONDITION);
    assert_eq!(clone.as_slice::<f32>()?[0], 2.0);
    let mut constant = Tensor::from_vec(vec![1.0f32], &[1])?;
    Graph::new(&env)?.constant(None, &constant)?;
    assert_eq!(code(constant.as_mut_slice::<f32>()), Code::FAILED_PRECONDITION);
    let memory = [1.0f32; 2];
    let mut view = TensorView::from_slice(&memory, &[2])?;
    assert_eq!(code(view.as_mut_slice::<f32>()), Code::FAILED_PRECONDITION);
    let session = Session::new(&negation(&env)?, None)?;
    let mut call = Call::new(&session, "infer")?;
    assert_eq!(code(call.bind_output("y", view)), Code::FAILED_PRECONDITION);
    Ok(())
}

#[test]
fn bytes_that_are_no_bool_are_not_given_as_bool() -> Result<()> {
    let bytes = [0u8, 1, 2];
    let tensor = TensorView::from_slice(&bytes, &[3])?;
    assert_eq!(code(tensor.as_slice::<bool>()), Code::INVALID_ARGUMENT);
    let flags = Tensor::from_vec(vec![true, false], &[2])?;
    assert_eq!(flags.as_slice::<bool>()?, [true, false]);
    assert_eq!(flags.to_vec::<bool>()?, [true, false]);
    Ok(())
}

#[test]
fn a_tensor_may_be_dropped_while_a_run_uses_it() -> Result<()> {
    let session = Session::new(&negation(&Env::new()?)?, None)?;
    for _ in 0..50 {
        let mut call = Call::new(&session, "infer")?;
        call.bind("x", Tensor::from_vec(vec![1.0f32; 1000], &[1000])?)?;
        let run = call.start(None)?;
        run.detach();
        drop(call); // the run has its own references
    }
    Ok(())
}

/// Runs a session while it is run.
struct Nested(Place);

/// The session. Whoever puts one there takes it away, since it holds the operator.
type Place = Arc<Mutex<Option<Arc<Session>>>>;

impl Operator for Nested {
    fn infer(&self, node: &mut Infer<'_>) -> Result<()> {
        node.set_output_like(0, 0)
    }

    fn compute(&self, node: &mut Compute<'_>) -> Result<()> {
        let (x, y) = (node.input::<f32>(0)?, node.output::<f32>(0)?);
        let session = self.0.lock().unwrap().clone().expect("it is set before the run");
        let limits = Limits::new().timeout(Duration::from_secs(20));
        let x = TensorView::from_slice(x, &[1])?;
        let outputs = session.run(&[("x", &x)], &["y"], &[], Some(&limits))?;
        y.copy_from_slice(outputs[0].as_slice()?);
        Ok(())
    }
}

fn nested(operator: Nested) -> Result<(Env, Session)> {
    let env = Env::builder().threads(1).build()?;
    env.add_operator(&OperatorDef::new("test.Nested", 1, 1), operator)?;
    let mut graph = Graph::new(&env)?;
    let x = graph.input("x", DType::FLOAT32, &[1.into()])?;
    let y = graph.op("test.Nested", "", &[x])?;
    graph.name_value(y, "y")?;
    graph.signature_input("infer", "x", x)?;
    graph.signature_output("infer", "y", y)?;
    let session = Session::new(&graph.to_model()?, None)?;
    Ok((env, session))
}

#[test]
fn an_operator_may_run_a_session_of_any_env() -> Result<()> {
    let place: Place = Arc::default();
    let (env, session) = nested(Nested(Arc::clone(&place)))?;
    for other in [&env, &Env::new()?] {
        *place.lock().unwrap() = Some(Arc::new(Session::new(&negation(other)?, None)?));
        assert_eq!(infer(&session, &[2.0])?, [-2.0]);
    }
    drop(place.lock().unwrap().take());
    Ok(())
}

#[test]
fn an_operator_that_runs_its_own_session_without_end_is_told() -> Result<()> {
    let place: Place = Arc::default();
    let operator = Nested(Arc::clone(&place));
    let session = Arc::new(nested(operator)?.1);
    *place.lock().unwrap() = Some(Arc::clone(&session));
    let error = infer(&session, &[2.0]).unwrap_err();
    drop(place.lock().unwrap().take());
    assert_eq!(error.code(), Code::FAILED_PRECONDITION);
    assert!(error.message().contains("nested 16 deep"), "{error}");
    assert!(error.node().is_some());
    Ok(())
}

#[test]
fn a_failure_of_a_reader_keeps_its_source() -> Result<()> {
    struct Broken;
    impl ModelReader for Broken {
        fn size(&self) -> u64 {
            4096
        }
        fn read(&mut self, _offset: u64, _out: &mut [u8]) -> Result<()> {
            Err(std::io::Error::new(std::io::ErrorKind::PermissionDenied, "the disk is locked")
                .into())
        }
    }
    let error = Model::load_from(&Env::new()?, Broken, None).unwrap_err();
    assert_eq!(error.code(), Code::PERMISSION_DENIED);
    assert!(error.source().unwrap().is::<std::io::Error>());
    Ok(())
}

#[test]
fn the_node_of_a_failure_is_named() -> Result<()> {
    let mut graph = Graph::new(&Env::new()?)?;
    let x = graph.input("x", DType::FLOAT32, &[2.into(), 3.into()])?;
    let error = graph.op("MatMul", "", &[x, x]).unwrap_err();
    assert_eq!(error.code(), Code::INVALID_ARGUMENT);
    assert!(error.to_string().contains("INVALID_ARGUMENT: "), "{error}");
    assert!(error.node().is_some_and(|node| error.to_string().contains(node)), "{error}");
    Ok(())
}

/// Of the C library, which every program has.
#[cfg(unix)]
mod signals {
    use std::ffi::c_int;
    use std::sync::atomic::{AtomicUsize, Ordering};

    extern "C" {
        fn signal(number: c_int, handler: extern "C" fn(c_int)) -> usize;
        fn siginterrupt(number: c_int, interrupts: c_int) -> c_int;
        fn pthread_self() -> usize;
        fn pthread_kill(thread: usize, number: c_int) -> c_int;
    }

    const URGENT: c_int = 23; // SIGURG, which does nothing by itself
    static SEEN: AtomicUsize = AtomicUsize::new(0);

    extern "C" fn count(_: c_int) {
        SEEN.fetch_add(1, Ordering::Relaxed);
    }

    pub fn seen() -> usize {
        SEEN.load(Ordering::Relaxed)
    }

    /// Sends signals to this thread, which interrupt its system calls, while `wait` runs.
    pub fn sent_during<T>(wait: impl FnOnce() -> T) -> T {
        // SAFETY: the handler does what a handler may do, and this thread lives meanwhile.
        let own = unsafe {
            signal(URGENT, count);
            siginterrupt(URGENT, 1);
            pthread_self()
        };
        let is_over = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Acquire) {
                    // SAFETY: as above.
                    unsafe { pthread_kill(own, URGENT) };
                    std::thread::sleep(std::time::Duration::from_millis(1));
                }
            });
            let out = wait();
            is_over.store(true, Ordering::Release);
            out
        })
    }
}

#[cfg(unix)]
#[test]
fn signals_do_not_end_a_wait() -> Result<()> {
    let queue = Queue::new(&Env::new()?)?;
    let limits = Limits::new().timeout(Duration::from_millis(100));
    let begin = std::time::Instant::now();
    let waited = signals::sent_during(|| queue.wait(Some(&limits)));
    assert_eq!(code(waited), Code::DEADLINE_EXCEEDED);
    assert!(begin.elapsed() >= Duration::from_millis(100) && signals::seen() > 10);
    Ok(())
}

#[test]
fn damaged_models_are_refused() -> Result<()> {
    let env = Env::new()?;
    assert_eq!(code(Model::load_memory(&env, vec![7u8; 100], None)), Code::INVALID_ARGUMENT);
    assert!(Model::load_memory(&env, Vec::new(), None).is_err());
    assert!(Model::describe_file("no such file.hrg").is_err());
    assert!(Model::convert(&env, "model.unknown", "out.hrg", false, None).is_err());
    Ok(())
}
