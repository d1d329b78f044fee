//! Functions of single numbers, many at a time: near enough, and without a call each, so that compilers make them wide.

/// The softmax of a row.
pub(super) fn softmax(row: &mut [f32]) {
    let most = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    for number in row.iter_mut() {
        *number = exp(*number - most);
    }
    let sum = 1.0 / row.iter().sum::<f32>();
    for number in row.iter_mut() {
        *number *= sum;
    }
}

/// The function between the two layers of a feed-forward step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Between {
    /// By the error function.
    Gelu,
    /// By a hyperbolic tangent, nearly the same.
    GeluTanh,
    /// What is below nothing is nothing.
    Relu,
}

impl Between {
    pub(super) fn apply(self, numbers: &mut [f32]) {
        for x in numbers {
            *x = self.of(*x);
        }
    }

    fn of(self, x: f32) -> f32 {
        match self {
            Self::Gelu => 0.5 * x * (1.0 + erf(x * std::f32::consts::FRAC_1_SQRT_2)),
            Self::GeluTanh => {
                // x / (1 + e^−2y) is x · (1 + tanh y) / 2.
                let y = 0.797_884_6 * (x + 0.044_715 * x * x * x);
                x / (1.0 + exp(-2.0 * y))
            }
            Self::Relu => x.max(0.0),
        }
    }
}

/// e to a power between −87 and 87, to some seven digits.
#[expect(clippy::cast_possible_wrap, reason = "the bits are those of a small whole number")]
fn exp(x: f32) -> f32 {
    // Added to a number, this leaves its whole part in the lowest bits.
    const WHOLE: f32 = 12_582_912.0;
    let x = x.clamp(-87.0, 87.0);
    let shifted = x * std::f32::consts::LOG2_E + WHOLE;
    // The logarithm of 2 in two parts, so that nothing of it is lost when it is multiplied.
    let whole = shifted - WHOLE;
    let rest = x - whole * 0.693_359_4 + whole * 2.121_944_4e-4;
    let power = f32::from_bits(((shifted.to_bits() as i32) << 23).wrapping_add(127 << 23).cast_unsigned());
    let series = [1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0];
    power * series.iter().fold(0.0, |sum, factor| sum * rest + factor)
}

/// The error function, by a quotient of polynomials, to some seven digits.
fn erf(x: f32) -> f32 {
    const OVER: [f32; 7] =
        [-2.726_142e-10, 2.770_681_4e-8, -2.101_024e-6, -5.692_506_4e-5, -7.349_906_3e-4, -2.954_6e-3, -1.609_603_3e-2];
    const UNDER: [f32; 5] = [-1.456_607_2e-5, -2.133_740_5e-4, -1.682_827e-3, -7.373_329e-3, -1.426_473_9e-2];
    let x = x.clamp(-4.0, 4.0);
    let square = x * x;
    let over = OVER.iter().fold(0.0, |sum, factor| sum * square + factor);
    let under = UNDER.iter().fold(0.0, |sum, factor| sum * square + factor);
    x * over / under
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_and_errors_are_near_enough() {
        for i in -800..=100_i16 {
            let x = f32::from(i) / 10.0;
            assert!((exp(x) / x.exp() - 1.0).abs() < 1e-5, "e^{x} is {} and not {}", exp(x), x.exp());
        }
        for (x, expected) in
            [(0.0, 0.0), (0.1, 0.112_462_92), (0.5, 0.520_499_9), (1.0, 0.842_700_8), (2.0, 0.995_322_3), (5.0, 1.0)]
        {
            assert!((erf(x) - expected).abs() < 2e-7, "erf {x} is {}", erf(x));
            assert!((erf(-x) + expected).abs() < 2e-7);
        }
    }

    #[test]
    fn rows_sum_to_one_and_functions_are_those_of_the_books() {
        let mut row = [1.0, 2.0, 3.0, -100.0];
        softmax(&mut row);
        assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-6 && (row[2] / row[1] - 1.0_f32.exp()).abs() < 1e-5);
        for (between, expected) in [
            (Between::Gelu, [-0.158_655_26, 0.345_731_23, 2.995_950_3]),
            (Between::GeluTanh, [-0.158_808, 0.345_714, 2.996_363]),
            (Between::Relu, [0.0, 0.5, 3.0]),
        ] {
            let mut row = [-1.0, 0.5, 3.0];
            between.apply(&mut row);
            assert!(row.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-5), "{between:?}: {row:?}");
        }
    }
}
