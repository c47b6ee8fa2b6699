//! Descriptions of operations of a group.
use headrace_sys as sys;

use crate::{Code, DType, Error, Result};

/// What an operation of a group does. Later versions of the library may add kinds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct OperationKind(pub i32);

#[allow(missing_docs)]
impl OperationKind {
    pub const SEND: Self = Self(sys::HR_OPERATION_SEND);
    pub const RECV: Self = Self(sys::HR_OPERATION_RECV);
    pub const BARRIER: Self = Self(sys::HR_OPERATION_BARRIER);
    pub const BROADCAST: Self = Self(sys::HR_OPERATION_BROADCAST);
    pub const REDUCE: Self = Self(sys::HR_OPERATION_REDUCE);
    pub const ALL_REDUCE: Self = Self(sys::HR_OPERATION_ALL_REDUCE);
    pub const GATHER: Self = Self(sys::HR_OPERATION_GATHER);
    pub const ALL_GATHER: Self = Self(sys::HR_OPERATION_ALL_GATHER);
    pub const SCATTER: Self = Self(sys::HR_OPERATION_SCATTER);
    pub const REDUCE_SCATTER: Self = Self(sys::HR_OPERATION_REDUCE_SCATTER);
    pub const ALL_TO_ALL: Self = Self(sys::HR_OPERATION_ALL_TO_ALL);
}

/// How values are combined. Later versions of the library may add some.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ReduceOp(pub i32);

impl ReduceOp {
    /// The sum.
    pub const SUM: Self = Self(sys::HR_SUM);
    /// The product.
    pub const PRODUCT: Self = Self(sys::HR_PRODUCT);
    /// The least.
    pub const MIN: Self = Self(sys::HR_MIN);
    /// The greatest.
    pub const MAX: Self = Self(sys::HR_MAX);
    /// The sum by the size of the group; integers round towards zero.
    pub const AVERAGE: Self = Self(sys::HR_AVERAGE);
    /// The sum of factor times input, with [`Operation::factor`].
    pub const PRE_MULTIPLIED_SUM: Self = Self(sys::HR_PRE_MULTIPLIED_SUM);
}

/// The description of any operation of a group, without its buffers.
#[derive(Clone, Debug)]
pub struct Operation {
    /// What it does.
    pub kind: OperationKind,
    /// The number of elements: one rank's contribution (gather, all_gather), one rank's result
    /// (scatter, reduce_scatter), what one rank sends to another (all_to_all), or the buffer.
    pub count: usize,
    /// The type of the elements.
    pub dtype: DType,
    /// Of reductions.
    pub op: ReduceOp,
    /// The root; of a send the receiver, of a receive the sender.
    pub peer: i32,
    /// Of sends and receives.
    pub tag: u32,
    /// Of [`ReduceOp::PRE_MULTIPLIED_SUM`]; it may differ between ranks.
    pub factor: f64,
}

impl Operation {
    /// Describes an operation. The other fields are sum, rank 0, tag 0 and the factor 1.
    pub fn new(kind: OperationKind, dtype: DType, count: usize) -> Self {
        Self { kind, count, dtype, op: ReduceOp::SUM, peer: 0, tag: 0, factor: 1.0 }
    }

    pub(crate) fn raw(
        &self,
        input: *const std::ffi::c_void,
        output: *mut std::ffi::c_void,
    ) -> sys::hr_operation {
        sys::hr_operation {
            kind: self.kind.0,
            dtype: self.dtype.0,
            count: self.count as u64,
            input,
            output,
            op: self.op.0,
            peer: self.peer,
            tag: self.tag,
            factor: self.factor,
            ..Default::default()
        }
    }

    /// The elements of the input and the output that a rank of a group of `size` needs.
    fn needs(&self, rank: i32, size: i32) -> Result<(usize, usize)> {
        let all = self.count.checked_mul(size.max(1) as usize).ok_or_else(|| {
            Error::new(
                Code::INVALID_ARGUMENT,
                format!("{} elements for each rank are too many", self.count),
            )
        })?;
        let (one, is_root) = (self.count, rank == self.peer);
        let on_root = |elements| if is_root { elements } else { 0 };
        Ok(match self.kind {
            OperationKind::SEND => (one, 0),
            OperationKind::RECV => (0, one),
            OperationKind::BARRIER => (0, 0),
            OperationKind::BROADCAST => (on_root(one), one),
            OperationKind::REDUCE => (one, on_root(one)),
            OperationKind::ALL_REDUCE => (one, one),
            OperationKind::GATHER => (one, on_root(all)),
            OperationKind::ALL_GATHER => (one, all),
            OperationKind::SCATTER => (on_root(all), one),
            OperationKind::REDUCE_SCATTER => (all, one),
            OperationKind::ALL_TO_ALL => (all, all),
            OperationKind(kind) => {
                let message = format!("this version of the crate does not know operation {kind}");
                return Err(Error::new(Code::UNIMPLEMENTED, message));
            }
        })
    }

    /// Fails if the buffers of a rank are not of the sizes that it needs.
    pub(crate) fn require(
        &self,
        (rank, size): (i32, i32),
        input: Option<usize>,
        output: Option<usize>,
    ) -> Result<()> {
        let (wants_input, wants_output) = self.needs(rank, size)?;
        let fits =
            |given: Option<usize>, wanted| given.is_none_or(|given| given == wanted || wanted == 0);
        let missing = input.is_none() && wants_input > 0 || output.is_none() && wants_output > 0;
        if fits(input, wants_input) && fits(output, wants_output) && !missing {
            return Ok(());
        }
        let message = format!(
            "expected {wants_input} elements of input and {wants_output} of output, got {} and {}",
            input.unwrap_or(0),
            output.unwrap_or(0)
        );
        Err(Error::new(Code::INVALID_ARGUMENT, message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_have_the_sizes_that_the_rank_needs() {
        let gather = Operation::new(OperationKind::GATHER, DType::FLOAT32, 3);
        assert!(gather.require((0, 4), Some(3), Some(12)).is_ok());
        assert!(gather.require((0, 4), Some(3), Some(11)).is_err());
        assert!(gather.require((0, 4), Some(3), None).is_err());
        assert!(gather.require((1, 4), Some(3), None).is_ok());
        assert!(gather.require((1, 4), Some(2), None).is_err());
        let huge = Operation::new(OperationKind::ALL_GATHER, DType::FLOAT32, usize::MAX);
        assert!(huge.require((0, 2), Some(usize::MAX), Some(0)).is_err());
    }
}
