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
    /// In how many processes of each program a case may be measured.
    processes: usize,
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
            processes: usize::MAX,
            all: Duration::MAX,
        }
    }

    pub(super) fn quick() -> Self {
        Self {
            sample: Duration::from_millis(1),
            rounds: 15,
            time: Duration::from_millis(250),
            long_cases: false,
            processes: 1,
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
                    Some(meeting) => {
                        meeting.workers.push(index);
                        // Whichever of them says so.
                        meeting.listed.processes = meeting.listed.processes.max(listed.processes);
                        meeting.listed.long |= listed.long;
                    }
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
            let case = over_processes(workers, meeting, effort, effort.time.min(share));
            progress.end(&case);
            case
        };
        chosen.iter().map(one_of).collect()
    }
}

/// One case, part by part by programs that are started anew where it says so.
fn over_processes(workers: &mut [Worker], meeting: &Meeting, effort: &Effort, time: Duration) -> Case {
    let parts = meeting.listed.processes.clamp(1, effort.processes);
    let rounds = effort.rounds.div_ceil(parts);
    let time = time / u32::try_from(parts).unwrap_or(u32::MAX);
    let mut part = |number: usize| {
        if number > 0 {
            meeting.workers.iter().for_each(|&worker| workers[worker].stop());
        }
        one(workers, meeting, effort, rounds, time)
    };
    let first = part(0);
    (1..parts).map(part).fold(first, joined)
}

/// The samples of both, round by round. Who failed in one has none.
fn joined(mut case: Case, more: Case) -> Case {
    for contender in &mut case.contenders {
        match more.contenders.iter().find(|other| other.name == contender.name) {
            Some(other) if other.missing.is_none() => contender.samples.extend(&other.samples),
            Some(other) => contender.missing.clone_from(&other.missing),
            None => contender.missing = Some("not there in a program that was started anew".to_owned()),
        }
        if contender.missing.is_some() {
            contender.samples.clear();
        }
    }
    case
}

/// One case, once. What fails is part of the record.
fn one(workers: &mut [Worker], meeting: &Meeting, effort: &Effort, rounds: usize, time: Duration) -> Case {
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
    for round in 0..rounds {
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

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::process::Command;

    use super::*;

    /// A program with one case, whose samples are its number in the system.
    fn program(processes: usize) -> Worker {
        let script = format!(
            r#"while read request rest; do case $request in
                list) echo '[{{"case": "a/b", "bytes": 0, "unit": "", "once": true, "processes": {processes}}}]';;
                open) echo '{{"bytes": 0, "contenders": [{{"name": "usm"}}]}}';;
                run) echo $$;;
                close) echo null;;
            esac; done"#
        );
        let mut command = Command::new("sh");
        command.args(["-c", &script]);
        Worker::new(command)
    }

    fn numbers(case: &Case) -> HashSet<u64> {
        let contender = &case.contenders[0];
        assert_eq!(contender.missing, None);
        contender.samples.iter().map(|sample| sample.to_bits()).collect()
    }

    #[test]
    fn a_case_is_measured_by_as_many_processes_as_it_says() {
        for (processes, effort, expected, samples) in [
            (&[0][..], Effort::full(), 1, 31),
            (&[1], Effort::full(), 1, 31),
            (&[5], Effort::full(), 5, 35),
            (&[5], Effort::quick(), 1, 15),
            (&[0, 5], Effort::full(), 5, 35),
        ] {
            let programs = processes.iter().map(|&processes| program(processes)).collect();
            let mut bench = Bench::new(programs, effort).unwrap();
            let measured = bench.all(None);
            let first = numbers(&measured.cases[0]);
            assert_eq!((first.len(), measured.cases[0].contenders[0].samples.len()), (expected, samples));
            let again = numbers(&bench.again(&measured.known)[0]);
            assert!(again.is_disjoint(&first), "a new try is by new programs");
        }
    }

    #[test]
    fn who_failed_in_one_process_has_no_samples() {
        let part = |missing: Option<&str>| {
            let samples = if missing.is_some() { vec![] } else { vec![1.0, 2.0] };
            let contender =
                Contender { name: "usm".to_owned(), samples, missing: missing.map(str::to_owned) };
            Case {
                name: "a/b".to_owned(),
                bytes: 0,
                unit: String::new(),
                x: None,
                contenders: vec![contender],
            }
        };
        assert_eq!(joined(part(None), part(None)).contenders[0].samples, [1.0, 2.0, 1.0, 2.0]);
        for (first, second) in [(None, Some("why")), (Some("why"), None), (Some("why"), Some("why"))] {
            let found = joined(part(first), part(second)).contenders.remove(0);
            assert_eq!((found.samples.len(), found.missing.as_deref()), (0, Some("why")));
        }
        let nobody = Case { contenders: vec![], ..part(None) };
        assert!(joined(part(None), nobody).contenders[0].missing.is_some());
    }
}
