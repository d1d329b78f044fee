//! Much is written in pieces, each by statements that end well within their limit; all of them are one transaction.

/// How many rows a piece has at most.
const ROWS: usize = 500;
/// How many bytes its rows say at most, unless one row alone says more.
const BYTES: usize = 1 << 20;

/// Rows in pieces, given how many bytes each says.
pub(super) fn pieces<T>(rows: &[T], bytes: impl Fn(&T) -> usize) -> impl Iterator<Item = &[T]> {
    let mut filled = (1, rows.first().map_or(0, &bytes));
    rows.chunk_by(move |_, next| {
        let with = (filled.0 + 1, filled.1 + bytes(next));
        let fits = with.0 <= ROWS && with.1 <= BYTES;
        filled = if fits { with } else { (1, bytes(next)) };
        fits
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_is_bounded_by_rows_and_by_bytes_and_nothing_is_left_out() {
        let sizes = |rows: &[usize]| pieces(rows, |bytes| *bytes).map(<[usize]>::len).collect::<Vec<_>>();
        assert_eq!(sizes(&[]), Vec::<usize>::new());
        assert_eq!(sizes(&[1; 3]), [3]);
        assert_eq!(sizes(&[1; 2 * ROWS + 1]), [ROWS, ROWS, 1]);
        assert_eq!(sizes(&[BYTES / 2, BYTES / 2, 1, 9 * BYTES, 9 * BYTES, 1]), [2, 1, 1, 1, 1]);
    }
}
