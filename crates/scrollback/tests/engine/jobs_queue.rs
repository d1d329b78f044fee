//! Queued work: done once, by one process, through crashes and restarts, and given up in the end.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use proptest::prelude::*;
use scrollback::engine::{Claimed, EngineSettings, Job, JobKind, JobState};
use scrollback::ids::{BranchId, Depth, Hash128, NodeId};
use scrollback::search::Probe;
use scrollback::store::{
    Batch, Committed, Expect, Keys, Kind, Known, Matches, Position, Put, Record, Scope, Session, Span, Stored, Which,
};
use scrollback::task::Tasks;
use scrollback::{At, Engine, MemoryStore, MessageId, SessionId, SessionKey, Store, Tenant};
use serde_json::json;
use serde_json::value::to_raw_value;

use super::desk::run;
use super::kit::{Bench, user};
use super::sections::Watched;

const SECOND: i64 = 1_000_000;
const LEASE: i64 = 120;

fn engine(store: &Arc<dyn Store>) -> Engine {
    Engine::new(store.clone(), Tasks::offline(), EngineSettings::default())
}

fn at(second: i64) -> At {
    At(second * SECOND)
}

fn job(kind: JobKind, session: u8, head: u32) -> Job {
    let hash = Hash128([session; 16]);
    Job {
        kind,
        session: SessionId(hash),
        head: Position { id: MessageId(head), branch: BranchId(0), depth: Depth(head), node: NodeId(hash) },
        layout: "pages@32000".into(),
        budget: 28_000,
        model: "gpt-5".into(),
        recalls: true,
    }
}

fn fold(session: u8) -> Job {
    job(JobKind::Tidy, session, 7)
}

fn key(session: u8) -> String {
    format!("work/tidy/{}/0/pages@32000", fold(session).session)
}

async fn claim(engine: &Engine, second: i64) -> Option<Claimed> {
    engine.claim(&Tenant::local(), at(second)).await.unwrap()
}

async fn submit(engine: &Engine, job: Job, second: i64) -> bool {
    engine.submit(&Tenant::local(), job, at(second)).await.unwrap()
}

async fn state(engine: &Engine) -> JobState {
    engine.jobs(&Tenant::local()).await.unwrap().pop().unwrap().state
}

#[test]
fn queued_jobs_are_done_once_in_order_and_queued_anew_when_asked() {
    for bench in [Bench::memory(), Bench::sqlite()] {
        run(async {
            let engine = engine(&bench.store);
            assert_eq!(claim(&engine, 0).await, None);
            assert!(submit(&engine, fold(2), 10).await);
            assert!(submit(&engine, fold(1), 20).await && submit(&engine, job(JobKind::Rules, 1, 7), 30).await);
            assert!(!submit(&engine, fold(1), 40).await, "it waits already");
            assert_eq!(claim(&engine, 9).await, None, "nothing is due");
            let first = claim(&engine, 50).await.unwrap();
            assert_eq!((&first.job, first.tries), (&fold(2), 1), "the earliest first");
            assert!(!submit(&engine, fold(2), 51).await, "somebody has it");
            engine.work(&first, at(52)).await.unwrap();
            engine.done(first, at(53)).await.unwrap();
            for expected in [fold(1), job(JobKind::Rules, 1, 7)] {
                let next = claim(&engine, 54).await.unwrap();
                assert_eq!(next.job, expected);
                engine.work(&next, at(55)).await.unwrap();
                engine.done(next, at(55)).await.unwrap();
            }
            assert_eq!(claim(&engine, 1_000_000).await, None, "done work is not done again");
            assert!(submit(&engine, job(JobKind::Tidy, 2, 9), 60).await, "unless it is asked for");
            assert_eq!(claim(&engine, 61).await.unwrap().job.head.id, MessageId(9));
            assert_eq!(engine.claim(&Tenant::new("elsewhere"), at(99)).await.unwrap(), None, "a tenant of its own");
            assert_eq!(engine.jobs(&Tenant::local()).await.unwrap().len(), 3);
        });
    }
}

#[test]
fn waiting_jobs_are_done_for_the_newest_head() {
    run(async {
        let engine = engine(&Bench::memory().store);
        assert!(submit(&engine, job(JobKind::Tidy, 1, 7), 0).await);
        assert!(!submit(&engine, job(JobKind::Tidy, 1, 9), 5).await);
        let claimed = claim(&engine, 1).await.unwrap();
        assert_eq!((claimed.job.head.id, claimed.session().id), (MessageId(9), claimed.job.session));
    });
}

