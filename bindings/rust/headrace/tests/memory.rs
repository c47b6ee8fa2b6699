//! What is dropped is freed. Alone in its program, so that nothing else uses memory.
mod common;

use std::alloc::Layout;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::Arc;

use common::{classifier, examples, infer, negation};
use headrace::{Allocator, Call, DataSet, Env, Result, Session, Tensor};

/// Counts the bytes that are in use, and says when it is dropped.
struct Counting(Arc<AtomicI64>);

const DROPPED: i64 = -1;

// SAFETY: memory of the system.
unsafe impl Allocator for Counting {
    fn allocate(&self, layout: Layout) -> *mut u8 {
        self.0.fetch_add(layout.size() as i64, Ordering::Relaxed);
        // SAFETY: the layout is not empty.
        unsafe { std::alloc::alloc(layout) }
    }
    unsafe fn deallocate(&self, data: *mut u8, layout: Layout) {
        self.0.fetch_sub(layout.size() as i64, Ordering::Relaxed);
        // SAFETY: the caller promises it.
        unsafe { std::alloc::dealloc(data, layout) };
    }
}

impl Drop for Counting {
    fn drop(&mut self) {
        let left = self.0.swap(DROPPED, Ordering::Relaxed);
        assert_eq!(left, 0, "the allocator outlives its memory");
    }
}

fn all_memory_comes_back() -> Result<()> {
    let used = Arc::new(AtomicI64::new(0));
    let env = Env::builder().allocator(Counting(Arc::clone(&used))).build()?;
    let session = Session::new(&classifier(&env)?, None)?;
    let (x, labels) = examples()?;
    let data = DataSet::from_tensors(&env, &[("x", &x), ("labels", &labels)], None)?;
    let mut step = Call::new(&session, "train")?;
    step.bind_dataset(Some(&data))?;
    step.bind_scalar("rate", 0.1)?;
    step.run(None)?;
    let loss = step.take_result("loss")?;
    drop((env, session, step, data));
    assert!(used.load(Ordering::Relaxed) > 0, "the result has memory of the allocator");
    drop(loss);
    assert_eq!(used.load(Ordering::Relaxed), DROPPED);
    Ok(())
}

/// Resident memory in KiB.
fn resident() -> i64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("0 kB");
    line.trim().trim_end_matches(" kB").parse().unwrap_or(0)
}

/// Does something often, and says by how much the memory has grown since the first fifth.
fn growth(times: usize, mut each: impl FnMut() -> Result<()>) -> Result<i64> {
    let mut first = 0;
    for i in 0..times {
        if i == times / 5 {
            first = resident();
        }
        each()?;
    }
    Ok(resident() - first)
}

fn sessions_leave_nothing() -> Result<()> {
    let model = negation(&Env::new()?)?;
    let grown = growth(20_000, || {
        let session = Session::new(&model, None)?;
        assert_eq!(infer(&session, &[1.0])?, [-1.0]);
        session.close();
        Ok(())
    })?;
    println!("20,000 sessions: {grown} KiB");
    assert!(grown < 2048, "resident memory has grown by {grown} KiB");
    Ok(())
}

fn envs_leave_nothing() -> Result<()> {
    let grown = growth(1000, || {
        let env = Env::builder().threads(2).build()?;
        Tensor::zeros(&env, headrace::DType::FLOAT32, &[64])?;
        assert_eq!(infer(&Session::new(&negation(&env)?, None)?, &[1.0])?, [-1.0]);
        Ok(())
    })?;
    println!("1,000 envs: {grown} KiB");
    assert!(grown < 2048, "resident memory has grown by {grown} KiB");
    Ok(())
}

#[test]
fn what_is_dropped_is_freed() -> Result<()> {
    all_memory_comes_back()?;
    sessions_leave_nothing()?;
    envs_leave_nothing()
}
