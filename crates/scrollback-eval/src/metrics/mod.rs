//! How alike two ways of sorting are: as groups where topics interleave, as cuts where they follow one another.

mod assignment;
mod partition;
mod segmentation;

pub use partition::{Agreement, agreement};
pub use segmentation::{Cuts, cuts};
