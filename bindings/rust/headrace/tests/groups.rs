//! Groups whose ranks are threads of this process.
mod common;

use std::collections::HashMap;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use common::block_on;
use headrace::{
    Call, Code, DType, Env, Error, Graph, Group, GroupOptions, Launch, Limits, Operation,
    OperationKind, Queue, ReduceOp, Result, Session, Store, StoreBackend, Tensor,
};

/// Runs a function on each rank of a group.
fn ranks<T: Send>(size: i32, run: impl Fn(&Env, Group) -> Result<T> + Sync) -> Vec<T> {
    let env = Env::new().unwrap();
    let store = Store::open(&env, "memory:").unwrap();
    ranks_of(&env, &store, size, run)
}

fn ranks_of<T: Send>(
    env: &Env,
    store: &Store,
    size: i32,
    run: impl Fn(&Env, Group) -> Result<T> + Sync,
) -> Vec<T> {
    thread::scope(|scope| {
        let begin = |rank| {
            let (env, store, run) = (env.clone(), store, &run);
            scope.spawn(move || {
                let timeout = Some(Duration::from_secs(60));
                let options =
                    GroupOptions { rank, size, store: Some(store), timeout, ..Default::default() };
                run(&env, Group::new(&env, Some(&options), None)?)
            })
        };
        let threads: Vec<_> = (0..size).map(begin).collect();
        threads.into_iter().map(|thread| thread.join().unwrap().unwrap()).collect()
    })
}

/// Why the group ends, which this rank may learn a little later.
fn first_failure(group: &Group) -> Error {
    loop {
        if let Err(error) = group.barrier(None) {
            return error;
        }
    }
}

#[test]
fn operations_wait_for_their_end() {
    ranks(2, |_, group| {
        let (rank, other) = (group.rank(), 1 - group.rank());
        assert_eq!((group.size(), group.epoch()), (2, 0));
        let mine = [rank as f32 + 1.0, 10.0];
        let mut both = [0.0f32; 4];
        group.all_gather(&mine, &mut both, None)?;
        assert_eq!(both, [1.0, 10.0, 2.0, 10.0]);
        let mut sum = [0.0f32; 2];
        group.all_reduce(&mine, &mut sum, ReduceOp::SUM, None)?;
        assert_eq!(sum, [3.0, 20.0]);
        group.all_reduce_in_place(&mut sum, ReduceOp::AVERAGE, None)?;
        assert_eq!(sum, [3.0, 20.0]);
        let mut data = [rank as i64; 3];
        group.broadcast(&mut data, 1, None)?;
        assert_eq!(data, [1; 3]);
        let mut reduced = [0.0f32; 2];
        group.reduce(&mine, (rank == 0).then_some(&mut reduced[..]), ReduceOp::MAX, 0, None)?;
        assert_eq!(reduced, if rank == 0 { [2.0, 10.0] } else { [0.0, 0.0] });
        group.gather(&mine, (rank == 1).then_some(&mut both[..]), 1, None)?;
        let mut part = [0.0f32; 2];
        group.scatter((rank == 0).then_some(&both[..]), &mut part, 0, None)?;
        assert_eq!(part, if rank == 0 { [1.0, 10.0] } else { [2.0, 10.0] });
        group.reduce_scatter(&both, &mut part, ReduceOp::SUM, None)?;
        assert_eq!(part, if rank == 0 { [2.0, 20.0] } else { [4.0, 20.0] });
        let mut exchanged = [0.0f32; 4];
        group.all_to_all(&[mine[0], 0.0, mine[0], 1.0], &mut exchanged, None)?;
        assert_eq!(exchanged, [1.0, rank as f32, 2.0, rank as f32]);
        group.barrier(None)?;
        if rank == 0 {
            group.send(&[7u8; 5], other, 3, None)?;
        } else {
            let mut got = [0u8; 5];
            group.recv(&mut got, other, 3, None)?;
            assert_eq!(got, [7; 5]);
        }
        let scaled = Operation {
            op: ReduceOp::PRE_MULTIPLIED_SUM,
            factor: 0.5,
            ..Operation::new(OperationKind::ALL_REDUCE, DType::FLOAT32, 2)
        };
        group.run(&scaled, Some(&mine[..]), Some(&mut part[..]), None)?;
        assert_eq!(part, [1.5, 10.0]);
        assert!(group.explain(&scaled)?.contains("algorithm"));
        assert!(group.dump()?.contains("all_reduce"));
        assert!(group.describe()?.contains("world"));
        group.status()?;
        group.barrier(None)
    });
}

