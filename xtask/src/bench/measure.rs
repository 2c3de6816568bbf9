//! Measuring: cases one after the other, the contenders of a case in turn, round by round.

use std::time::{Duration, Instant};

use super::progress::Progress;
use super::record::{Case, Contender};
use super::turns::Turns;
use super::worker::{Listed, Worker};
use crate::failure::Outcome;

/// How much is spent on a case.
pub(super) struct Effort {
    /// One sample takes at least this, if one call does not take longer.
    sample: Duration,
    rounds: usize,
    /// As soon as this is over and there were [`Effort::LEAST_ROUNDS`], a case ends.
    time: Duration,
    long_cases: bool,
    /// What all cases share; the last ones get less when others took longer.
    all: Duration,
}

impl Effort {
    const LEAST_ROUNDS: usize = 3;

    pub(super) fn full() -> Self {
        Self {
            sample: Duration::from_millis(5),
            rounds: 31,
            time: Duration::from_secs(6),
            long_cases: true,
            all: Duration::MAX,
        }
    }

    pub(super) fn quick() -> Self {
        Self {
            sample: Duration::from_millis(1),
            rounds: 15,
            time: Duration::from_millis(250),
            long_cases: false,
            all: Duration::from_secs(140),
        }
    }
}

/// What came out.
pub(super) struct Measured {
    /// The names of all cases there are.
    pub(super) known: Vec<String>,
    /// Those that were measured.
    pub(super) cases: Vec<Case>,
}

/// A case and the workers that have contenders for it.
struct Meeting {
    listed: Listed,
    workers: Vec<usize>,
}

/// Somebody in an open case.
struct Entrant {
    worker: usize,
    calls: u64,
    record: Contender,
}

/// The programs that measure, and all the cases they have.
pub(super) struct Bench {
    workers: Vec<Worker>,
    meetings: Vec<Meeting>,
    effort: Effort,
}

impl Bench {
    /// Asks the programs for their cases.
    pub(super) fn new(mut workers: Vec<Worker>, effort: Effort) -> Outcome<Self> {
        let mut meetings: Vec<Meeting> = vec![];
        for (index, worker) in workers.iter_mut().enumerate() {
            for listed in worker.list()? {
                match meetings.iter_mut().find(|meeting| meeting.listed.case == listed.case) {
                    Some(meeting) => meeting.workers.push(index),
                    None => meetings.push(Meeting { listed, workers: vec![index] }),
                }
            }
        }
        Ok(Self { workers, meetings, effort })
    }

    /// Measures every case that fits.
    pub(super) fn all(&mut self, pattern: Option<&str>) -> Measured {
        let fits = |listed: &Listed| {
            pattern.is_none_or(|pattern| listed.case.contains(pattern))
                && (self.effort.long_cases || !listed.long)
        };
        let chosen: Vec<usize> =
            (0..self.meetings.len()).filter(|&index| fits(&self.meetings[index].listed)).collect();
        let known = self.meetings.iter().map(|meeting| meeting.listed.case.clone()).collect();
        Measured { known, cases: self.measure(&chosen) }
    }

    /// Measures these cases once more, by programs that are started anew: how the driver's threads take turns with ours is different
    /// in each process, and stays so while it lives.
    pub(super) fn again(&mut self, names: &[String]) -> Vec<Case> {
        self.workers.iter_mut().for_each(Worker::stop);
        let chosen: Vec<usize> = (0..self.meetings.len())
            .filter(|&index| names.contains(&self.meetings[index].listed.case))
            .collect();
        self.measure(&chosen)
    }

    fn measure(&mut self, chosen: &[usize]) -> Vec<Case> {
        let Self { workers, meetings, effort } = self;
        let mut progress = Progress::new(chosen.len());
        let start = Instant::now();
        let mut left = u32::try_from(chosen.len()).unwrap_or(u32::MAX);
        let one_of = |&index: &usize| {
            let meeting = &meetings[index];
            progress.begin(&meeting.listed.case);
            let share = effort.all.saturating_sub(start.elapsed()) / left;
            left -= 1;
            let case = one(workers, meeting, effort, effort.time.min(share));
            progress.end(&case);
            case
        };
        chosen.iter().map(one_of).collect()
    }
}

/// One case. What fails is part of the record.
fn one(workers: &mut [Worker], meeting: &Meeting, effort: &Effort, time: Duration) -> Case {
    let Listed { case, bytes, unit, x, once, .. } = meeting.listed.clone();
    let mut record = Case { name: case, bytes, unit, x, contenders: vec![] };
    let mut entrants = vec![];
    for &worker in &meeting.workers {
        match workers[worker].open(&record.name) {
            Ok(opened) => {
                record.bytes = record.bytes.max(opened.bytes);
                entrants.extend(opened.contenders.into_iter().map(|ready| Entrant {
                    worker,
                    calls: 1,
                    record: Contender { name: ready.name, samples: vec![], missing: ready.missing },
                }));
            }
            Err(failure) => entrants.push(Entrant {
                worker,
                calls: 1,
                record: Contender {
                    name: format!("worker {worker}"),
                    samples: vec![],
                    missing: Some(failure.to_string()),
                },
            }),
        }
    }
    // Ours first in tables.
    entrants.sort_by_key(|entrant| !entrant.record.name.starts_with("usm"));
    if !once {
        calibrate(workers, &mut entrants, effort);
    }
    let start = Instant::now();
    let mut turns = Turns::new(entrants.len());
    for round in 0..effort.rounds {
        if round >= Effort::LEAST_ROUNDS && start.elapsed() > time {
            break;
        }
        for &place in turns.next() {
            let entrant = &mut entrants[place];
            if entrant.record.missing.is_some() {
                continue;
            }
            #[expect(clippy::cast_precision_loss)]
            match workers[entrant.worker].run(&entrant.record.name, entrant.calls) {
                Ok(value) => entrant.record.samples.push(value / entrant.calls as f64),
                Err(failure) => entrant.fail(&failure),
            }
        }
    }
    for &worker in &meeting.workers {
        // A worker that died has nothing open.
        let _ = workers[worker].close();
    }
    record.contenders = entrants.into_iter().map(|entrant| entrant.record).collect();
    record
}

/// Finds how many calls make a sample; this also warms everything up.
#[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn calibrate(workers: &mut [Worker], entrants: &mut [Entrant], effort: &Effort) {
    let wanted = effort.sample.as_nanos() as f64;
    for entrant in entrants.iter_mut().filter(|entrant| entrant.record.missing.is_none()) {
        loop {
            match workers[entrant.worker].run(&entrant.record.name, entrant.calls) {
                Ok(took) if took >= 0.5 * wanted || entrant.calls >= 1 << 24 => {
                    let calls = wanted / (took / entrant.calls as f64).max(0.1);
                    entrant.calls = (calls.ceil() as u64).max(1);
                    break;
                }
                Ok(_) => entrant.calls *= 4,
                Err(failure) => {
                    entrant.fail(&failure);
                    break;
                }
            }
        }
    }
}

impl Entrant {
    /// Samples of a contender that failed are no result.
    fn fail(&mut self, failure: &crate::failure::Failure) {
        self.record.samples.clear();
        self.record.missing = Some(failure.to_string());
    }
}
