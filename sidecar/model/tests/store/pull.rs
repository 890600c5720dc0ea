use codegrep_model::store::{Hub, Source, Step, Store, StoreError, Stored};
use codegrep_tree::{Stop, Watch};

use crate::hub::{COMMIT, Plan, StubHub, sha256};
use crate::{contents, gguf, quiet, said, setup};

fn pull(store: &Store, hub: &Hub) -> Result<Stored, StoreError> {
    store.pull(hub, &"owner/repo/tiny.gguf".parse().unwrap(), None, &mut quiet, &Watch::idle())
}

fn at(stub: &StubHub) -> Hub {
    Hub::at(&stub.url, None).unwrap()
}

fn plan() -> Plan {
    Plan { bytes: gguf::model(100_000, 3), ..Plan::default() }
}

#[test]
fn a_file_is_pulled_checked_and_listed() {
    let (_folder, store, _) = setup();
    let stub = StubHub::start(plan());
    let hub = Hub::at(&stub.url, Some("hf_secret")).unwrap();
    let mut last = None;
    let wanted = "owner/repo/tiny.gguf".parse().unwrap();
    let stored = store
        .pull(
            &hub,
            &wanted,
            None,
            &mut |step, done, all| last = Some((step, done, all)),
            &Watch::idle(),
        )
        .unwrap();
    let bytes = plan().bytes;
    assert_eq!(last, Some((Step::Download, bytes.len() as u64, bytes.len() as u64)));
    assert_eq!(std::fs::read(&stored.path).unwrap(), bytes);
    assert_eq!(
        (stored.manifest.name.as_str(), &stored.manifest.sha256, &stored.manifest.source),
        (
            "tiny",
            &sha256(&bytes),
            &Source::Hub {
                endpoint: stub.url.clone(),
                repo: "owner/repo".into(),
                file: "tiny.gguf".into(),
                commit: COMMIT.into(),
            }
        )
    );
    assert_eq!(store.list().unwrap(), std::slice::from_ref(&stored));
    assert_eq!(contents(&store), [".lock", "tiny.gguf", "tiny.json"]);
    let seen: Vec<(String, bool)> =
        stub.seen().into_iter().map(|seen| (seen.line, seen.token)).collect();
    let line = |text: &str| text.to_owned() + " HTTP/1.1";
    assert_eq!(
        seen,
        [
            (line("HEAD /owner/repo/resolve/main/tiny.gguf"), true),
            (line(&format!("GET /owner/repo/resolve/{COMMIT}/tiny.gguf")), true),
            // Another origin gets no token.
            (line("GET /file"), false),
        ]
    );
    // Again: one question, no download.
    assert_eq!(pull(&store, &hub).unwrap(), stored);
    assert_eq!(stub.ranges().len(), 1);
}

#[test]
fn a_connection_that_breaks_is_taken_up_where_it_broke() {
    let (_folder, store, _) = setup();
    let stub = StubHub::start(Plan { cuts: vec![1000, 0, 200_000], ..plan() });
    let stored = pull(&store, &at(&stub)).unwrap();
    assert_eq!(std::fs::read(&stored.path).unwrap(), plan().bytes);
    let ranges = [None, Some(1000), Some(1000), Some(201_000)];
    assert_eq!(stub.ranges(), ranges.map(|start| start.map(|start| format!("bytes={start}-"))));
}

#[test]
fn a_later_run_goes_on_and_until_then_nothing_is_listed() {
    let (_folder, store, _) = setup();
    let stub = StubHub::start(Plan { cuts: vec![123_456, 0, 0, 0, 0], ..plan() });
    let (message, hint) = said(pull(&store, &at(&stub)));
    assert!(message.starts_with("the download stopped at 30 %: http://127.0.0.1:"), "{message}");
    assert!(message.ends_with(" closed the connection"), "{message}");
    assert_eq!(hint, "run the same command again: it goes on from there");
    assert_eq!(store.list().unwrap(), []);
    let part = format!("partial/{}.part", sha256(&plan().bytes));
    assert!(contents(&store).contains(&part));

    let stored = pull(&store, &at(&stub)).unwrap();
    assert_eq!(std::fs::read(&stored.path).unwrap(), plan().bytes);
    assert_eq!(stub.ranges().last().unwrap().as_deref(), Some("bytes=123456-"));
    assert_eq!(contents(&store), [".lock", "tiny.gguf", "tiny.json"]);
}

