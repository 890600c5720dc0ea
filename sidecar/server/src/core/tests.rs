use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use codegrep_plugin_sdk::{ErrorKind, QueueInfo, code};
use tokio::sync::oneshot;

use super::{Answer, Engines, Event, Job, JobId, serialise};
use crate::config::{Layer, Places, Settings};
use crate::failure::Failure;

const LONG: Duration = Duration::from_secs(60);

fn start() -> (Sender<Event>, std::thread::JoinHandle<()>) {
    let home = std::env::temp_dir().join("codegrep-nothing-here");
    let places = Places::below(&home);
    let settings = Settings::load(places, Layer::default()).unwrap();
    super::start(Arc::new(Engines::new(settings).unwrap()))
}

fn job(
    budget: Duration,
    run: impl FnOnce(&codegrep_tree::Watch) -> Answer + Send + 'static,
) -> (Job, oneshot::Receiver<Answer>) {
    let (reply, answer) = oneshot::channel();
    let due = Instant::now() + budget;
    let job = Job {
        id: JobId::fresh(),
        name: "test",
        deadline: due,
        due,
        sink: None,
        run: Box::new(move |_, watch| run(watch)),
        late: Box::new(|| serialise("late")),
        reply,
    };
    (job, answer)
}

fn text(answer: oneshot::Receiver<Answer>) -> Result<String, Failure> {
    answer.blocking_recv().unwrap().map(|json| json.get().to_owned())
}

#[test]
fn a_panic_is_an_answer_and_the_core_lives() {
    let (events, core) = start();
    let (panics, answer) = job(LONG, |_| panic!("a bad {}", "day"));
    events.send(Event::Submit(panics)).unwrap();
    let failure = text(answer).unwrap_err();
    assert_eq!((failure.kind, failure.code), (ErrorKind::Internal, code::INTERNAL_ERROR));
    assert_eq!(failure.message, "test failed: a bad day");
    let (works, answer) = job(LONG, |_| serialise("fine"));
    events.send(Event::Submit(works)).unwrap();
    assert_eq!(text(answer).unwrap(), "\"fine\"");
    events.send(Event::Close).unwrap();
    core.join().unwrap();
}

#[test]
fn a_thread_that_overruns_is_answered_for_and_stopped() {
    let (events, core) = start();
    let (slow, answer) = job(Duration::from_millis(50), |watch| {
        // Looks at the cancel alone, as work does that misses its deadline.
        while !watch.is_cancelled() {
            std::thread::sleep(Duration::from_millis(1));
        }
        serialise("too late")
    });
    events.send(Event::Submit(slow)).unwrap();
    assert_eq!(text(answer).unwrap(), "\"late\"");
    loop {
        let (reply, queue) = oneshot::channel();
        events.send(Event::Ask(reply)).unwrap();
        if let QueueInfo { running: 0, .. } = queue.blocking_recv().unwrap() {
            break;
        }
    }
    events.send(Event::Close).unwrap();
    core.join().unwrap();
}

#[test]
fn closing_answers_everything() {
    let (events, core) = start();
    let answers: Vec<_> = (0..20)
        .map(|_| {
            let (job, answer) = job(LONG, |watch| {
                while watch.check().is_ok() {
                    std::thread::sleep(Duration::from_millis(1));
                }
                serialise("stopped")
            });
            events.send(Event::Submit(job)).unwrap();
            answer
        })
        .collect();
    events.send(Event::Close).unwrap();
    for answer in answers {
        assert_eq!(text(answer).unwrap_err().code, code::CANCELLED);
    }
    core.join().unwrap();
}