/// What is asked for while somebody is at work is not forgotten: the work may have begun too early to see it.
#[test]
fn jobs_asked_for_while_somebody_has_them_are_done_again() {
    for bench in [Bench::memory(), Bench::sqlite()] {
        run(async {
            let (one, other) = (engine(&bench.store), engine(&bench.store));
            assert!(submit(&one, fold(1), 0).await);
            let claimed = claim(&one, 1).await.unwrap();
            for head in [8, 9] {
                assert!(!submit(&other, job(JobKind::Tidy, 1, head), 2).await, "somebody has it");
            }
            assert_eq!(claim(&other, 3).await, None);
            let claimed = one.renew(claimed, at(40)).await.unwrap().expect("it is still ours");
            one.done(claimed, at(50)).await.unwrap();
            assert_eq!(state(&one).await, JobState::Waiting { not_before: at(50) });
            let again = claim(&one, 50).await.unwrap();
            assert_eq!((again.job.head.id, again.tries), (MessageId(9), 1), "for the newest head");
            one.done(again, at(51)).await.unwrap();
            assert_eq!((state(&one).await, claim(&one, 1_000).await), (JobState::Done, None), "once");
        });
    }
}

#[test]
fn jobs_that_fail_or_are_cut_short_go_on_with_the_newest_head() {
    run(async {
        let engine = engine(&Bench::memory().store);
        assert!(submit(&engine, fold(1), 0).await);
        let claimed = claim(&engine, 0).await.unwrap();
        assert!(!submit(&engine, job(JobKind::Tidy, 1, 8), 1).await);
        engine.failed(claimed, "the disk is full", at(2)).await.unwrap();
        let second = claim(&engine, 32).await.unwrap();
        assert_eq!((second.job.head.id, second.tries), (MessageId(8), 2));
        assert!(!submit(&engine, job(JobKind::Tidy, 1, 9), 33).await);
        let third = claim(&engine, 32 + LEASE).await.unwrap();
        assert_eq!((third.job.head.id, third.tries), (MessageId(9), 3));
        engine.done(second, at(200)).await.unwrap();
        assert!(matches!(state(&engine).await, JobState::Claimed { .. }), "it is somebody else's by now");
        engine.done(third, at(201)).await.unwrap();
        assert_eq!(state(&engine).await, JobState::Done);
    });
}

#[test]
fn queued_jobs_survive_a_restart() {
    for bench in [Bench::memory(), Bench::sqlite()] {
        run(async {
            let before = engine(&bench.store);
            for session in 1..=3 {
                assert!(submit(&before, fold(session), i64::from(session)).await);
            }
            before.done(claim(&before, 10).await.unwrap(), at(11)).await.unwrap();
            let cut_short = claim(&before, 12).await.unwrap();
            let after = engine(&bench.store);
            let keys = after.resume(&Tenant::local()).await.unwrap();
            assert_eq!(keys, [key(2), key(3)]);
            assert_eq!(claim(&after, 20).await.unwrap().job, fold(3), "the other is still somebody's");
            assert_eq!(claim(&after, 12 + LEASE - 1).await, None);
            let again = claim(&after, 12 + LEASE).await.unwrap();
            assert_eq!((&again.job, again.tries), (&cut_short.job, 2), "a claim ends with its lease");
            assert_eq!(before.renew(cut_short.clone(), at(700)).await.unwrap(), None, "it is somebody else's");
            before.done(cut_short.clone(), at(701)).await.unwrap();
            before.failed(cut_short, "late", at(702)).await.unwrap();
            let again = after.renew(again, at(703)).await.unwrap().unwrap();
            assert_eq!(claim(&engine(&bench.store), 702 + LEASE).await.map(|claimed| claimed.job), Some(fold(3)));
            after.done(again, at(704)).await.unwrap();
        });
    }
}