#[test]
fn a_part_that_is_whole_or_too_long_does_not_stand_in_the_way() {
    for (extra, transfers) in [(0, 0), (10, 1)] {
        let (_folder, store, _) = setup();
        let stub = StubHub::start(plan());
        let partial = store.folder().join("partial");
        std::fs::create_dir_all(&partial).unwrap();
        let mut bytes = plan().bytes;
        let part = partial.join(format!("{}.part", sha256(&bytes)));
        bytes.resize(bytes.len() + extra, 0);
        std::fs::write(part, bytes).unwrap();
        let stored = pull(&store, &at(&stub)).unwrap();
        assert_eq!(std::fs::read(&stored.path).unwrap(), plan().bytes);
        assert_eq!(stub.ranges().len(), transfers);
    }
}

#[test]
fn a_hub_that_cannot_resume_sends_all_of_it_again() {
    let (_folder, store, _) = setup();
    let stub = StubHub::start(Plan { cuts: vec![1000], cannot_resume: true, ..plan() });
    let stored = pull(&store, &at(&stub)).unwrap();
    assert_eq!(std::fs::read(&stored.path).unwrap(), plan().bytes);
}

#[test]
fn a_file_that_is_not_what_was_promised_is_deleted() {
    let (_folder, store, _) = setup();
    let promised = "ab".repeat(32);
    let stub = StubHub::start(Plan { etag: Some(promised.clone()), ..plan() });
    let (message, hint) = said(pull(&store, &at(&stub)));
    let size = plan().bytes.len();
    assert_eq!(
        message,
        format!(
            "what {} sent is not the file it promised: {size} bytes with SHA-256 {} instead of \
             {size} bytes with {promised}",
            stub.url,
            sha256(&plan().bytes)
        )
    );
    assert_eq!(
        hint,
        "it was deleted; pull again, and if that does not help, mistrust the hub or the way to it"
    );
    assert_eq!(store.list().unwrap(), []);
    assert!(!contents(&store).iter().any(|file| file.ends_with(".part")));
}

#[test]
fn a_part_that_was_damaged_is_deleted_and_the_next_run_is_clean() {
    let (_folder, store, _) = setup();
    let stub = StubHub::start(plan());
    let partial = store.folder().join("partial");
    std::fs::create_dir_all(&partial).unwrap();
    let part = partial.join(format!("{}.part", sha256(&plan().bytes)));
    std::fs::write(part, [9; 5000]).unwrap();
    assert!(said(pull(&store, &at(&stub))).0.contains("is not the file it promised"));
    pull(&store, &at(&stub)).unwrap();
}

#[test]
fn a_file_without_sha256_is_not_trusted() {
    let (_folder, store, _) = setup();
    let stub =
        StubHub::start(Plan { etag: Some("d41d8cd98f00b204e9800998ecf8427e".into()), ..plan() });
    assert_eq!(
        said(pull(&store, &at(&stub))),
        (
            format!("{} gives no SHA-256 to check tiny.gguf by", stub.url),
            "fetch the file by hand, check where it is from, and `codegrep model add` it"
                .to_owned()
        )
    );
}

#[test]
fn a_pulled_file_that_is_no_model_is_refused() {
    let (_folder, store, _) = setup();
    let stub = StubHub::start(Plan { bytes: b"<html>".to_vec(), ..Plan::default() });
    let (message, _) = said(pull(&store, &at(&stub)));
    assert!(message.ends_with("not a GGUF file (it does not begin with `GGUF`)"), "{message}");
    assert_eq!(contents(&store), [".lock"]);
}

#[test]
fn what_the_hub_lacks_or_refuses_is_said() {
    let (_folder, store, _) = setup();
    let stub = StubHub::start(plan());
    let other = |text: &str| {
        let wanted = text.parse().unwrap();
        said(store.pull(&at(&stub), &wanted, None, &mut quiet, &Watch::idle()))
    };
    assert_eq!(
        other("owner/repo/other.gguf"),
        ("owner/repo holds no file other.gguf".to_owned(), "it holds: tiny.gguf".to_owned())
    );
    assert_eq!(
        other("owner/missing/tiny.gguf"),
        (
            format!("{} has no repository owner/missing (404 Not Found)", stub.url),
            "check the name; if it is private, set HF_TOKEN to a token that may read it".to_owned()
        )
    );
    for (status, code, want) in [
        (401, "GatedRepo", "gives this file only to accounts that were granted it"),
        (403, "", "gives this file only to accounts that were granted it"),
        (500, "", "answered 500 Internal Server Error"),
    ] {
        let stub = StubHub::start(Plan { refuses: Some((status, code)), ..plan() });
        let (message, _) = said(pull(&store, &at(&stub)));
        assert_eq!(message, format!("{} {want}", stub.url));
    }
    assert_eq!(store.list().unwrap(), []);
}

