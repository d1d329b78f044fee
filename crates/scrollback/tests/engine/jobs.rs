//! The daily review as a job: once a day, by one process, again if that one crashed.

use std::sync::Arc;

use scrollback::engine::EngineSettings;
use scrollback::task::Tasks;
use scrollback::{At, Engine, Store, Tenant};

use super::desk::run;
use super::kit::Bench;

const HOUR: i64 = 3_600_000_000;

fn engine(store: &Arc<dyn Store>) -> Engine {
    Engine::new(store.clone(), Tasks::offline(), EngineSettings::default())
}

#[test]
fn a_job_does_not_stand_still_when_the_clock_goes_back() {
    run(async {
        let (bench, tenant) = (Bench::memory(), Tenant::local());
        let (engine, at) = (engine(&bench.store), |hour: i64| At(hour * HOUR));
        let daily = engine.daily_review(&tenant, 4);
        assert_eq!(daily.due(at(1_000)).await.unwrap(), None);
        assert_eq!(daily.due(at(988)).await.unwrap(), None, "that is a day");
        let claim = daily.due(at(5)).await.unwrap().expect("nothing is due in six weeks");
        let claim = daily.renewed(claim, at(1_000)).await.unwrap().unwrap();
        assert_eq!(daily.due(at(999)).await.unwrap(), None, "somebody has it");
        assert!(daily.due(at(5)).await.unwrap().is_some(), "no claim is as long");
        assert_eq!(daily.renewed(claim, at(5)).await.unwrap(), None);
    });
}

#[test]
fn a_job_is_done_once_a_day_by_one_process() {
    for bench in [Bench::memory(), Bench::sqlite()] {
        run(async {
            let (one, other) = (engine(&bench.store), engine(&bench.store));
            let (tenant, elsewhere) = (Tenant::local(), Tenant::new("elsewhere"));
            let (one, other) = (one.daily_review(&tenant, 4), other.daily_review(&tenant, 4));
            let at = |hour: i64| At(hour * HOUR);
            assert_eq!(one.due(at(5)).await.unwrap(), None, "the first time it only says when");
            assert_eq!(other.due(at(27)).await.unwrap(), None, "the hour has not come");
            let claim = one.due(at(28)).await.unwrap().unwrap();
            assert_eq!((claim.last, other.due(at(28)).await.unwrap()), (None, None), "claimed");
            let foreign = engine(&bench.store);
            assert_eq!(foreign.daily_review(&elsewhere, 4).due(at(28)).await.unwrap(), None, "a tenant of its own");
            let again = other.due(At(29 * HOUR + 1)).await.unwrap().unwrap();
            assert_eq!(one.renewed(claim.clone(), at(30)).await.unwrap(), None, "another has it by now");
            one.done(claim, at(30)).await.unwrap();
            let again = other.renewed(again, at(30)).await.unwrap().unwrap();
            assert_eq!(one.due(at(30)).await.unwrap(), None);
            other.done(again, at(31)).await.unwrap();
            assert_eq!(one.due(at(51)).await.unwrap(), None);
            assert_eq!(one.due(at(100)).await.unwrap().unwrap().last, Some(at(31)), "late, but done");
        });
    }
}
