//! The vectors of a session in memory, one after the other, and how near each is to a question. Every one is compared:
//! nothing is missed, and what it takes is one pass over a few hundred bytes a message.

use super::block::{Block, Row};
use super::vector::{Code, Sought};
use crate::ids::{BranchId, Depth};
use crate::store::Lineage;

/// How near the messages of a path are to a question.
#[derive(Clone, Debug, Default)]
pub struct Similar {
    /// By depth; none where nothing was embedded.
    near: Vec<Option<f32>>,
}

impl Similar {
    /// How near the message at a place is, if that is known.
    pub fn at(&self, place: u64) -> Option<f32> {
        self.near.get(usize::try_from(place).ok()?).copied().flatten()
    }

    /// Whether none is known.
    pub fn is_empty(&self) -> bool {
        self.near.iter().all(Option::is_none)
    }

    /// All places that are known, and how near they are.
    pub fn all(&self) -> impl Iterator<Item = (u64, f32)> {
        (0..).zip(&self.near).filter_map(|(place, near)| Some((place, (*near)?)))
    }

    /// Learns how near a passage of the message at a place is; its nearest counts.
    pub fn learn(&mut self, place: u64, near: f32) {
        let Ok(place) = usize::try_from(place) else { return };
        if self.near.len() <= place {
            self.near.resize(place + 1, None);
        }
        let known = &mut self.near[place];
        *known = Some(known.map_or(near, |known| known.max(near)));
    }
}

/// The vectors of a session.
#[derive(Clone, Debug, Default)]
pub struct Scan {
    dimensions: usize,
    places: Vec<(BranchId, Depth)>,
    scales: Vec<f32>,
    numbers: Vec<i8>,
}

impl Scan {
    /// How many vectors there are.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// What it takes in memory.
    pub fn bytes(&self) -> usize {
        self.numbers.len() + self.places.len() * 12
    }

    /// Adds the vectors of a block.
    pub(crate) fn add(&mut self, block: &Block) {
        for Row { branch, depth, code } in &block.rows {
            self.push((*branch, *depth), code);
        }
    }

    /// Adds a vector of a message at a place; one of another length than the first cannot be compared and is passed
    /// over.
    pub fn push(&mut self, place: (BranchId, Depth), code: &Code) {
        if self.places.is_empty() {
            self.dimensions = code.numbers.len();
        }
        if code.numbers.len() == self.dimensions {
            self.places.push(place);
            self.scales.push(code.scale);
            self.numbers.extend(&code.numbers);
        }
    }

    /// Goes back to its first so many vectors.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.places.truncate(len);
        self.scales.truncate(len);
        self.numbers.truncate(len * self.dimensions);
    }

    /// How near every message of a path is.
    pub fn similar(&self, sought: &Sought, path: &Lineage) -> Similar {
        let mut similar = Similar::default();
        if sought.dimensions() != self.dimensions || self.dimensions == 0 {
            return similar;
        }
        let rows = self.places.iter().zip(&self.scales).zip(self.numbers.chunks_exact(self.dimensions));
        for ((&(branch, depth), scale), numbers) in rows {
            if path.0.iter().any(|(on, last)| *on == branch && depth <= *last) {
                similar.learn(u64::from(depth.0), sought.cosine(*scale, numbers));
            }
        }
        similar
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(branch: u32, depth: u32, vector: &[f32]) -> Row {
        Row { branch: BranchId(branch), depth: Depth(depth), code: Code::of(vector).unwrap() }
    }

    #[test]
    fn the_nearest_passage_counts_and_other_paths_do_not() {
        let rows = vec![
            row(0, 0, &[1.0, 0.0]),
            row(0, 1, &[0.0, 1.0]),
            row(0, 1, &[3.0, 3.0]),
            row(0, 5, &[1.0, 0.0]),
            row(1, 1, &[1.0, 0.0]),
            row(0, 2, &[1.0, 0.0, 0.0]),
        ];
        let mut scan = Scan::default();
        scan.add(&Block { upto: 9, rows });
        assert_eq!(scan.len(), 5, "a vector of another length is passed over");
        let path = Lineage(vec![(BranchId(0), Depth(3))]);
        let similar = scan.similar(&Sought::of(&[2.0, 0.0]).unwrap(), &path);
        let near: Vec<(u64, f32)> = similar.all().collect();
        assert_eq!(near.len(), 2);
        assert!((near[0].1 - 1.0).abs() < 0.01 && (near[1].1 - 0.707).abs() < 0.01, "{near:?}");
        assert_eq!(similar.at(5), None);
        assert_eq!(scan.similar(&Sought::of(&[1.0]).unwrap(), &path).all().count(), 0);
        scan.truncate(1);
        assert_eq!((scan.len(), scan.similar(&Sought::of(&[2.0, 0.0]).unwrap(), &path).all().count()), (1, 1));
    }
}