#[test]
fn without_a_network_it_says_how_to_do_without() {
    let (_folder, store, _) = setup();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("http://127.0.0.1:{port}");
    assert_eq!(
        said(pull(&store, &Hub::at(&url, None).unwrap())),
        (
            format!("{url} refused the connection"),
            format!(
                "check the network and HTTPS_PROXY; or fetch \
                 {url}/owner/repo/resolve/main/tiny.gguf on another machine and run \
                 `codegrep model add FILE`"
            )
        )
    );
    assert_eq!(
        said(pull(&store, &Hub::at(&url, None).unwrap().offline())),
        (
            "HF_HUB_OFFLINE is set: nothing is downloaded".to_owned(),
            "unset it, or `codegrep model add` a file you have".to_owned()
        )
    );
}

#[cfg(unix)]
#[test]
fn what_the_hubs_own_tools_have_is_used_where_it_is() {
    let (folder, store, _) = setup();
    let cache = folder.path().join("hub");
    let repo = cache.join("models--owner--repo");
    let snapshot = repo.join("snapshots").join(COMMIT);
    for path in [&snapshot, &repo.join("blobs"), &repo.join("refs")] {
        std::fs::create_dir_all(path).unwrap();
    }
    let blob = repo.join("blobs").join(sha256(&plan().bytes));
    std::fs::write(&blob, plan().bytes).unwrap();
    std::fs::write(repo.join("refs/main"), COMMIT).unwrap();
    std::os::unix::fs::symlink(&blob, snapshot.join("tiny.gguf")).unwrap();

    let hub = Hub::at("http://127.0.0.1:1", None).unwrap().offline().with_cache(cache);
    let stored = pull(&store, &hub).unwrap();
    assert_eq!(stored.path, blob.canonicalize().unwrap());
    assert!(matches!(stored.manifest.source, Source::Hub { commit, .. } if commit == COMMIT));

    // One that was damaged there is not.
    store.remove("tiny", &Watch::idle()).unwrap();
    std::fs::write(&blob, gguf::model(100_000, 4)).unwrap();
    assert_eq!(said(pull(&store, &hub)).0, "HF_HUB_OFFLINE is set: nothing is downloaded");
}

#[test]
fn two_pulls_of_one_file_do_not_meet() {
    let (_folder, store, _) = setup();
    let stub = StubHub::start(plan());
    std::fs::create_dir_all(store.folder().join("partial")).unwrap();
    let lock = store.folder().join(format!("partial/{}.lock", sha256(&plan().bytes)));
    let held = std::fs::File::create(lock).unwrap();
    held.lock().unwrap();
    assert_eq!(
        said(pull(&store, &at(&stub))),
        ("another process is downloading tiny.gguf".to_owned(), "wait until it is done".to_owned())
    );
    drop(held);
    pull(&store, &at(&stub)).unwrap();
}

#[test]
fn a_cancel_ends_the_download() {
    let (_folder, store, _) = setup();
    let stub = StubHub::start(Plan { cuts: vec![1000, 0, 0, 0], ..plan() });
    let watch = Watch::idle();
    let canceller = watch.clone();
    let wanted = "owner/repo/tiny.gguf".parse().unwrap();
    // The first piece has come: cancelled during the pauses that follow.
    let mut cancel = move |_, _, _| canceller.cancel();
    let error = store.pull(&at(&stub), &wanted, None, &mut cancel, &watch).unwrap_err();
    assert!(matches!(error, StoreError::Stopped(Stop::Cancelled)), "{error}");
    assert_eq!(store.list().unwrap(), []);
}

#[test]
fn only_files_of_a_repository_are_names_of_files() {
    use codegrep_model::store::HubFile;
    let nested: HubFile = "owner/repo/sub/tiny.gguf".parse().unwrap();
    assert_eq!((nested.repo.as_str(), nested.file.as_str()), ("owner/repo", "sub/tiny.gguf"));
    for text in [
        "tiny.gguf",
        "owner/repo",
        "owner/repo/x.bin",
        "owner/../x.gguf",
        "/owner/repo/x.gguf",
        "owner/repo/.gguf/",
        "o/r/a\nb.gguf",
        "https://huggingface.co/o/r.gguf",
    ] {
        assert!(text.parse::<HubFile>().is_err(), "{text}");
    }
}