#[test]
fn failed_jobs_are_tried_later_each_time_and_given_up_with_their_reason() {
    run(async {
        let bench = Bench::memory();
        let (mut now, mut engine_now) = (100, engine(&bench.store));
        assert!(submit(&engine_now, fold(1), now).await);
        for (tries, pause) in (1..).zip([30, 120, 480, 1_920]) {
            let claimed = claim(&engine_now, now).await.unwrap();
            assert_eq!(claimed.tries, tries);
            engine_now.failed(claimed, "the disk is full", at(now)).await.unwrap();
            assert_eq!(state(&engine_now).await, JobState::Waiting { not_before: at(now + pause) });
            assert_eq!(claim(&engine_now, now + pause - 1).await, None);
            now += pause;
            engine_now = engine(&bench.store);
        }
        engine_now.failed(claim(&engine_now, now).await.unwrap(), "the disk is gone", at(now)).await.unwrap();
        let line = engine_now.jobs(&Tenant::local()).await.unwrap().pop().unwrap();
        assert_eq!(line.state, JobState::Failed { reason: "the disk is gone".into() });
        assert_eq!((line.tries, line.last_error.as_deref()), (5, Some("the disk is gone")));
        assert_eq!(claim(&engine(&bench.store), now + 1_000_000).await, None);
        assert!(submit(&engine_now, fold(1), now).await, "a person or a turn may ask again");
        assert_eq!(claim(&engine_now, now).await.unwrap().tries, 1);
    });
}

#[test]
fn jobs_do_not_stand_still_when_the_clock_goes_back() {
    run(async {
        let (bench, year) = (Bench::memory(), 365 * 24 * 3_600);
        assert!(submit(&engine(&bench.store), fold(1), year).await);
        let before = engine(&bench.store);
        let claimed = claim(&before, year - 3_700).await;
        assert_eq!(claimed, None, "clocks differ a little");
        let claimed = claim(&before, 0).await.expect("nothing is due in a year");
        before.failed(claimed, "the disk is full", at(year)).await.unwrap();
        assert!(claim(&before, year - 600).await.is_none(), "pauses may be long");
        let claimed = claim(&before, 0).await.unwrap();
        let late = before.renew(claimed, at(year)).await.unwrap().unwrap();
        let after = engine(&bench.store);
        assert!(claim(&after, year - LEASE).await.is_none(), "somebody has it");
        let again = claim(&after, year - LEASE - 1).await.expect("no claim is as long");
        assert_eq!((&again.job, again.tries), (&late.job, 3));
    });
}

#[test]
fn jobs_that_bring_the_process_down_are_given_up() {
    run(async {
        let bench = Bench::memory();
        assert!(submit(&engine(&bench.store), fold(1), 0).await);
        for crash in 0..5 {
            assert!(claim(&engine(&bench.store), crash * LEASE).await.is_some());
        }
        let last = engine(&bench.store);
        assert_eq!(claim(&last, 5 * LEASE).await, None);
        assert!(matches!(state(&last).await, JobState::Failed { reason } if reason.contains("cut short")));
    });
}

/// Work that ended stays for people to see, and costs nothing: its records are not read by those who look for work.
#[test]
fn looking_for_work_reads_nothing_that_ended() {
    run(async {
        let watched = Arc::new(Watched::default());
        let store: Arc<dyn Store> = watched.clone();
        let before = engine(&store);
        for session in 0..200 {
            assert!(submit(&before, fold(session), 0).await);
            let claimed = claim(&before, 0).await.unwrap();
            before.done(claimed, at(0)).await.unwrap();
        }
        assert!(submit(&before, fold(7), 1).await && submit(&before, fold(200), 1).await);
        let read = watched.records.load(Ordering::Relaxed);
        let after = engine(&store);
        assert_eq!(after.resume(&Tenant::local()).await.unwrap(), [key(7), key(200)]);
        let read = watched.records.load(Ordering::Relaxed) - read;
        assert!(read < 20, "{read} records were read");
        assert_eq!(after.jobs(&Tenant::local()).await.unwrap().len(), 201);
        assert_eq!(claim(&after, 1).await.unwrap().job, fold(7));
    });
}

/// Work goes with the conversation it was for, and the list of what is to be done forgets it.
#[test]
fn jobs_of_an_erased_conversation_are_nowhere() {
    for restarted in [false, true] {
        run(async {
            let bench = Bench::memory();
            let gone = bench.send(Some("gone"), &[user("Forget the apricot.")]).await;
            let mut worker = engine(&bench.store);
            submit(&worker, Job { session: gone.session.id, ..fold(1) }, 1).await;
            submit(&worker, fold(2), 2).await;
            bench.forget.forget(&gone.session).await.unwrap();
            if restarted {
                worker = engine(&bench.store);
            }
            assert_eq!(claim(&worker, 3).await.unwrap().job, fold(2));
            let (scope, all) = (Scope::Tenant(bench.tenant.clone()), Keys::After(String::new(), 99));
            let records = bench.store.records(&scope, Kind::Job, all).await.unwrap();
            let name = gone.session.id.to_string();
            let names = |record: &Record| record.key.contains(&name) || record.body.get().contains(&name);
            assert!(!records.iter().any(names), "{records:?}");
        });
    }
}

