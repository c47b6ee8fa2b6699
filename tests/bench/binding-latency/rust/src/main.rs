//! The Rust side of the benchmark. Usage: bench-binding-latency ENGINE
use std::collections::HashMap;
use std::error::Error;
use std::io::{BufRead, Write};
use std::sync::OnceLock;
use std::time::Instant;

use headrace::{Call, Env, Model, Session, Tensor};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// A model with its input and output bound.
trait Engine {
    fn run(&mut self) -> Result<()>;
    /// What a run computes.
    fn result(&mut self) -> Result<Vec<f32>>;
    fn version(&self) -> String;
}

#[derive(Clone, Copy)]
enum Case {
    OneNode,
    Magika,
}

impl Case {
    fn of(name: &str) -> Self {
        if name == "magika" {
            Self::Magika
        } else {
            Self::OneNode
        }
    }

    /// The names of the input and of the output.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::OneNode => ("x", "y"),
            Self::Magika => ("bytes", "target_label"),
        }
    }

    fn output_shape(self) -> &'static [i64] {
        match self {
            Self::OneNode => &[4],
            Self::Magika => &[1, 214],
        }
    }
}

fn numbers() -> Vec<f32> {
    vec![1.0, 2.0, 3.0, 4.0]
}

fn bytes() -> Vec<i32> {
    (0..2048).map(|i| i % 257).collect()
}

fn variable(name: &str) -> Result<String> {
    std::env::var(name).map_err(|_| format!("{name} is not set").into())
}

struct OfHeadrace {
    call: Call<'static>,
    output: &'static str,
}

impl OfHeadrace {
    fn new(path: &str, case: Case, threads: i32) -> Result<Self> {
        let env = Env::builder().threads(threads).build()?;
        let model = Model::load(&env, format!("{path}.hrg"), None)?;
        let mut call = Call::new(&Session::new(&model, None)?, "infer")?;
        let (input, output) = case.names();
        let x = match case {
            Case::OneNode => Tensor::from_vec(numbers(), &[4])?,
            Case::Magika => Tensor::from_vec(bytes(), &[1, 2048])?,
        };
        let shape = case.output_shape();
        let elements = shape.iter().product::<i64>() as usize;
        call.bind(input, x)?;
        call.bind_output(output, Tensor::from_vec(vec![0.0f32; elements], shape)?)?;
        Ok(Self { call, output })
    }
}

impl Engine for OfHeadrace {
    fn run(&mut self) -> Result<()> {
        Ok(self.call.run(None)?)
    }

    fn result(&mut self) -> Result<Vec<f32>> {
        Ok(self.call.output::<f32>(self.output)?.to_vec())
    }

    fn version(&self) -> String {
        headrace::version_text()
    }
}

/// A process may have one.
fn environment() -> &'static ort::environment::Environment {
    static ENVIRONMENT: OnceLock<ort::environment::Environment> = OnceLock::new();
    ENVIRONMENT.get_or_init(|| ort::init().build().expect("ONNX Runtime starts"))
}

struct OfOnnxRuntime {
    session: ort::session::Session,
    binding: ort::session::IoBinding,
    output: &'static str,
}

impl OfOnnxRuntime {
    fn new(path: &str, case: Case, threads: usize) -> Result<Self> {
        let session = ort::session::Session::builder(environment())?
            .with_intra_threads(threads)
            .map_err(|error| error.to_string())?
            .commit_from_file(format!("{path}.onnx"))?;
        let mut binding = session.create_binding()?;
        let (input, output) = case.names();
        match case {
            Case::OneNode => {
                let x = ort::value::Tensor::from_array(([4], numbers()))?;
                binding.bind_input(input, &x)?;
            }
            Case::Magika => {
                let x = ort::value::Tensor::from_array(([1, 2048], bytes()))?;
                binding.bind_input(input, &x)?;
            }
        }
        let (memory, shape) = (ort::memory::Allocator::default(), case.output_shape());
        let y = ort::value::Tensor::<f32>::new(&memory, shape.to_vec())?;
        binding.bind_output(output, y)?;
        Ok(Self {
            session,
            binding,
            output,
        })
    }
}

impl Engine for OfOnnxRuntime {
    fn run(&mut self) -> Result<()> {
        self.session.run_binding(&self.binding)?;
        Ok(())
    }

    fn result(&mut self) -> Result<Vec<f32>> {
        let outputs = self.session.run_binding(&self.binding)?;
        let (_, values) = outputs[self.output].try_extract_tensor::<f32>()?;
        Ok(values.to_vec())
    }

    /// The library's version is in the name of its file, "libonnxruntime.so.1.32.0".
    fn version(&self) -> String {
        let path = std::env::var("ORT_DYLIB_PATH").unwrap_or_default();
        path.rsplit_once(".so.")
            .map_or("", |(_, version)| version)
            .to_string()
    }
}

struct Side {
    engine: Box<dyn Engine>,
    count: u32,
}

impl Side {
    /// Finds how many runs take about 0.1 s, and warms up on the way.
    fn new(engine: &str, name: &str) -> Result<Self> {
        let path = format!("{}/{name}", variable("HEADRACE_BENCH_SCRATCH")?);
        let threads = variable("HEADRACE_BENCH_THREADS")?.parse::<i32>()?;
        let case = Case::of(name);
        let engine: Box<dyn Engine> = match engine {
            "headrace" => Box::new(OfHeadrace::new(&path, case, threads)?),
            "onnxruntime" => Box::new(OfOnnxRuntime::new(&path, case, threads as usize)?),
            other => return Err(format!("there is no engine {other}").into()),
        };
        let mut side = Self { engine, count: 1 };
        loop {
            let each = side.time()?;
            if each * f64::from(side.count) > 0.02 {
                side.count = (0.1 / each).max(1.0) as u32;
                return Ok(side);
            }
            side.count *= 2;
        }
    }

    /// How many seconds a run takes.
    fn time(&mut self) -> Result<f64> {
        let begin = Instant::now();
        for _ in 0..self.count {
            self.engine.run()?;
        }
        Ok(begin.elapsed().as_secs_f64() / f64::from(self.count))
    }

    fn answer(&mut self, repeats: u32) -> Result<String> {
        let each = |_| Ok(1e6 * self.time()?);
        let values = (0..repeats).map(each).collect::<Result<Vec<f64>>>()?;
        let (version, result) = (self.engine.version(), self.engine.result()?);
        Ok(format!(
            "{{\"values\": {values:?}, \"version\": {version:?}, \"result\": {result:?}}}"
        ))
    }
}

fn main() -> Result<()> {
    let engine = std::env::args().nth(1).ok_or("name an engine")?;
    let mut sides = HashMap::new();
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let (case, repeats) = line.split_once(' ').ok_or("expected CASE REPEATS")?;
        if !sides.contains_key(case) {
            sides.insert(case.to_string(), Side::new(&engine, case)?);
        }
        let side = sides.get_mut(case).ok_or("no side")?;
        println!("{}", side.answer(repeats.trim().parse()?)?);
        std::io::stdout().flush()?;
    }
    Ok(())
}
