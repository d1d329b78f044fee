//! Views by name and page by page: a page costs what it shows.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use scrollback::strategy::StrategyName;

use super::desk::{Desk, run, settings};
use super::kit::{assistant, user};
use super::sections::Watched;

#[test]
fn a_page_of_old_views_reads_no_newer_ones() {
    run(async {
        let store = Arc::new(Watched::default());
        let mut desk = Desk::new(store.clone(), settings(StrategyName::Passthrough), 30_000);
        let mut history = vec![user("Hull?")];
        // The first message is answered again and again.
        for i in 0..20 {
            let turn = desk.begin(&history).await.unwrap();
            desk.finish(turn, &assistant(&format!("Hull {i} it is."))).await;
        }
        history.push(assistant("Hull 19 it is."));
        for i in 0..60 {
            desk.turn(&mut history, user(&format!("Mast {i}?")), assistant(&format!("Mast {i} it is."))).await;
        }
        let (session, engine) = (desk.session(), &desk.engine);
        let all = engine.views(&session).await.unwrap();
        assert_eq!((all.len(), all[19].name.as_str()), (80, "v0.20"));
        store.records.store(0, Ordering::Relaxed);
        let page = engine.views_before(&session, &all[20].key, 2).await.unwrap();
        let names: Vec<&str> = page.iter().map(|recorded| recorded.name.as_str()).collect();
        assert_eq!(names, ["v0.20", "v0.19"]);
        let read = store.records.load(Ordering::Relaxed);
        assert!(read <= 20, "{read} records for a page of two");
        assert_eq!(engine.view_named(&session, "v0.20").await.unwrap().unwrap().key, all[19].key);
        store.records.store(0, Ordering::Relaxed);
        for unknown in ["v0.21", "v0.0", "v0.18446744073709551615", "v0.9000000000"] {
            assert!(engine.view_named(&session, unknown).await.unwrap().is_none(), "{unknown}");
        }
        let read = store.records.load(Ordering::Relaxed);
        assert!(read <= 21, "{read} records for names of nothing");
    });
}