#[test]
fn operations_in_flight_are_futures_and_keep_their_buffers() {
    ranks(2, |env, group| {
        let (rank, other) = (group.rank(), 1 - group.rank());
        let sum = block_on(group.all_reduce_start(vec![rank as f32 + 1.0; 1000], ReduceOp::SUM)?)?;
        assert_eq!(sum, [3.0; 1000]);
        let receive = group.recv_start(vec![0i32; 4], other, 1)?;
        let send = group.send_start(vec![rank; 4], other, 1)?;
        assert_eq!(receive.finish(None)?, [other; 4]);
        assert_eq!(send.finish(None)?, [rank; 4]);
        let tensor = Tensor::from_vec(vec![rank as f32; 2], &[2])?;
        let tensor = group.broadcast_start(tensor, 0)?.finish(None)?;
        assert_eq!(tensor.as_slice::<f32>()?, [0.0, 0.0]);
        let (_, output) = group.all_gather_start(vec![rank], vec![9, 9])?.finish(None)?;
        assert_eq!(output.unwrap(), [0, 1]);
        let input = vec![rank as f32; 4];
        let (_, part) =
            group.reduce_scatter_start(input, vec![0.0f32; 2], ReduceOp::SUM)?.finish(None)?;
        assert_eq!(part.unwrap(), [1.0, 1.0]);
        let (_, out) = group.all_to_all_start(vec![rank; 2], vec![0; 2])?.finish(None)?;
        assert_eq!(out.unwrap(), [0, 1]);
        let out = (rank == 0).then(|| vec![0; 2]);
        let (_, gathered) = group.gather_start(vec![rank], out, 0)?.finish(None)?;
        assert_eq!(gathered, (rank == 0).then(|| vec![0, 1]));
        let (_, part) = group.scatter_start(gathered, vec![0; 1], 0)?.finish(None)?;
        assert_eq!(part.unwrap(), [rank]);
        let out = (rank == 1).then(|| vec![0.0f32]);
        let (_, out) = group.reduce_start(vec![2.0f32], out, ReduceOp::PRODUCT, 1)?.finish(None)?;
        assert_eq!(out, (rank == 1).then(|| vec![4.0]));
        let queue = Queue::new(env)?;
        let barrier = group.barrier_start()?;
        barrier.enqueue(&queue, 11)?;
        assert_eq!(queue.wait(None)?.key, 11);
        let sum = Operation::new(OperationKind::ALL_REDUCE, DType::FLOAT32, 1);
        let work = group.start(&sum, Some(vec![1.0f32]), Some(vec![0.0f32]))?;
        assert_eq!(work.finish(None)?.1.unwrap(), [2.0]);
        // Dropped works go on, with their buffers.
        drop(group.all_reduce_start(vec![1.0f32; 100_000], ReduceOp::SUM)?);
        group.barrier(None)
    });
}

#[test]
fn a_receive_can_be_cancelled() {
    ranks(2, |_, group| {
        let receive = group.recv_start(vec![0u8; 4], 1 - group.rank(), 5)?;
        assert!(!receive.is_done());
        let short = Limits::new().timeout(Duration::from_millis(10));
        assert_eq!(receive.wait(Some(&short)).unwrap_err().code(), Code::DEADLINE_EXCEEDED);
        receive.cancel()?;
        assert_eq!(receive.wait(None).unwrap_err().code(), Code::CANCELLED);
        group.barrier(None)
    });
}

#[test]
fn buffers_of_wrong_sizes_are_refused() {
    ranks(2, |_, group| {
        let refused = group.all_gather(&[1.0f32], &mut [0.0; 3], None).unwrap_err();
        assert_eq!(refused.code(), Code::INVALID_ARGUMENT);
        let refused = group.all_gather_start(vec![1.0f32], vec![0i32; 2]).unwrap_err();
        assert_eq!(refused.message(), "the input is of float32, but the output of int32");
        let shared = Tensor::from_vec(vec![1.0f32], &[1])?;
        let _clone = shared.try_clone()?;
        let refused = group.all_reduce_start(shared, ReduceOp::SUM).unwrap_err();
        assert_eq!(refused.code(), Code::FAILED_PRECONDITION);
        group.barrier(None)
    });
}

