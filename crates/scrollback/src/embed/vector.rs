//! A vector in few bytes: a number from −127 to 127 for each of its own, and what they are multiplied by.

/// The largest number of a code.
const MOST: f32 = 127.0;
/// The largest number of what is sought; sums of products fit 32 bits up to some 8,000 numbers.
const SOUGHT_MOST: f32 = 2_047.0;

/// A vector that may be found.
#[derive(Clone, Debug, PartialEq)]
pub struct Code {
    /// What the numbers are multiplied by.
    pub scale: f32,
    /// The numbers.
    pub numbers: Vec<i8>,
}

impl Code {
    /// The direction of a vector; `None` if it has none.
    #[expect(clippy::cast_possible_truncation, reason = "numbers are at most 127")]
    pub fn of(vector: &[f32]) -> Option<Self> {
        let (scale, numbers) = scaled(vector, MOST)?;
        Some(Self { scale, numbers: numbers.map(|number| number as i8).collect() })
    }
}

/// A vector that is looked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Sought {
    scale: f32,
    numbers: Vec<i16>,
}

impl Sought {
    /// The direction of a vector; `None` if it has none.
    #[expect(clippy::cast_possible_truncation, reason = "numbers are at most 2047")]
    pub fn of(vector: &[f32]) -> Option<Self> {
        let (scale, numbers) = scaled(vector, SOUGHT_MOST)?;
        Some(Self { scale, numbers: numbers.map(|number| number as i16).collect() })
    }

    /// How many numbers it has.
    pub fn dimensions(&self) -> usize {
        self.numbers.len()
    }

    /// The cosine of the angle between it and a code of as many numbers.
    #[expect(clippy::cast_precision_loss, reason = "a rounded cosine is as good")]
    pub fn cosine(&self, scale: f32, numbers: &[i8]) -> f32 {
        let products = self.numbers.iter().zip(numbers).map(|(a, b)| i32::from(*a) * i32::from(*b));
        self.scale * scale * products.sum::<i32>() as f32
    }
}

/// The cosine of the angle between two vectors; 0 if one has no direction.
pub fn cosine(a: &[f32], b: &[f32]) -> f32 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    let length = (dot(a, a) * dot(b, b)).sqrt();
    if length > 0.0 { dot(a, b) / length } else { 0.0 }
}

/// The direction of a vector in whole numbers, none larger than `most`, and what they are multiplied by.
fn scaled(vector: &[f32], most: f32) -> Option<(f32, impl Iterator<Item = f32>)> {
    let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt();
    let largest = vector.iter().fold(0.0_f32, |largest, number| largest.max(number.abs()));
    let has_direction = length.is_finite() && length > 0.0;
    let up = most / largest;
    has_direction.then(|| (1.0 / (up * length), vector.iter().map(move |number| (number * up).round())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_is_lost_in_few_bytes() {
        let wave = |step: f32| (0..384_u16).map(|i| (f32::from(i) * step).sin()).collect::<Vec<f32>>();
        for (a, b) in [(0.1, 0.1), (0.1, 0.101), (0.3, 0.7), (0.5, -0.5)] {
            let (a, b) = (wave(a), wave(b));
            let code = Code::of(&b).unwrap();
            let found = Sought::of(&a).unwrap().cosine(code.scale, &code.numbers);
            assert!((found - cosine(&a, &b)).abs() < 0.005, "{found} for {}", cosine(&a, &b));
        }
    }

    #[test]
    fn what_has_no_direction_has_no_code() {
        assert_eq!(Code::of(&[0.0; 4]), None);
        assert_eq!(Sought::of(&[f32::NAN, 1.0]), None);
        assert_eq!(cosine(&[0.0], &[1.0]).to_bits(), 0);
    }
}
