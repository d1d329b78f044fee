//! Answers that end when the token they were asked with is taken back: what is under way is given up, what streams is
//! cut.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, HttpBody};
use axum::http::Response;
use bytes::Bytes;
use futures_util::future::{BoxFuture, Either, FutureExt, select};
use tokio::sync::OwnedSemaphorePermit as Seat;

use super::guest::Revoked;

/// The answer of somebody with a token; `None` if it was taken back before there was one. Their seat is free when it
/// ends.
pub(super) async fn answered(
    answer: impl Future<Output = Response<Body>> + Send,
    revoked: Revoked,
    seat: Option<Seat>,
) -> Option<Response<Body>> {
    let ended = revoked.clone().wait().boxed();
    match select(Box::pin(answer), ended).await {
        Either::Left((response, _)) => Some(response.map(|body| until(body, revoked, seat))),
        Either::Right(_) => None,
    }
}

/// A body that breaks off when a token is taken back. One that is there already goes out whole.
fn until(body: Body, revoked: Revoked, seat: Option<Seat>) -> Body {
    if body.size_hint().exact().is_some() {
        return body;
    }
    Body::new(Until { body, ended: Some(revoked.wait().boxed()), _seat: seat })
}

struct Until {
    body: Body,
    /// `None` once it has.
    ended: Option<BoxFuture<'static, ()>>,
    _seat: Option<Seat>,
}

impl HttpBody for Until {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<hyper::body::Frame<Bytes>, axum::Error>>> {
        let Some(ended) = &mut self.ended else { return Poll::Ready(None) };
        if ended.poll_unpin(context).is_ready() {
            self.ended = None;
            // An end that looks like one would make half an answer pass for a whole one.
            return Poll::Ready(Some(Err(axum::Error::new(std::io::Error::other("the token was taken back")))));
        }
        Pin::new(&mut self.body).poll_frame(context)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::{StreamExt, stream};
    use tokio::sync::watch;

    use super::*;

    #[tokio::test]
    async fn a_stream_breaks_off_when_its_token_is_taken_back() {
        let (end, told) = watch::channel(false);
        let endless = stream::iter([Ok::<_, std::io::Error>("first")]).chain(stream::pending());
        let answer = async { Response::new(Body::from_stream(endless)) };
        let response = answered(answer, Revoked::told_by(told.clone()), None).await.unwrap();
        let mut pieces = response.into_body().into_data_stream();
        assert_eq!(pieces.next().await.unwrap().unwrap(), "first");
        end.send_replace(true);
        assert!(pieces.next().await.unwrap().is_err());
        assert!(pieces.next().await.is_none(), "it may be asked again");
        assert!(answered(std::future::pending(), Revoked::told_by(told), None).await.is_none());
    }

    #[tokio::test]
    async fn what_is_there_already_goes_out_whole() {
        let (_end, told) = watch::channel(false);
        let answer = async { Response::new(Body::from("whole")) };
        let body = answered(answer, Revoked::told_by(told), None).await.unwrap().into_body();
        assert_eq!(body.size_hint().exact(), Some(5));
    }
}
