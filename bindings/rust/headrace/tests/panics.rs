//! A panic in a function of the host is an error of the call that needed it, in every kind of
//! function; and the object works afterwards.
mod common;

use std::alloc::Layout;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Arc;
use std::task::{Context, Wake};
use std::time::Duration;

use common::{classifier, examples, infer, negation, Folder};
use headrace::{
    Allocator, Batch, Call, Code, Compute, DType, DataSet, DataSetOptions, Env, Error, Executor,
    Field, Gradient, Graph, Group, GroupOptions, Infer, Limits, Model, ModelReader, Operator,
    OperatorDef, Result, Session, Source, Store, StoreBackend, Tensor, TrainOptions,
};

fn assert_panicked<T: std::fmt::Debug>(result: Result<T>, said: &str) {
    let error = result.unwrap_err();
    assert_eq!(error.code(), Code::UNKNOWN, "{error}");
    assert!(error.message().contains("has panicked") && error.message().contains(said), "{error}");
}

// ---- Services ----

#[test]
fn of_the_log() -> Result<()> {
    let written = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&written);
    let env = Env::builder()
        .log(move |_, _| {
            count.fetch_add(1, Ordering::Relaxed);
            panic!("the log is broken");
        })
        .build()?;
    // A calibration that is no file is named in the log.
    let store = Store::open(&env, "memory:")?;
    let options = GroupOptions {
        size: 1,
        store: Some(&store),
        calibration: Some("no such file"),
        ..Default::default()
    };
    let _ = Group::new(&env, Some(&options), None);
    assert_eq!(infer(&Session::new(&negation(&env)?, None)?, &[1.0])?, [-1.0]);
    Ok(())
}

#[test]
fn of_the_clock() -> Result<()> {
    let env = Env::builder().clock(|| panic!("no time")).build()?;
    let session = Session::new(&negation(&env)?, None)?;
    let mut call = Call::new(&session, "infer")?;
    call.bind("x", Tensor::from_vec(vec![1.0f32], &[1])?)?;
    call.run(Some(&Limits::new().timeout(Duration::from_secs(5))))
}

struct BrokenExecutor(fn(i32, &(dyn Fn(i32) + Sync)));

impl Executor for BrokenExecutor {
    fn concurrency(&self) -> i32 {
        4
    }
    fn run(&self, tasks: i32, _threads: i32, task: &(dyn Fn(i32) + Sync)) {
        (self.0)(tasks, task);
    }
}

/// Large enough that a run is cut into tasks.
fn sums(env: &Env) -> Result<Vec<f32>> {
    let mut graph = Graph::new(env)?;
    let x = graph.input("x", DType::FLOAT32, &[256.into(), 256.into()])?;
    let y = graph.op("MatMul", "", &[x, x])?;
    graph.name_value(y, "y")?;
    let session = Session::new(&graph.to_model()?, None)?;
    let x = (0..65536).map(|i| (i % 7) as f32).collect();
    let x = Tensor::from_vec(x, &[256, 256])?;
    session.run(&[("x", &x)], &["y"], &[], None)?[0].to_vec()
}

#[test]
fn of_an_executor_and_what_it_leaves_out_or_does_twice() -> Result<()> {
    let plain = sums(&Env::builder().threads(4).build()?)?;
    let panics = BrokenExecutor(|_, _| panic!("no threads"));
    let half = BrokenExecutor(|tasks, task| (0..tasks).step_by(2).for_each(task));
    let twice = BrokenExecutor(|tasks, task| (-1..=tasks).chain(0..tasks).for_each(task));
    for executor in [panics, half, twice] {
        assert_eq!(sums(&Env::builder().executor(executor).build()?)?, plain);
    }
    Ok(())
}

struct BrokenAllocator(Arc<AtomicBool>);

// SAFETY: memory of the system, or none.
unsafe impl Allocator for BrokenAllocator {
    fn allocate(&self, layout: Layout) -> *mut u8 {
        assert!(!self.0.load(Ordering::Relaxed), "the memory is gone");
        // SAFETY: the layout is not empty.
        unsafe { std::alloc::alloc(layout) }
    }
    unsafe fn deallocate(&self, data: *mut u8, layout: Layout) {
        // SAFETY: the caller promises it.
        unsafe { std::alloc::dealloc(data, layout) };
    }
}

