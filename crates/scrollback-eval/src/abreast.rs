//! Work that is done side by side, on as many threads as the machine has. What comes of it does not depend on how many
//! that is.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread;

use scrollback::{Error, Result};

/// What a thread tells: that a step is done, or what came of a job.
type Told<T> = Option<(usize, Result<T>)>;

/// Does every job and hands back what came of each, in their order. A job may tell that it has done a step as often as
/// it likes.
pub fn abreast<J: Sync, T: Send>(
    jobs: &[J],
    work: impl Fn(&J, &dyn Fn()) -> Result<T> + Sync,
    mut step: impl FnMut(),
) -> Result<Vec<T>> {
    let (next, count) = (AtomicUsize::new(0), thread::available_parallelism().map_or(1, usize::from));
    let (tell, told) = mpsc::channel::<Told<T>>();
    let mut done: Vec<Option<Result<T>>> = jobs.iter().map(|_| None).collect();
    thread::scope(|scope| {
        for _ in 0..count.min(jobs.len()) {
            let tell = tell.clone();
            scope.spawn(|| labour(jobs, &next, &work, tell));
        }
        drop(tell);
        for told in told {
            match told {
                None => step(),
                Some((number, result)) => done[number] = Some(result),
            }
        }
    });
    let undone = || Err(Error::Store { what: "a thread has died".into(), source: None });
    done.into_iter().map(|done| done.unwrap_or_else(undone)).collect()
}

#[expect(clippy::needless_pass_by_value, reason = "nobody is told anything once all threads have let go of it")]
fn labour<J, T>(jobs: &[J], next: &AtomicUsize, work: &impl Fn(&J, &dyn Fn()) -> Result<T>, tell: Sender<Told<T>>) {
    // Whoever listens does so until the end.
    let step = || drop(tell.send(None));
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        let Some(job) = jobs.get(number) else { return };
        drop(tell.send(Some((number, work(job, &step)))));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_of_jobs_is_in_their_order() {
        let jobs: Vec<u64> = (0..50).collect();
        let mut steps = 0;
        let work = |job: &u64, step: &dyn Fn()| {
            step();
            Ok(job * job)
        };
        let done = abreast(&jobs, work, || steps += 1).unwrap();
        assert_eq!((done[49], steps), (2_401, 50));
        let fails = |job: &u64, _: &dyn Fn()| if *job == 7 { Err(Error::Invalid("seven".into())) } else { Ok(()) };
        assert!(abreast(&jobs, fails, || ()).is_err());
    }
}
