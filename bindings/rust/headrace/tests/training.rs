//! Data sets, checkpoints, the managed loop, summaries.
mod common;

use std::cell::{Cell, RefCell};

use common::{classifier, examples, Folder};
use headrace::{
    checkpoint_describe, Batch, Cache, Call, CheckpointOptions, Code, DType, DataSet,
    DataSetOptions, Env, Error, Field, Graph, Model, Progress, Result, Session, SessionOptions,
    Source, Summary, Tensor, TrainOptions,
};

fn data(env: &Env, repeat: i64) -> Result<DataSet> {
    let (x, labels) = examples()?;
    let options = DataSetOptions { batch: 4, repeat, shuffle: true, seed: 5, ..Default::default() };
    DataSet::from_tensors(env, &[("x", &x), ("labels", &labels)], Some(&options))
}

#[test]
fn a_training_learns_saves_and_goes_on() -> Result<()> {
    let (env, folder) = (Env::new()?, Folder::new());
    let model = classifier(&env)?;
    let (train, eval) = (data(&env, 50)?, data(&env, 1)?);
    let session = Session::new(&model, Some(&SessionOptions { seed: 3, ..Default::default() }))?;
    let (steps, messages) = (Cell::new(0), Cell::new(0));
    let mut options = TrainOptions::new(&train);
    options.eval_data = Some(&eval);
    options.scalars = vec![("rate", 0.5)];
    options.checkpoint_directory = Some(folder.0.join("checkpoints"));
    options.event_directory = Some(folder.0.join("events"));
    options.on_step = Some(Box::new(|report| {
        steps.set(report.step);
        Ok(report.step < 150)
    }));
    options.on_message = Some(Box::new(|_| messages.set(messages.get() + 1)));
    let report = session.train(options, None)?;
    assert_eq!((report.step, steps.get(), session.step()), (150, 150, 150));
    assert!(messages.get() > 0);
    assert!(checkpoint_describe(folder.0.join("checkpoints"))?.contains("150"));

    let again = Session::new(&model, None)?;
    let mut options = TrainOptions::new(&train);
    options.eval_data = Some(&eval);
    options.scalars = vec![("rate", 0.5)];
    options.checkpoint_directory = Some(folder.0.join("checkpoints"));
    let report = again.train(options, None)?;
    assert_eq!(report.step, 200);
    let (loss, accuracy) = report.evaluation.expect("there are data for it");
    assert!(loss < 0.6 && accuracy > 0.7, "{report:?}");
    eval.rewind(None)?;
    assert_eq!(again.evaluate(None, &eval, None)?.evaluation.map(|one| one.1), Some(accuracy));
    Ok(())
}

/// The loss falls: the largest is that of the first evaluation, and no later one is better.
#[test]
fn the_best_checkpoint_is_kept_and_restored() -> Result<()> {
    let (env, folder) = (Env::new()?, Folder::new());
    let session = Session::new(&classifier(&env)?, None)?;
    let (train, eval) = (data(&env, -1)?, data(&env, 1)?);
    let losses = RefCell::new(Vec::new());
    let mut options = TrainOptions::new(&train);
    options.eval_data = Some(&eval);
    options.scalars = vec![("rate", 0.05)];
    options.eval_steps = 10;
    options.checkpoint_directory = Some(folder.0.clone());
    options.best_metric = Some("loss");
    options.restore_best = true;
    options.patience = 3;
    options.on_evaluate = Some(Box::new(|report, metrics| {
        assert_eq!(metrics[0], ("loss".into(), report.evaluation.expect("it is one").0));
        assert_eq!(metrics[1].0, "accuracy");
        losses.borrow_mut().push(metrics[0].1);
        Ok(())
    }));
    let report = session.train(options, None)?;
    assert_eq!((report.step, report.stopped_early, losses.borrow().len()), (40, true, 4));
    assert_eq!(report.best, Some((losses.borrow()[0], 10)));
    assert!(report.learning_rate.is_nan());
    assert_eq!(session.step(), 10);
    session.restore(folder.0.join("best"), None, None)?;
    assert_eq!(session.step(), 10);

    let mut options = TrainOptions::new(&train);
    options.scalars = vec![("rate", 0.05)];
    options.max_steps = 20;
    assert_eq!(session.train(options, None)?.best, None);
    Ok(())
}

#[test]
fn a_step_that_fails_ends_the_training_with_its_error() -> Result<()> {
    let env = Env::new()?;
    let (session, train) = (Session::new(&classifier(&env)?, None)?, data(&env, 1)?);
    let mut options = TrainOptions::new(&train);
    options.scalars = vec![("rate", 0.1)];
    options.on_step = Some(Box::new(|_| {
        let source = std::io::Error::other("the disk is full");
        Err(Error::new(Code::ABORTED, "enough").with_source(source))
    }));
    let error = session.train(options, None).unwrap_err();
    assert_eq!((error.code(), error.message()), (Code::ABORTED, "enough"));
    assert_eq!(std::error::Error::source(&error).unwrap().to_string(), "the disk is full");
    Ok(())
}

