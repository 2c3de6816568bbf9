//! The arguments of a launch, read as its kernel does

use usm_memory::usm_core::{ArgumentKind, KernelArgument};

/// The arguments, taken one by one with the types that the kernel declares.
pub(in crate::copy::copy_kernels) struct Reader<'a>(
    pub(in crate::copy::copy_kernels) std::slice::Iter<'a, KernelArgument>,
);

#[derive(Clone, Copy)]
pub(in crate::copy::copy_kernels) struct Divisor {
    pub(in crate::copy::copy_kernels) number: u64,
    factor: u64,
    shift: u64,
}

impl Divisor {
    /// As `quotient` of the source.
    pub(in crate::copy::copy_kernels) fn split(self, x: u64) -> (u64, u64) {
        assert!(x < 1 << 31, "{x}");
        let quotient = (x * self.factor) >> self.shift;
        assert_eq!(quotient, x / self.number, "{x}");
        (quotient, x - quotient * self.number)
    }
}

#[derive(Clone, Copy)]
pub(in crate::copy::copy_kernels) struct GridAxis {
    steps: Option<Divisor>,
    dst: i64,
    src: i64,
}

impl Reader<'_> {
    fn next(&mut self, kind: ArgumentKind) -> u64 {
        let argument = self.0.next().expect("the kernel has more arguments");
        assert_eq!(argument.kind(), kind);
        let mut number = [0; 8];
        number[..argument.as_bytes().len()].copy_from_slice(argument.as_bytes());
        u64::from_le_bytes(number)
    }

    pub(in crate::copy::copy_kernels) fn pointer(&mut self) -> i64 {
        self.next(ArgumentKind::Pointer).cast_signed()
    }

    pub(in crate::copy::copy_kernels) fn half(&mut self) -> u64 {
        self.next(ArgumentKind::U64)
    }

    pub(in crate::copy::copy_kernels) fn direction(&mut self) -> i64 {
        i64::from(self.next(ArgumentKind::I32) as i32)
    }

    pub(in crate::copy::copy_kernels) fn count(&mut self) -> u64 {
        self.next(ArgumentKind::U32)
    }

    pub(in crate::copy::copy_kernels) fn stride(&mut self) -> i64 {
        self.next(ArgumentKind::I64).cast_signed()
    }

    pub(in crate::copy::copy_kernels) fn divisor(&mut self) -> Divisor {
        Divisor { number: self.count(), factor: self.count(), shift: self.count() }
    }

    /// Axes over the grid. So many of them have a divisor, and all a stride in the source, if there is one.
    pub(in crate::copy::copy_kernels) fn axes(
        &mut self,
        count: usize,
        divisors: usize,
        has_source: bool,
    ) -> Vec<GridAxis> {
        let axis = |place| {
            let steps = (place < divisors).then(|| self.divisor());
            let (dst, src) = (self.stride(), if has_source { self.stride() } else { 0 });
            GridAxis { steps, dst, src }
        };
        (0..count).map(axis).collect()
    }

    pub(in crate::copy::copy_kernels) fn end(mut self) {
        assert_eq!(self.0.next(), None, "the kernel has fewer arguments");
    }
}

/// Displacements of what has a number on the grid. An axis without a divisor has all that is left.
pub(in crate::copy::copy_kernels) fn on_grid(axes: &[GridAxis], mut rest: u64) -> (i64, i64) {
    let (mut dst, mut src) = (0, 0);
    for axis in axes {
        let (next, step) = axis.steps.map_or((0, rest), |steps| steps.split(rest));
        dst += step as i64 * axis.dst;
        src += step as i64 * axis.src;
        rest = next;
    }
    assert_eq!(rest, 0, "more groups than the axes have steps");
    (dst, src)
}