#[test]
fn an_abort_ends_all_ranks_with_its_cause() {
    let causes = ranks(2, |_, group| {
        if group.rank() == 0 {
            group.abort("rank 0 has had enough")?;
        }
        let ended = first_failure(&group);
        assert_eq!(ended.code(), Code::ABORTED);
        assert_eq!(group.status().unwrap_err().code(), Code::ABORTED);
        Ok(ended.message().to_owned())
    });
    assert!(causes[0].contains("rank 0 has had enough"));
    assert_eq!(causes[0], causes[1]);
}

#[test]
fn groups_split_and_shrink() {
    ranks(3, |_, group| {
        let color = (group.rank() < 2).then_some(1);
        let part = group.split(color, -group.rank(), None)?;
        assert_eq!(part.as_ref().map(Group::rank), [Some(1), Some(0), None][group.rank() as usize]);
        drop(part);
        group.barrier(None)?;
        if group.rank() == 2 {
            group.close();
            return Ok(());
        }
        let gone = first_failure(&group);
        assert_eq!(gone.code(), Code::UNAVAILABLE);
        let smaller = group.shrink(None)?;
        assert_eq!((smaller.size(), smaller.epoch()), (2, 1));
        smaller.barrier(None)
    });
}

#[derive(Default)]
struct Table(Mutex<HashMap<String, Vec<u8>>>);

impl StoreBackend for Table {
    fn get(&self, key: &str) -> Result<Option<Vec<u8>>> {
        Ok(self.0.lock().unwrap().get(key).cloned())
    }
    fn compare_and_swap(&self, key: &str, expected: Option<&[u8]>, desired: &[u8]) -> Result<bool> {
        let mut table = self.0.lock().unwrap();
        let swap = table.get(key).map(Vec::as_slice) == expected;
        if swap {
            table.insert(key.to_owned(), desired.to_owned());
        }
        Ok(swap)
    }
    fn remove(&self, key: &str) -> Result<()> {
        self.0.lock().unwrap().remove(key);
        Ok(())
    }
}

#[test]
fn ranks_meet_in_a_store_of_the_host() -> Result<()> {
    let env = Env::new()?;
    let store = Store::from_backend(Table::default())?;
    assert_eq!(store.url()?, "");
    ranks_of(&env, &store, 2, |_, group| group.barrier(None));
    Ok(())
}

#[test]
fn a_process_that_nobody_has_launched_is_alone() -> Result<()> {
    let launch = Launch::from_environment()?;
    assert_eq!((launch.rank(), launch.size(), launch.epoch()), (0, 1, 0));
    assert_eq!(
        (launch.local_rank(), launch.local_size(), launch.store()),
        (None, None, Some("memory:".into()))
    );
    assert!(launch.describe()?.starts_with('{'));
    Ok(())
}

/// A session that trains with the other ranks; each has an env of its own, whose threads a run keeps
/// while it waits for others.
#[test]
fn sessions_train_one_model() {
    let losses = ranks(2, |_, group| {
        let env = Env::new()?;
        let mut graph = Graph::from_model(&common::classifier(&env)?)?;
        graph.distribute("train", "workers", "mirrored")?;
        let session = Session::new(&graph.to_model()?, None)?;
        let missing = session.bind_group("others", Some(&group), None).unwrap_err();
        assert_eq!(missing.code(), Code::NOT_FOUND);
        session.bind_group("workers", Some(&group), None)?;
        session.broadcast("workers", 1, None)?;
        let (x, labels) = common::examples()?;
        let mut step = Call::new(&session, "train")?;
        step.bind("x", x)?;
        step.bind("labels", labels)?;
        step.bind_scalar("rate", 0.1)?;
        step.run(None)?;
        let loss = step.result("loss")?.to_vec::<f32>()?;
        session.bind_group("workers", None, None)?;
        Ok(loss)
    });
    assert_eq!(losses[0], losses[1]);
}
