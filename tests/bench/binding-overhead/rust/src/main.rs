//! The Rust side of the benchmark: answers lines "CASE REPEATS" with nanoseconds of a run.
use std::io::{BufRead, Write};
use std::time::{Duration, Instant};

use headrace::{Call, DType, Env, Graph, Result, Session, SessionOptions, Tensor};

/// y = x + x on four floats, bound. Fusion is off, as in C.
fn add() -> Result<Call<'static>> {
    let threads = number("HEADRACE_BENCH_THREADS").unwrap_or(2);
    let env = Env::builder().threads(threads as i32).build()?;
    let mut graph = Graph::new(&env)?;
    let x = graph.input("x", DType::FLOAT32, &[4.into()])?;
    let y = graph.op("Add", "", &[x, x])?;
    graph.signature_input("infer", "x", x)?;
    graph.signature_output("infer", "y", y)?;
    let options = SessionOptions {
        disable_fusion: true,
        ..Default::default()
    };
    let mut call = Call::new(&Session::new(&graph.to_model()?, Some(&options))?, "infer")?;
    call.bind("x", Tensor::from_vec(vec![1.0f32, 2.0, 3.0, 4.0], &[4])?)?;
    call.bind_output("y", Tensor::from_vec(vec![0.0f32; 4], &[4])?)?;
    call.run(None)?;
    assert_eq!(call.output::<f32>("y")?, [2.0, 4.0, 6.0, 8.0]);
    Ok(call)
}

/// How long `count` runs take.
fn time(call: &mut Call<'_>, count: u32) -> Result<Duration> {
    let begin = Instant::now();
    for _ in 0..count {
        call.run(None)?;
    }
    Ok(begin.elapsed())
}

fn number(variable: &str) -> Option<u32> {
    std::env::var(variable).ok()?.parse().ok()
}

/// How many runs take about 0.01 s; warms up on the way. HEADRACE_BENCH_CALLS decides if it is set.
fn runs(call: &mut Call<'_>) -> Result<u32> {
    if let Some(count) = number("HEADRACE_BENCH_CALLS") {
        return Ok(count);
    }
    let mut count = 1;
    loop {
        let taken = time(call, count)?;
        if taken > Duration::from_millis(1) {
            return Ok((f64::from(count) * 0.01 / taken.as_secs_f64()) as u32);
        }
        count *= 2;
    }
}

fn main() -> Result<()> {
    let mut call = add()?;
    let count = runs(&mut call)?;
    for line in std::io::stdin().lock().lines() {
        let repeats = line?
            .split(' ')
            .nth(1)
            .and_then(|text| text.parse().ok())
            .unwrap_or(1);
        let each = |_| Ok(time(&mut call, count)?.as_secs_f64() * 1e9 / f64::from(count));
        let values = (0..repeats).map(each).collect::<Result<Vec<f64>>>()?;
        println!("{{\"values\": {values:?}, \"calls\": {count}}}");
        std::io::stdout().flush()?;
    }
    Ok(())
}