#[test]
fn a_loop_of_the_host_saves_restores_and_exports() -> Result<()> {
    let (env, folder) = (Env::new()?, Folder::new());
    let model = classifier(&env)?;
    let session = Session::new(&model, None)?;
    let train = data(&env, 1)?;
    let mut step = Call::new(&session, "train")?;
    step.bind_dataset(Some(&train))?;
    step.bind_scalar("rate", 0.1)?;
    step.run(None)?;
    let options = CheckpointOptions { keep: 2, dataset: Some(&train), ..Default::default() };
    session.save(&folder.0, Some(&options), None)?;
    let position = train.position()?;
    while !train.is_done(None) {
        step.run(None)?;
    }
    assert_eq!(step.run(None).unwrap_err().code(), Code::OUT_OF_RANGE);
    let trained = session.variable("fc/weight", None)?;
    let report = session.restore(&folder.0, Some(&options), None)?;
    assert!(report.contains("step"), "{report}");
    assert_eq!((session.step(), train.position()?), (1, position));
    while !train.is_done(None) {
        step.run(None)?;
    }
    let again = session.variable("fc/weight", None)?;
    assert_eq!(again.as_slice::<f32>()?, trained.as_slice::<f32>()?);

    session.set_variable("fc/weight", &Tensor::from_vec(vec![1.0f32; 4], &[2, 2])?, None)?;
    let file = folder.0.join("served.hrg");
    session.export(&file, &["infer"], None, None)?;
    let served = Session::new(&Model::load(&env, &file, None)?, None)?;
    assert_eq!(served.variable("fc/weight", None)?.to_vec::<f32>()?, [1.0; 4]);
    assert!(Model::describe_file(&file)?.contains("segments"));
    Ok(())
}

#[test]
fn batches_come_in_order() -> Result<()> {
    let env = Env::new()?;
    let data = data(&env, 2)?;
    assert_eq!((data.batches(), data.fields()), (Some(4), vec!["x".into(), "labels".into()]));
    let all: Vec<Vec<Tensor>> = data.iter().collect::<Result<_>>()?;
    assert_eq!(all.len(), 8);
    assert!(data.next(None)?.is_none());
    data.rewind(None)?;
    let position = data.position()?;
    let first = data.next(None)?.expect("a batch");
    data.seek(&position, None)?;
    let again = (&data).into_iter().next().expect("a batch")?;
    assert_eq!(first[0].as_slice::<f32>()?, again[0].as_slice::<f32>()?);
    data.rename("labels", "y")?;
    assert_eq!(data.fields(), ["x", "y"]);
    assert!(data.describe()?.contains("batches"));
    assert_eq!(
        DataSet::open(&env, "idx:/no/such/folder/train").unwrap_err().code(),
        Code::NOT_FOUND
    );
    Ok(())
}

/// Counts from 0; its second field has an unknown length.
struct Counter(i64);

impl Source for Counter {
    fn next(&mut self, examples: usize, batch: &mut Batch<'_>) -> Result<bool> {
        if self.0 >= 8 {
            return Ok(false);
        }
        for value in batch.field::<i64>(0)? {
            *value = self.0;
            self.0 += 1;
        }
        assert_eq!(batch.field::<f32>(0).unwrap_err().code(), Code::INVALID_ARGUMENT);
        assert_eq!(batch.field::<f32>(1).unwrap_err().code(), Code::FAILED_PRECONDITION);
        assert_eq!(batch.field::<f32>(2).unwrap_err().code(), Code::OUT_OF_RANGE);
        let values = vec![self.0 as f32; self.0 as usize];
        let count = values.len() as i64;
        batch.set(1, Tensor::from_vec(values, &[count])?)?;
        assert_eq!(examples, 4);
        Ok(true)
    }
}

#[test]
fn a_data_set_of_the_host_gives_its_batches() -> Result<()> {
    let env = Env::new()?;
    let fields = [
        Field { name: "n", dtype: DType::INT64, shape: &[4] },
        Field { name: "values", dtype: DType::FLOAT32, shape: &[-1] },
    ];
    let data = DataSet::from_source(&env, &fields, Counter(0), None)?;
    let all: Vec<Vec<Tensor>> = data.iter().collect::<Result<_>>()?;
    assert_eq!(all[1][0].as_slice::<i64>()?, [4, 5, 6, 7]);
    assert_eq!(all[1][1].as_slice::<f32>()?, [8.0; 8]);
    assert_eq!(all.len(), 2);
    Ok(())
}

