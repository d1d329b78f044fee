//! The clock of the program; the library has none.

use scrollback::At;

/// What time it is.
pub(crate) fn now() -> At {
    At(jiff::Timestamp::now().as_microsecond())
}
