//! How alike two ways of sorting are, as groups where topics interleave, as cuts where they follow one another; how
//! much evidence a window holds.

mod assignment;
mod evidence;
mod partition;
mod segmentation;

pub use evidence::{Evidence, Tally};
pub use partition::{Agreement, agreement};
pub use segmentation::{Cuts, cuts};
