//! Sessions, calls and runs in the background.
mod common;

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use common::{block_on, infer, negation};
use headrace::{
    Call, Cancel, Code, Compute, DType, Env, Graph, Infer, Limits, Operator, OperatorDef, Queue,
    Result, Session, Tensor, TensorView,
};

fn is_shared_by_threads<T: Send + Sync>() {}

#[test]
fn everything_that_threads_share_is_send_and_sync() {
    is_shared_by_threads::<Session>();
    is_shared_by_threads::<Env>();
    is_shared_by_threads::<headrace::Model>();
    is_shared_by_threads::<Tensor>();
    is_shared_by_threads::<headrace::Group>();
    is_shared_by_threads::<headrace::DataSet>();
    is_shared_by_threads::<Cancel>();
    is_shared_by_threads::<headrace::Error>();
}

#[test]
fn many_threads_run_one_session() -> Result<()> {
    let session = Session::new(&negation(&Env::new()?)?, None)?;
    thread::scope(|scope| {
        for i in 0..8 {
            let session = &session;
            scope.spawn(move || {
                let x = [i as f32, 1.0, 2.0];
                for _ in 0..50 {
                    assert_eq!(infer(session, &x).unwrap(), [-(i as f32), -1.0, -2.0]);
                }
            });
        }
    });
    Ok(())
}

/// Copies its input, and keeps the addresses of its memory.
struct Spy(Seen);

type Seen = Arc<Mutex<Vec<(usize, usize)>>>;

impl Operator for Spy {
    fn infer(&self, node: &mut Infer<'_>) -> Result<()> {
        node.set_output_like(0, 0)
    }

    fn compute(&self, node: &mut Compute<'_>) -> Result<()> {
        let (x, y) = (node.input::<f32>(0)?, node.output::<f32>(0)?);
        y.copy_from_slice(x);
        self.0.lock().unwrap().push((x.as_ptr() as usize, y.as_ptr() as usize));
        Ok(())
    }
}

fn spied() -> Result<(Session, Seen)> {
    let (env, seen) = (Env::new()?, Seen::default());
    env.add_operator(&OperatorDef::new("test.Spy", 1, 1), Spy(Arc::clone(&seen)))?;
    let mut graph = Graph::new(&env)?;
    let x = graph.input("x", DType::FLOAT32, &[64.into()])?;
    let y = graph.op("test.Spy", "", &[x])?;
    graph.name_value(y, "y")?;
    graph.signature_input("infer", "x", x)?;
    graph.signature_output("infer", "y", y)?;
    Ok((Session::new(&graph.to_model()?, None)?, seen))
}

#[test]
fn inputs_and_outputs_of_rust_are_used_in_place() -> Result<()> {
    let (session, seen) = spied()?;
    let (x, y) = (vec![1.0f32; 64], vec![0.0f32; 64]);
    let addresses = (x.as_ptr() as usize, y.as_ptr() as usize);
    let mut call = Call::new(&session, "infer")?;
    call.bind("x", Tensor::from_vec(x, &[64])?)?;
    call.bind_output("y", Tensor::from_vec(y, &[64])?)?;
    call.run(None)?;
    assert_eq!(*seen.lock().unwrap(), [addresses]);
    assert_eq!(call.output::<f32>("y")?.as_ptr() as usize, addresses.1);
    assert_eq!(call.output::<f32>("y")?, [1.0; 64]);
    Ok(())
}

#[test]
fn borrowed_memory_is_used_in_place() -> Result<()> {
    let (session, seen) = spied()?;
    let (x, mut y) = ([2.0f32; 64], [0.0f32; 64]);
    let addresses = (x.as_ptr() as usize, y.as_ptr() as usize);
    {
        let mut call = Call::new(&session, "infer")?;
        call.bind("x", TensorView::from_slice(&x, &[64])?)?;
        call.bind_output("y", TensorView::from_mut_slice(&mut y, &[64])?)?;
        call.run(None)?;
    }
    assert_eq!(*seen.lock().unwrap(), [addresses]);
    assert_eq!(y, x);
    let view = TensorView::from_slice(&x, &[64])?;
    let outputs = session.run(&[("x", &view)], &["y"], &[], None)?;
    assert_eq!(seen.lock().unwrap()[1].0, addresses.0);
    assert_eq!(outputs[0].as_slice::<f32>()?, x);
    Ok(())
}