#[test]
fn of_the_allocator() -> Result<()> {
    let broken = Arc::new(AtomicBool::new(false));
    let env = Env::builder().allocator(BrokenAllocator(Arc::clone(&broken))).build()?;
    let tensor = Tensor::zeros(&env, DType::FLOAT32, &[4])?;
    assert_eq!(tensor.as_slice::<f32>()?, [0.0; 4]);
    broken.store(true, Ordering::Relaxed);
    let error = Tensor::zeros(&env, DType::FLOAT32, &[4]).unwrap_err();
    assert_eq!(error.code(), Code::RESOURCE_EXHAUSTED);
    Ok(())
}

#[test]
fn of_a_destructor() -> Result<()> {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("a destructor panics");
        }
    }
    let bomb = Bomb;
    let env = Env::builder()
        .log(move |_, _| {
            let _ = &bomb;
        })
        .build()?;
    assert!(env.describe()?.starts_with('{'));
    drop(env);
    Ok(())
}

// ---- Limits ----

#[test]
fn of_limits() -> Result<()> {
    let env = Env::new()?;
    let store = Store::open(&env, "memory:")?;
    let options = GroupOptions { size: 2, store: Some(&store), ..Default::default() };
    let limits = Limits::new().interrupted(|| panic!("asked too often"));
    // The second rank never comes.
    assert_panicked(Group::new(&env, Some(&options), Some(&limits)), "asked too often");
    Ok(())
}

// ---- Readers ----

#[test]
fn of_a_reader() -> Result<()> {
    struct Broken;
    impl ModelReader for Broken {
        fn size(&self) -> u64 {
            4096
        }
        fn read(&mut self, _offset: u64, _out: &mut [u8]) -> Result<()> {
            panic!("the reader is broken")
        }
    }
    assert_panicked(Model::load_from(&Env::new()?, Broken, None), "the reader is broken");
    Ok(())
}

// ---- Operators ----

#[derive(PartialEq, Clone, Copy)]
enum Place {
    Infer,
    Compute,
    Task,
    Gradient,
}

struct Broken(Place);

impl Operator for Broken {
    fn infer(&self, node: &mut Infer<'_>) -> Result<()> {
        assert!(self.0 != Place::Infer, "infer is broken");
        node.set_output_like(0, 0)
    }
    fn compute(&self, node: &mut Compute<'_>) -> Result<()> {
        assert!(self.0 != Place::Compute, "compute is broken");
        node.parallel_for(8, |task| assert!(task != 3 || self.0 != Place::Task, "task 3 is broken"))
    }
    fn gradient(&self, _node: &mut Gradient<'_>) -> Result<()> {
        panic!("gradient is broken")
    }
}

fn broken(place: Place) -> Result<(Session, Result<()>)> {
    let env = Env::new()?;
    let def = OperatorDef { differentiable: true, ..OperatorDef::new("test.Broken", 1, 1) };
    env.add_operator(&def, Broken(place))?;
    let mut graph = Graph::new(&env)?;
    let x = graph.input("x", DType::FLOAT32, &[1.into()])?;
    let good = graph.op("Neg", "", &[x])?;
    graph.name_value(good, "good")?;
    let y = graph.op("test.Broken", "", &[x]);
    let built = match y {
        Ok(y) => graph.name_value(y, "y").and_then(|()| graph.gradients(y, &[x]).map(|_| ())),
        Err(error) => Err(error),
    };
    Ok((Session::new(&graph.to_model()?, None)?, built))
}

#[test]
fn of_an_operator() -> Result<()> {
    let x = Tensor::from_vec(vec![1.0f32], &[1])?;
    for (place, said) in [(Place::Compute, "compute is"), (Place::Task, "task 3 is")] {
        let (session, _) = broken(place)?;
        assert_panicked(session.run(&[("x", &x)], &["y"], &[], None), said);
        let good = session.run(&[("x", &x)], &["good"], &[], None)?;
        assert_eq!(good[0].as_slice::<f32>()?, [-1.0]);
    }
    for (place, said) in [(Place::Infer, "infer is"), (Place::Gradient, "gradient is")] {
        assert_panicked(broken(place)?.1, said);
    }
    Ok(())
}

// ---- Data sets ----

struct BrokenSource {
    next: bool,
    seek: bool,
}

impl Source for BrokenSource {
    fn next(&mut self, _examples: usize, batch: &mut Batch<'_>) -> Result<bool> {
        if std::mem::take(&mut self.next) {
            panic!("next is broken");
        }
        batch.field::<f32>(0)?.fill(2.0);
        Ok(true)
    }
    fn seek(&mut self, _epoch: i64, _first_example: i64) -> Result<()> {
        assert!(!std::mem::take(&mut self.seek), "seek is broken");
        Ok(())
    }
    fn can_seek(&self) -> bool {
        true
    }
    fn examples(&self) -> Option<i64> {
        Some(4)
    }
}