/// Earlier versions kept no list of what is not done.
#[test]
fn work_of_an_earlier_version_is_found() {
    run(async {
        let bench = Bench::memory();
        let states = [JobState::Done, JobState::Waiting { not_before: at(5) }, JobState::Claimed { until: at(9) }];
        let put = |(session, state): (u8, JobState)| Put {
            scope: Scope::Tenant(Tenant::local()),
            kind: Kind::Job,
            key: key(session),
            at: at(0),
            body: to_raw_value(&json!({"job": fold(session), "state": state, "tries": 1})).unwrap(),
            expect: Expect::Absent,
        };
        let puts = (1..).zip(states).map(put).collect();
        bench.store.commit(Batch::of_tenant(&Tenant::local(), puts)).await.unwrap();
        let one = engine(&bench.store);
        assert!(submit(&one, fold(18), 3).await, "others may be first to write");
        for _ in 0..2 {
            let keys = engine(&bench.store).resume(&Tenant::local()).await.unwrap();
            assert_eq!(keys, [key(2), key(3), key(18)]);
        }
        assert_eq!(claim(&one, 20).await.unwrap().job, fold(18));
        for session in [2, 3] {
            let claimed = claim(&one, 20).await.unwrap();
            assert_eq!((&claimed.job, claimed.tries), (&fold(session), 2));
            one.done(claimed, at(20)).await.unwrap();
        }
        assert_eq!(engine(&bench.store).resume(&Tenant::local()).await.unwrap(), [key(18)]);
    });
}

/// A store that lets others go first between a reading and what follows from it.
struct Polite(MemoryStore);

#[async_trait::async_trait]
impl Store for Polite {
    async fn commit(&self, batch: Batch) -> scrollback::Result<Committed> {
        self.0.commit(batch).await
    }

    async fn prefix(&self, session: &SessionKey, from: Depth, chain: Vec<NodeId>) -> scrollback::Result<Option<Known>> {
        self.0.prefix(session, from, chain).await
    }

    async fn read(&self, session: &SessionKey, span: Span) -> scrollback::Result<Vec<Stored>> {
        self.0.read(session, span).await
    }

    async fn matching(&self, tenant: &Tenant, probe: Probe) -> scrollback::Result<Matches> {
        self.0.matching(tenant, probe).await
    }

    async fn records(&self, scope: &Scope, kind: Kind, keys: Keys) -> scrollback::Result<Vec<Record>> {
        let records = self.0.records(scope, kind, keys).await;
        tokio::task::yield_now().await;
        records
    }

    async fn sessions(&self, tenant: &Tenant, which: Which) -> scrollback::Result<Vec<Session>> {
        self.0.sessions(tenant, which).await
    }
}

/// Claims all there is, and holds it.
async fn hold_all(engine: Engine) -> Vec<SessionId> {
    let mut held = Vec::new();
    while let Some(claimed) = claim(&engine, 1).await {
        held.push(claimed.job.session);
    }
    held
}

#[test]
fn engines_that_race_never_both_hold_a_job() {
    run(async {
        for racers in 2..6 {
            let store: Arc<dyn Store> = Arc::new(Polite(MemoryStore::default()));
            let submitted = futures_util::future::join_all((0..racers).map(|_| async {
                let engine = engine(&store);
                let mut new = 0;
                for session in 0..8 {
                    new += u32::from(submit(&engine, fold(session), 0).await);
                }
                new
            }));
            assert_eq!(submitted.await.into_iter().sum::<u32>(), 8, "each is queued by one of them");
            let held = futures_util::future::join_all((0..racers).map(|_| hold_all(engine(&store)))).await;
            let mut held = held.concat();
            held.sort_unstable();
            assert_eq!(held, (0..8).map(|session| fold(session).session).collect::<Vec<_>>());
        }
    });
}