#[test]
fn outputs_of_a_run_are_copies_of_feeds_and_variables() -> Result<()> {
    let session = Session::new(&negation(&Env::new()?)?, None)?;
    let x = Tensor::from_vec(vec![1.0f32; 8], &[8])?;
    let outputs = session.run(&[("x", &x)], &["x", "y", "y"], &[], None)?;
    let addresses: Vec<_> = outputs.iter().map(|one| one.as_ptr()).collect();
    assert!(!addresses.contains(&x.as_ptr()));
    assert_ne!(addresses[1], addresses[2]);
    Ok(())
}

#[test]
fn a_call_can_be_made_of_any_values() -> Result<()> {
    let session = Session::new(&negation(&Env::new()?)?, None)?;
    let mut call = Call::custom(&session, &["x"], &["y"], &[])?;
    call.bind("x", Tensor::from_vec(vec![3.0f32], &[1])?)?;
    assert_eq!(call.output_type("y")?, (DType::FLOAT32, vec![1]));
    let mut bytes = [0u8; 4];
    call.output_bytes("y", &mut bytes)?;
    call.run(None)?;
    assert!(call.describe()?.contains("plan") || call.describe()?.starts_with('{'));
    assert!(call.profile(None)?.contains("steps"));
    drop(call);
    assert_eq!(f32::from_ne_bytes(bytes), -3.0);
    session.trim();
    assert!(session.describe()?.contains("plans"));
    Ok(())
}

#[test]
fn a_result_that_was_taken_is_not_overwritten() -> Result<()> {
    let session = Session::new(&negation(&Env::new()?)?, None)?;
    let mut call = Call::new(&session, "infer")?;
    call.bind("x", Tensor::from_vec(vec![1.0f32], &[1])?)?;
    call.run(None)?;
    let mut first = call.take_result("y")?;
    call.input_mut::<f32>("x")?[0] = 2.0;
    call.run(None)?;
    assert_eq!(first.as_slice::<f32>()?, [-1.0]);
    assert_eq!(call.result("y")?.as_slice::<f32>()?, [-2.0]);
    first.as_mut_slice::<f32>()?[0] = 5.0;
    let x = call.unbind("x")?.expect("it was bound");
    assert_eq!(x.as_slice::<f32>()?, [2.0]);
    assert_eq!(call.run(None).unwrap_err().code(), Code::INVALID_ARGUMENT);
    Ok(())
}

// ---- In the background ----

/// Waits until it is told to go on, or half a minute has passed.
struct Wait(Arc<std::sync::atomic::AtomicBool>);

impl Operator for Wait {
    fn infer(&self, node: &mut Infer<'_>) -> Result<()> {
        node.set_output_like(0, 0)
    }

    fn compute(&self, node: &mut Compute<'_>) -> Result<()> {
        let begin = Instant::now();
        while !self.0.load(std::sync::atomic::Ordering::Relaxed)
            && begin.elapsed() < Duration::from_secs(30)
        {
            thread::sleep(Duration::from_millis(1));
        }
        node.output::<f32>(0)?.copy_from_slice(node.input::<f32>(0)?);
        Ok(())
    }
}

/// A call that waits for the flag; twice, so that it can be cancelled between the steps.
fn waiting() -> Result<(Env, Call<'static>, Arc<std::sync::atomic::AtomicBool>)> {
    let (env, go) = (Env::new()?, Arc::default());
    env.add_operator(&OperatorDef::new("test.Wait", 1, 1), Wait(Arc::clone(&go)))?;
    let mut graph = Graph::new(&env)?;
    let x = graph.input("x", DType::FLOAT32, &[1.into()])?;
    let once = graph.op("test.Wait", "", &[x])?;
    let twice = graph.op("test.Wait", "", &[once])?;
    graph.signature_input("infer", "x", x)?;
    graph.signature_output("infer", "y", twice)?;
    let mut call = Call::new(&Session::new(&graph.to_model()?, None)?, "infer")?;
    call.bind("x", Tensor::from_vec(vec![1.0f32], &[1])?)?;
    Ok((env, call, go))
}

