//! A connection on which something has to move: whoever takes nothing of what is written to them is let go. Where
//! nothing is to be written, as on a stream of events that is quiet, nothing has to.

use std::io::{Error, ErrorKind, IoSlice, Result};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

pub(super) struct Patient<S> {
    stream: S,
    /// How long nothing may be taken.
    patience: Duration,
    /// Runs while something waits to be written.
    stuck: Option<Pin<Box<Sleep>>>,
}

impl<S> Patient<S> {
    pub(super) fn new(stream: S, patience: Duration) -> Self {
        Self { stream, patience, stuck: None }
    }

    /// What became of an attempt to write.
    fn tried<T>(&mut self, context: &mut Context<'_>, written: Poll<Result<T>>) -> Poll<Result<T>> {
        if written.is_ready() {
            self.stuck = None;
            return written;
        }
        let patience = self.patience;
        let stuck = self.stuck.get_or_insert_with(|| Box::pin(tokio::time::sleep(patience)));
        let gone = || Err(Error::new(ErrorKind::TimedOut, "nothing of what was written is taken"));
        stuck.as_mut().poll(context).map(|()| gone())
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.tried(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, pieces);
        self.tried(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
    use tokio::time::{Instant, sleep};

    use super::*;

    const PATIENCE: Duration = Duration::from_mins(1);

    #[tokio::test(start_paused = true)]
    async fn whoever_takes_nothing_is_let_go() {
        let (near, _far) = duplex(10);
        let mut near = Patient::new(near, PATIENCE);
        sleep(Duration::from_mins(10)).await;
        near.write_all(b"0123456789").await.unwrap();
        sleep(Duration::from_mins(10)).await;
        let begun = Instant::now();
        assert_eq!(near.write_all(b"more").await.unwrap_err().kind(), ErrorKind::TimedOut);
        assert_eq!(begun.elapsed().as_secs(), PATIENCE.as_secs());
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_is_slow_is_waited_for() {
        let (near, mut far) = duplex(10);
        let mut near = Patient::new(near, PATIENCE);
        let slow = async {
            for _ in 0..20 {
                sleep(Duration::from_secs(50)).await;
                far.read_u8().await.unwrap();
            }
        };
        let (written, ()) = tokio::join!(near.write_all(&[b'x'; 30]), slow);
        written.unwrap();
    }
}