#[test]
fn events_and_progress_are_written() -> Result<()> {
    let (env, folder) = (Env::new()?, Folder::new());
    let summary = Summary::open(&folder.0)?;
    summary.scalar("loss", 1, 0.5)?;
    summary.histogram("weights", 1, &Tensor::from_vec(vec![1.0f32, 2.0], &[2])?)?;
    summary.images("images", 1, &Tensor::from_vec(vec![9u8; 32], &[2, 1, 4, 4])?, 1)?;
    summary.text("note", 1, "**bold**")?;
    summary.graph(&classifier(&env)?)?;
    summary.flush()?;
    assert!(std::fs::read_dir(&folder.0).unwrap().next().is_some());
    let mut progress = Progress::new(Some("test"), Some("examples"), 0, Some(2))?;
    progress.update(1, 4, Some(("loss", 0.5)))?;
    progress.message("half of it")?;
    progress.update(2, 4, None)
}

#[test]
fn evaluations_tell_their_metrics() -> Result<()> {
    let env = Env::new()?;
    let (session, train, eval) =
        (Session::new(&classifier(&env)?, None)?, data(&env, 1)?, data(&env, 1)?);
    let names = std::cell::RefCell::new(Vec::new());
    let mut options = TrainOptions::new(&train);
    options.eval_data = Some(&eval);
    options.scalars = vec![("rate", 0.1)];
    options.on_evaluate = Some(Box::new(|_, metrics| {
        names.borrow_mut().extend(metrics.iter().map(|(name, _)| name.clone()));
        Ok(())
    }));
    session.train(options, None)?;
    assert!(names.borrow().contains(&"loss".to_owned()), "{names:?}");
    eval.rewind(None)?;
    assert!(session.evaluate_metrics(None, &eval, None)?.contains("loss"));
    Ok(())
}

#[test]
fn adapters_are_trained_saved_and_loaded() -> Result<()> {
    let (env, folder) = (Env::new()?, Folder::new());
    let mut graph = Graph::from_model(&common::classifier(&env)?)?;
    graph.remove_signature("train")?;
    assert_eq!(graph.add_lora("fc/weight", "rank=1", None)?, 1);
    let session = Session::new(&graph.to_model()?, None)?;
    let file = folder.0.join("adapters.safetensors");
    session.save_adapters(&file, None)?;
    session.load_adapters(&file, None)?;
    let mut fresh = Graph::from_model(&common::classifier(&env)?)?;
    fresh.remove_signature("train")?;
    assert_eq!(fresh.load_adapters(&file)?, 1);
    let labels = fresh.find_value("labels")?;
    let scores = fresh.find_signature("infer")?.outputs[0].1;
    fresh.metric("eval", "accuracy", "accuracy", &[scores, labels])
}

#[test]
fn data_sets_are_mapped_filtered_and_cached() -> Result<()> {
    let (env, folder) = (Env::new()?, Folder::new());
    let mut graph = Graph::new(&env)?;
    let x = graph.input("x", DType::FLOAT32, &["n".into()])?;
    let zero = graph.constant(None, &Tensor::from_vec(vec![0.0f32], &[])?)?;
    let doubled = graph.op("Add", "", &[x, x])?;
    let positive = graph.op("Greater", "", &[x, zero])?;
    for (signature, name, value) in [("double", "y", doubled), ("positive", "keep", positive)] {
        graph.signature_input(signature, "x", x)?;
        graph.signature_output(signature, name, value)?;
    }
    let session = Session::new(&graph.to_model()?, None)?;
    let x = Tensor::from_vec(vec![-1.0f32, 1.0, -2.0, 2.0, 3.0], &[5])?;
    let data = DataSet::from_tensors(&env, &[("x", &x)], None)?;
    let kept = data.filter(&session, "positive", None)?;
    let mapped = kept.map(&session, "double", None)?;
    assert_eq!(mapped.fields(), ["y"]);
    let path = folder.0.join("cache");
    let options = DataSetOptions { batch: 2, ..Default::default() };
    let cache = Cache { path: Some(&path), key: Some("1"), options: Some(&options) };
    let cached = mapped.cache(&cache, None)?;
    let batches: Vec<Vec<Tensor>> = cached.iter().collect::<Result<_>>()?;
    assert_eq!(batches[0][0].as_slice::<f32>()?, [2.0, 4.0]);
    assert_eq!(batches[1][0].as_slice::<f32>()?, [6.0]);
    assert!(path.exists());
    assert_eq!(data.map(&session, "nothing", None).unwrap_err().code(), Code::NOT_FOUND);
    Ok(())
}
