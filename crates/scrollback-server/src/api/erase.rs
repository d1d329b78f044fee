//! Erasing a conversation for good: the one thing here that destroys.

use schemars::JsonSchema;
use scrollback::SessionId;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Refusal, Room};
use crate::live::What;

/// What was erased.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Erased {
    pub(crate) session: SessionId,
    /// How many messages it had.
    pub(crate) erased: u32,
}

/// Erases a session that is named in full.
pub(super) async fn session(room: &Room, name: &str) -> Result<Value, Refusal> {
    let (session, key) = room.session(name).await?;
    if name != session.id.to_string() && session.declared.as_deref() != Some(name) {
        return Err(Refusal::invalid(format!(
            "nothing was erased: “{name}” is the beginning of a name. What cannot be undone needs the whole id, {}",
            session.id
        )));
    }
    let readonly = || Refusal::invalid("nothing was erased: the store is open for reading only");
    let eraser = room.eraser.as_ref().ok_or_else(readonly)?;
    if let Some(proxy) = &room.proxy {
        proxy.settled_in(session.id).await;
    }
    let erased = eraser.forget(&key).await?;
    room.engine.forget_recent(Some(session.id));
    // A server does that beside requests.
    if room.proxy.is_none() {
        eraser.wipe().await?;
    }
    room.publish(&key, || What::Erased);
    Ok(serde_json::to_value(Erased { session: session.id, erased })?)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use async_trait::async_trait;
    use axum::body::Body;
    use axum::extract::{Request, State};
    use scrollback::engine::EngineSettings;
    use scrollback::log::{Arrival, History};
    use scrollback::task::Tasks;
    use scrollback::{At, Engine, Forget, MemoryStore, MessageId, Result, SessionKey, Tenant};
    use tokio::time::{sleep, timeout};

    use super::super::{Door, asked};
    use crate::access::Guest;
    use crate::erasing::Eraser;
    use crate::live::Heard;
    use crate::proxy::Proxy;

    const SLOW: Duration = Duration::from_secs(1);

    /// A store that takes its time to erase, and does so whoever waits for it, as one with a thread of its own.
    struct Slow(Arc<MemoryStore>);

    #[async_trait]
    impl Forget for Slow {
        async fn forget(&self, session: &SessionKey) -> Result<u32> {
            let (store, session) = (self.0.clone(), session.clone());
            let erasing = async move {
                sleep(SLOW).await;
                store.forget(&session).await
            };
            tokio::spawn(erasing).await.expect("it does not panic")
        }

        async fn forget_results(&self, _: &SessionKey, _: &[MessageId], _: At) -> Result<u32> {
            Ok(0)
        }
    }

    fn proxy(store: &Arc<MemoryStore>, folder: &std::path::Path) -> Arc<Proxy> {
        let engine = Engine::new(store.clone(), Tasks::offline(), EngineSettings::default());
        let serve = crate::config::usual(folder.join("unused.db")).unwrap().serve;
        Arc::new(Proxy::new(Arc::new(engine), Eraser::new(Arc::new(Slow(store.clone()))), serve).unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn who_leaves_while_a_conversation_is_erased_leaves_nothing_of_it_in_mind() {
        let (store, folder, tenant) = (Arc::new(MemoryStore::default()), tempfile::tempdir().unwrap(), Tenant::local());
        let proxy = proxy(&store, folder.path());
        let history = History::parse(r#"[{"role":"user","content":"Where is the key?"}]"#).unwrap();
        let arrival = Arrival::new(&tenant, Some("talk"), "gpt-5", At(1));
        let session = proxy.engine.log().receive(arrival, &history).await.unwrap().session;
        let mut listener = proxy.live.listen();
        let uri = format!("/api/sessions/{}", session.id);
        let request = Request::builder().method("DELETE").uri(uri).extension(Guest::local()).body(Body::empty());
        let asking = asked(State(Door::new(&proxy)), request.unwrap());
        assert!(timeout(SLOW / 2, asking).await.is_err(), "it takes longer");
        // What is in mind of it is dropped before that is told.
        let heard = timeout(SLOW * 2, listener.next()).await.expect("it goes on without them");
        assert!(matches!(heard, Some(Heard::Happened(heard)) if heard.of == session && heard.what.name() == "erased"));
    }
}
