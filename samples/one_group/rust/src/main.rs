//! A rank in Rust: ../README.md says what it does.
//!
//!     rank MODEL DATA STEPS
use std::process::exit;

use headrace::{Call, DType, DataSet, Env, Group, Model, ReduceOp, Result, Session, Tensor};

/// The checksum of zlib.
fn crc32(crc: u32, data: &[u8]) -> u32 {
    !data.iter().fold(!crc, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            (crc >> 1) ^ (0xedb8_8320 * (crc & 1))
        })
    })
}

/// The checksum of all variables.
fn checksum(session: &Session) -> Result<u32> {
    let mut crc = 0;
    for name in session.variables() {
        for value in session.variable(&name, None)?.as_slice::<f32>()? {
            crc = crc32(crc, &value.to_ne_bytes());
        }
    }
    Ok(crc)
}

/// Gives "gradients" an output and "apply" an input for each variable, and returns their lengths.
fn bind(env: &Env, session: &Session, compute: &mut Call, apply: &mut Call) -> Result<Vec<usize>> {
    let mut lengths = Vec::new();
    for name in session.variables() {
        let variable = session.variable(&name, None)?;
        compute.bind_output(&name, Tensor::zeros(env, DType::FLOAT32, variable.shape())?)?;
        apply.bind(&name, Tensor::zeros(env, DType::FLOAT32, variable.shape())?)?;
        lengths.push(variable.len());
    }
    compute.bind_output("loss", Tensor::zeros(env, DType::FLOAT32, &[])?)?;
    Ok(lengths)
}

fn rank(model: &str, data: &str, steps: u64) -> Result<()> {
    let env = Env::builder().threads(1).build()?;
    let group = Group::new(&env, None, None)?;
    let session = Session::new(&Model::load(&env, model, None)?, None)?;
    let (mut compute, mut apply) = (
        Call::new(&session, "gradients")?,
        Call::new(&session, "apply")?,
    );
    let lengths = bind(&env, &session, &mut compute, &mut apply)?;
    let shard = format!("shard={}/{}", group.rank(), group.size());
    let uri = format!("{data}?batch=16&shuffle=1&seed=5&repeat=forever&{shard}");
    compute.bind_dataset(Some(&DataSet::open(&env, &uri)?))?;
    let names = session.variables();
    let mut gradients = Vec::new(); // a call borrows what it is given, so the numbers are copied here
    for _ in 0..steps {
        compute.run(None)?;
        gradients.clear();
        for name in names.iter().map(String::as_str).chain(["loss"]) {
            gradients.extend_from_slice(compute.output::<f32>(name)?);
        }
        group.all_reduce_in_place(&mut gradients, ReduceOp::AVERAGE, None)?;
        let mut rest = gradients.as_slice();
        for (name, length) in names.iter().zip(&lengths) {
            let (average, after) = rest.split_at(*length);
            apply.input_mut::<f32>(name)?.copy_from_slice(average);
            rest = after;
        }
        apply.run(None)?;
        println!("loss: {:08x}", rest[0].to_bits());
    }
    println!("weights: {:08x}", checksum(&session)?);
    Ok(())
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, model, data, steps] = arguments.as_slice() else {
        eprintln!("usage: rank MODEL DATA STEPS");
        exit(2);
    };
    let Ok(steps) = steps.parse() else {
        eprintln!("rank: STEPS is a number, not '{steps}'");
        exit(2);
    };
    if let Err(error) = rank(model, data, steps) {
        println!("failure: {} {}", error.code(), error.message());
        exit(1);
    }
}