/// What happens to two engines over one store.
#[derive(Clone, Debug)]
enum Happens {
    Submit(u8),
    Claim(usize),
    Done(usize),
    Fail(usize),
    Renew(usize),
    Restart(usize),
    Wait(i64),
}

fn happens() -> impl Strategy<Value = Happens> {
    let who = 0..2_usize;
    prop_oneof![
        (0..3_u8).prop_map(Happens::Submit),
        who.clone().prop_map(Happens::Claim),
        who.clone().prop_map(Happens::Claim),
        who.clone().prop_map(Happens::Done),
        who.clone().prop_map(Happens::Fail),
        who.clone().prop_map(Happens::Renew),
        who.prop_map(Happens::Restart),
        (1..700_i64).prop_map(Happens::Wait),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]

    #[test]
    fn jobs_have_one_holder_whatever_happens(story in proptest::collection::vec(happens(), 1..60)) {
        run(async {
            let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
            let mut engines = [engine(&store), engine(&store)];
            // Claims with the time until which they count.
            let mut held: [Vec<(Claimed, i64)>; 2] = [Vec::new(), Vec::new()];
            let mut now = 0;
            for step in story {
                match step {
                    Happens::Wait(seconds) => now += seconds,
                    Happens::Submit(session) => {
                        submit(&engines[0], fold(session), now).await;
                    }
                    Happens::Claim(who) => {
                        let Some(claimed) = claim(&engines[who], now).await else { continue };
                        let same = |other: &&(Claimed, i64)| other.0.job == claimed.job && other.1 > now;
                        assert_eq!(held.iter().flatten().find(same), None, "two hold it");
                        held[who].push((claimed, now + LEASE));
                    }
                    Happens::Done(who) => {
                        let Some((claimed, _)) = held[who].pop() else { continue };
                        engines[who].done(claimed, at(now)).await.unwrap();
                    }
                    Happens::Fail(who) => {
                        let Some((claimed, _)) = held[who].pop() else { continue };
                        engines[who].failed(claimed, "it broke", at(now)).await.unwrap();
                    }
                    Happens::Renew(who) => {
                        let Some((claimed, until)) = held[who].pop() else { continue };
                        let renewed = engines[who].renew(claimed, at(now)).await.unwrap();
                        assert!(renewed.is_some() || until <= now, "a claim that counts can be renewed");
                        held[who].extend(renewed.map(|renewed| (renewed, now + LEASE)));
                    }
                    Happens::Restart(who) => engines[who] = engine(&store),
                }
            }
            let jobs = engines[0].jobs(&Tenant::local()).await.unwrap();
            let open = jobs.into_iter().filter(|job| job.state.due().is_some());
            let open: Vec<_> = open.map(|job| format!("work/tidy/{}/0/{}", job.session, job.layout)).collect();
            assert_eq!(engine(&store).resume(&Tenant::local()).await.unwrap(), open, "the list is true");
        });
    }
}

/// In a rolling upgrade a newer version may write what this one cannot read.
#[test]
fn what_a_newer_version_wrote_is_not_written_over() {
    run(async {
        let (store, tenant): (Arc<dyn Store>, _) = (Arc::new(MemoryStore::default()), Tenant::local());
        let (engine, scope) = (engine(&store), Scope::Tenant(tenant.clone()));
        assert!(engine.submit(&tenant, job(JobKind::Tidy, 1, 5), at(1)).await.unwrap());
        let all = || store.records(&scope, Kind::Job, Keys::After(String::new(), 99));
        let records = all().await.unwrap();
        assert!(records.len() >= 2, "the work, and the list of work");
        for record in records {
            let (scope, key, body) = (scope.clone(), record.key, to_raw_value(&json!({"by": 2})).unwrap());
            let newer = Put { scope, kind: Kind::Job, key, at: record.at, body, expect: Expect::Any };
            store.commit(Batch::of_tenant(&tenant, vec![newer])).await.unwrap();
        }
        let (before, engine) = (all().await.unwrap().len(), self::engine(&store));
        assert!(!engine.submit(&tenant, job(JobKind::Tidy, 1, 6), at(2)).await.unwrap());
        assert!(engine.submit(&tenant, job(JobKind::Embed, 1, 6), at(2)).await.is_err(), "it cannot be listed");
        let after = all().await.unwrap();
        assert_eq!(after.len(), before);
        assert!(after.iter().all(|record| record.body.get().contains("by")), "{after:?}");
    });
}
