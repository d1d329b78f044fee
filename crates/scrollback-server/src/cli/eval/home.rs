//! Embedding at home: conversations are played on runtimes that end with them, and connections to an API must not.

use std::sync::Arc;

use async_trait::async_trait;
use scrollback::embed::{Embedder, TextKind};
use scrollback::{Error, Result};
use tokio::runtime::Handle;

/// An embedder that works on the runtime it was made on, whoever asks it.
pub(super) struct AtHome {
    inner: Arc<dyn Embedder>,
    home: Handle,
}

impl AtHome {
    /// On the runtime of the caller.
    pub(super) fn new(inner: Arc<dyn Embedder>) -> Self {
        Self { inner, home: Handle::current() }
    }
}

#[async_trait]
impl Embedder for AtHome {
    fn name(&self) -> &str {
        self.inner.name()
    }

    async fn embed(&self, texts: &[&str], kind: TextKind) -> Result<Vec<Vec<f32>>> {
        let (inner, texts) = (self.inner.clone(), texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>());
        let embedding = self.home.spawn(async move {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            inner.embed(&texts, kind).await
        });
        let ended = |error| Error::Model { what: "embedding was ended".into(), source: Some(Box::new(error)) };
        embedding.await.map_err(ended)?
    }
}