fn release(go: &std::sync::atomic::AtomicBool) {
    go.store(true, std::sync::atomic::Ordering::Relaxed);
}

#[test]
fn a_run_in_the_background_can_be_waited_for() -> Result<()> {
    let (_env, mut call, go) = waiting()?;
    let run = call.start(None)?;
    assert!(!run.is_done());
    let limits = Limits::new().timeout(Duration::from_millis(20));
    assert_eq!(run.wait(Some(&limits)).unwrap_err().code(), Code::DEADLINE_EXCEEDED);
    release(&go);
    run.wait(None)?;
    assert!(run.is_done());
    drop(run);
    call.input_mut::<f32>("x")?[0] = 4.0;
    call.run(None)?;
    assert_eq!(call.result("y")?.as_slice::<f32>()?, [4.0]);
    Ok(())
}

#[test]
fn a_run_is_a_future() -> Result<()> {
    let (_env, mut call, go) = waiting()?;
    let opener = thread::spawn(move || {
        thread::sleep(Duration::from_millis(20));
        release(&go);
    });
    block_on(async {
        call.start(None)?.await?;
        call.start(None)?.await
    })?;
    opener.join().unwrap();
    assert_eq!(call.result("y")?.as_slice::<f32>()?, [1.0]);
    Ok(())
}

#[test]
fn a_future_can_move_to_another_thread() -> Result<()> {
    let (_env, mut call, go) = waiting()?;
    release(&go);
    let task = async move {
        call.start(None)?.await?;
        call.result("y")?.to_vec::<f32>()
    };
    let result = thread::spawn(move || block_on(task)).join().unwrap();
    assert_eq!(result?, [1.0]);
    Ok(())
}

#[test]
fn a_run_that_is_cancelled_or_dropped_ends() -> Result<()> {
    let (_env, mut call, go) = waiting()?;
    let run = call.start(None)?;
    run.cancel();
    release(&go);
    assert_eq!(run.wait(None).unwrap_err().code(), Code::CANCELLED);
    assert_eq!(block_on(run).unwrap_err().code(), Code::CANCELLED);
    go.store(false, std::sync::atomic::Ordering::Relaxed);
    drop(call.start(None)?);
    // The run has the call until it has ended.
    assert_eq!(call.input_mut::<f32>("x").unwrap_err().code(), Code::FAILED_PRECONDITION);
    assert_eq!(call.bind_scalar("x", 1.0).unwrap_err().code(), Code::FAILED_PRECONDITION);
    release(&go);
    Ok(())
}

#[test]
fn a_call_may_be_dropped_while_its_run_goes_on() -> Result<()> {
    let (env, mut call, go) = waiting()?;
    let queue = Queue::new(&env)?;
    let run = call.start(None)?;
    run.enqueue(&queue, 7)?;
    run.detach();
    drop(call);
    assert!(queue.poll()?.is_none());
    release(&go);
    let done = queue.wait(Some(&Limits::new().timeout(Duration::from_secs(20))))?;
    assert_eq!(done.key, 7);
    done.result
}

#[test]
fn limits_end_a_run() -> Result<()> {
    let (_env, mut call, _go) = waiting()?;
    let cancel = Cancel::new()?;
    cancel.trigger();
    let cancelled = call.run(Some(&Limits::new().cancel(&cancel))).unwrap_err();
    assert_eq!(cancelled.code(), Code::CANCELLED);
    let (_env, mut call, go) = waiting()?;
    release(&go);
    let limits = Limits::new().interrupted(|| true);
    // A run that ends soon is not asked; this one is asked between its steps or not at all.
    match call.run(Some(&limits)) {
        Ok(()) => {}
        Err(error) => assert_eq!(error.code(), Code::CANCELLED),
    }
    Ok(())
}

#[test]
fn a_queue_has_a_descriptor() -> Result<()> {
    let queue = Queue::new(&Env::new()?)?;
    assert!(queue.descriptor()? >= 0);
    Ok(())
}