#[test]
fn of_a_data_set() -> Result<()> {
    let env = Env::new()?;
    let fields = [Field { name: "x", dtype: DType::FLOAT32, shape: &[2] }];
    for prefetch in [0, 2] {
        let source = BrokenSource { next: true, seek: true };
        let options = DataSetOptions { prefetch, ..Default::default() };
        let data = DataSet::from_source(&env, &fields, source, Some(&options))?;
        assert_panicked(data.next(None), "next is broken");
        assert_eq!(data.next(None)?.expect("a batch")[0].as_slice::<f32>()?, [2.0, 2.0]);
        let rewound = data.rewind(None).and_then(|()| data.next(None).map(|_| ()));
        assert_panicked(rewound, "seek is broken");
        assert!(data.next(None)?.is_some());
    }
    Ok(())
}

// ---- Training ----

#[test]
fn of_the_steps_of_a_training() -> Result<()> {
    let env = Env::new()?;
    let session = Session::new(&classifier(&env)?, None)?;
    let (x, labels) = examples()?;
    let data = DataSet::from_tensors(&env, &[("x", &x), ("labels", &labels)], None)?;
    let mut options = TrainOptions::new(&data);
    options.scalars = vec![("rate", 0.1)];
    options.on_step = Some(Box::new(|_| panic!("step is broken")));
    assert_panicked(session.train(options, None), "step is broken");
    assert_eq!(session.step(), 1);
    data.rewind(None)?;
    let mut options = TrainOptions::new(&data);
    options.scalars = vec![("rate", 0.1)];
    options.eval_data = Some(&data);
    options.on_evaluate = Some(Box::new(|_, _| panic!("the evaluation is broken")));
    assert_panicked(session.train(options, None), "the evaluation is broken");
    data.rewind(None)?;
    let folder = Folder::new();
    let mut options = TrainOptions::new(&data);
    options.scalars = vec![("rate", 0.1)];
    options.checkpoint_directory = Some(folder.0.clone());
    options.on_message = Some(Box::new(|_| panic!("the message is broken")));
    assert_panicked(session.train(options, None), "the message is broken");
    Ok(())
}

// ---- Stores and works ----

struct BrokenStore;

impl StoreBackend for BrokenStore {
    fn get(&self, _key: &str) -> Result<Option<Vec<u8>>> {
        panic!("get is broken")
    }
    fn compare_and_swap(&self, _: &str, _: Option<&[u8]>, _: &[u8]) -> Result<bool> {
        panic!("compare_and_swap is broken")
    }
    fn remove(&self, _key: &str) -> Result<()> {
        panic!("remove is broken")
    }
}

#[test]
fn of_a_store() -> Result<()> {
    let env = Env::new()?;
    let store = Store::from_backend(BrokenStore)?;
    let options = GroupOptions { size: 2, store: Some(&store), ..Default::default() };
    assert_panicked(Group::new(&env, Some(&options), None), "is broken");
    Ok(())
}

#[test]
fn of_a_waker() -> Result<()> {
    struct Bomb(AtomicBool);
    impl Wake for Bomb {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Ordering::Release);
            panic!("the waker is broken");
        }
    }
    let env = Env::new()?;
    let session = Session::new(&negation(&env)?, None)?;
    let mut call = Call::new(&session, "infer")?;
    call.bind("x", Tensor::from_vec(vec![1.0f32], &[1])?)?;
    let bomb = Arc::new(Bomb(AtomicBool::new(false)));
    let waker = Arc::clone(&bomb).into();
    let mut run = call.start(None)?;
    let polled =
        std::future::Future::poll(std::pin::pin!(&mut run), &mut Context::from_waker(&waker));
    run.wait(None)?;
    while polled.is_pending() && !bomb.0.load(Ordering::Acquire) {
        std::thread::yield_now();
    }
    drop(run);
    call.run(None)
}

#[test]
fn an_error_of_the_host_keeps_code_and_message() -> Result<()> {
    struct Camera;
    impl Source for Camera {
        fn next(&mut self, _examples: usize, _batch: &mut Batch<'_>) -> Result<bool> {
            Err(Error::new(Code::UNAVAILABLE, "the camera is off"))
        }
    }
    let fields = [Field { name: "x", dtype: DType::FLOAT32, shape: &[2] }];
    let data = DataSet::from_source(&Env::new()?, &fields, Camera, None)?;
    let error = data.next(None).unwrap_err();
    assert_eq!(error.code(), Code::UNAVAILABLE);
    assert!(error.message().ends_with("the camera is off"), "{error}");
    Ok(())
}
