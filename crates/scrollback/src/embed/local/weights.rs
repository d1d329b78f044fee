//! A file of weights: safetensors, a list of names and places in JSON and then the numbers. All are read as 32-bit
//! floats.

use std::collections::HashMap;
use std::path::Path;

use ndarray::{Array1, Array2};
use serde::Deserialize;

use crate::error::{Error, Result};
use crate::ids::Hash128;

/// No list of names is longer than this.
const HEADER_BYTES: u64 = 100 << 20;
/// What models call the same weights depends on what they were taken out of.
const PREFIXES: [&str; 5] = ["", "bert.", "roberta.", "mpnet.", "0.auto_model."];

/// The bytes of a file, and where what is.
pub(super) struct Weights {
    bytes: Vec<u8>,
    from: usize,
    tensors: HashMap<String, Tensor>,
}

#[derive(Deserialize)]
struct Tensor {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: (usize, usize),
}

impl Weights {
    pub(super) fn read(path: &Path) -> Result<Self> {
        let shown = path.display();
        let bytes = std::fs::read(path).map_err(|error| Error::Invalid(format!("{shown} cannot be read: {error}")))?;
        Self::parse(bytes).ok_or_else(|| Error::Invalid(format!("{shown} is no safetensors file, or a damaged one")))
    }

    fn parse(bytes: Vec<u8>) -> Option<Self> {
        let length = u64::from_le_bytes(bytes.get(..8)?.try_into().ok()?);
        let from = usize::try_from(Some(length).filter(|length| *length < HEADER_BYTES)?).ok()? + 8;
        let header: HashMap<String, serde_json::Value> = serde_json::from_slice(bytes.get(8..from)?).ok()?;
        let tensors = header.into_iter().filter(|(name, _)| name != "__metadata__");
        let read = |(name, value)| Some((name, serde_json::from_value::<Tensor>(value).ok()?));
        Some(Self { tensors: tensors.map(read).collect::<Option<_>>()?, bytes, from })
    }

    /// What tells these weights from others.
    pub(super) fn fingerprint(&self) -> Hash128 {
        Hash128::of("weights", &[&self.bytes])
    }

    /// A matrix by its name.
    pub(super) fn matrix(&self, name: &str) -> Result<Array2<f32>> {
        let (shape, numbers) = self.numbers(name)?;
        let shape = match *shape {
            [rows, columns] => (rows, columns),
            _ => return Err(Error::Invalid(format!("{name} in model.safetensors is no matrix"))),
        };
        Array2::from_shape_vec(shape, numbers).map_err(|_| misfit(name))
    }

    /// A row of numbers by its name.
    pub(super) fn row(&self, name: &str) -> Result<Array1<f32>> {
        Ok(Array1::from_vec(self.numbers(name)?.1))
    }

    /// Whether there is something of a name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.tensor(name).is_some()
    }

    fn tensor(&self, name: &str) -> Option<&Tensor> {
        PREFIXES.iter().find_map(|prefix| self.tensors.get(&format!("{prefix}{name}")))
    }

    fn numbers(&self, name: &str) -> Result<(&[usize], Vec<f32>)> {
        let tensor = self.tensor(name).ok_or_else(|| Error::Invalid(format!("model.safetensors has no {name}")))?;
        let (from, to) = tensor.data_offsets;
        let bytes = self.bytes.get(self.from.saturating_add(from)..self.from.saturating_add(to));
        let numbers = bytes.and_then(|bytes| floats(&tensor.dtype, bytes)).ok_or_else(|| misfit(name))?;
        if tensor.shape.iter().product::<usize>() != numbers.len() {
            return Err(misfit(name));
        }
        Ok((&tensor.shape, numbers))
    }
}

fn misfit(name: &str) -> Error {
    Error::Invalid(format!("{name} in model.safetensors is not laid out as it says, or in a type that cannot be read"))
}

fn floats(dtype: &str, bytes: &[u8]) -> Option<Vec<f32>> {
    let wide = |four: &[u8]| f32::from_le_bytes([four[0], four[1], four[2], four[3]]);
    let short = |two: &[u8]| u16::from_le_bytes([two[0], two[1]]);
    match dtype {
        "F32" => Some(bytes.chunks_exact(4).map(wide).collect()),
        "F16" => Some(bytes.chunks_exact(2).map(|two| half(short(two))).collect()),
        "BF16" => Some(bytes.chunks_exact(2).map(|two| f32::from_bits(u32::from(short(two)) << 16)).collect()),
        _ => None,
    }
}

/// A float of 16 bits.
fn half(bits: u16) -> f32 {
    let (sign, exponent, fraction) = (bits >> 15, bits >> 10 & 31, bits & 1_023);
    let size = match exponent {
        0 => f32::from(fraction) * 2.0_f32.powi(-24),
        31 if fraction == 0 => f32::INFINITY,
        31 => f32::NAN,
        _ => (1.0 + f32::from(fraction) / 1_024.0) * 2.0_f32.powi(i32::from(exponent) - 15),
    };
    if sign == 1 { -size } else { size }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_of_every_length_are_read() {
        for (bits, number) in
            [(0x3c00, 1.0), (0xc000, -2.0), (0x3555, 0.333_251_95), (0x0001, 5.960_464_5e-8), (0x7c00, f32::INFINITY)]
        {
            assert_eq!(half(bits).to_bits(), f32::to_bits(number), "{bits:04x}");
        }
        assert_eq!(floats("BF16", &[0x80, 0x3f]), Some(vec![1.0]));
        assert_eq!(floats("I64", &[0; 8]), None);
    }

    #[test]
    fn a_file_that_is_cut_off_or_lies_is_refused() {
        let header = br#"{"a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}}"#;
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend(header);
        let weights = Weights::parse([bytes.clone(), vec![0, 0, 128, 63, 0, 0, 0, 64]].concat()).unwrap();
        assert_eq!(weights.matrix("a").unwrap(), ndarray::array![[1.0, 2.0]]);
        assert!(weights.row("b").is_err() && weights.row("c").is_err());
        assert!(Weights::parse(bytes.clone()).unwrap().matrix("a").is_err(), "the numbers are cut off");
        assert!(Weights::parse(bytes[..20].to_vec()).is_none() && Weights::parse(vec![255; 9]).is_none());
    }
}
