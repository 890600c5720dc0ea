use codegrep_model::store::{Add, Kind, Manifest, Source, Step, Verdict};
use codegrep_tree::{Stop, Watch};

use crate::hub::sha256;
use crate::{contents, gguf, quiet, said, setup};

#[test]
fn an_added_file_stays_where_it_is() {
    let (_folder, store, files) = setup();
    let bytes = gguf::model(64, 7);
    let path = files.join("Tiny Model.Q4_0.gguf");
    std::fs::write(&path, &bytes).unwrap();
    let mut steps = Vec::new();
    let stored = store
        .add(
            &path,
            &Add::default(),
            &mut |step, done, all| steps.push((step, done, all)),
            &Watch::idle(),
        )
        .unwrap();
    let size = bytes.len() as u64;
    assert_eq!(steps, [(Step::Hash, size, size)]);
    assert_eq!(
        stored.manifest,
        Manifest {
            name: "tiny-model.q4_0".into(),
            kind: Kind::Model,
            file: path.clone(),
            bytes: size,
            sha256: sha256(&bytes),
            architecture: "qwen2".into(),
            parameters: 64,
            source: Source::Path { path: path.clone() },
            added: stored.manifest.added.clone(),
        }
    );
    assert_eq!(stored.path, path);
    assert_eq!(store.list().unwrap(), std::slice::from_ref(&stored));
    assert_eq!(store.find("tiny-model.q4_0").unwrap(), stored);
    assert_eq!(contents(&store), [".lock", "tiny-model.q4_0.json"]);

    // Again: nothing changes.
    assert_eq!(store.add(&path, &Add::default(), &mut quiet, &Watch::idle()).unwrap(), stored);
    store.remove("tiny-model.q4_0", &Watch::idle()).unwrap();
    assert!(path.exists(), "the user's own file is not ours to delete");
    assert_eq!(store.list().unwrap(), []);
}

#[test]
fn a_copy_is_the_stores_own() {
    let (_folder, store, files) = setup();
    let path = files.join("tiny.gguf");
    std::fs::write(&path, gguf::model(64, 7)).unwrap();
    let how = Add { name: Some("mine".into()), copy: true };
    let stored = store.add(&path, &how, &mut quiet, &Watch::idle()).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(stored.path, store.folder().join("mine.gguf"));
    assert_eq!(store.list().unwrap(), [stored]);
    assert_eq!(contents(&store), [".copy.lock", ".lock", "mine.gguf", "mine.json"]);
    store.remove("mine", &Watch::idle()).unwrap();
    assert_eq!(contents(&store), [".copy.lock", ".lock"]);
}

#[test]
fn adapters_are_told_from_models() {
    let (_folder, store, files) = setup();
    let path = files.join("lora.gguf");
    std::fs::write(&path, gguf::adapter()).unwrap();
    let stored = store.add(&path, &Add::default(), &mut quiet, &Watch::idle()).unwrap();
    assert_eq!(stored.manifest.kind, Kind::Adapter);
}

#[test]
fn what_is_no_whole_model_is_refused_and_leaves_nothing() {
    let (_folder, store, files) = setup();
    let whole = gguf::model(64, 7);
    std::fs::write(files.join("text.gguf"), "not a model").unwrap();
    std::fs::write(files.join("cut.gguf"), &whole[..whole.len() - 100]).unwrap();
    std::fs::create_dir(files.join("folder.gguf")).unwrap();
    let hint = "give a whole GGUF file of a model or a LoRA adapter";
    for (file, reason) in [
        ("text.gguf", "not a GGUF file (it does not begin with `GGUF`)".to_owned()),
        ("cut.gguf", format!("cut off: {} bytes of {} are there", whole.len() - 100, whole.len())),
        ("folder.gguf", "not a regular file".to_owned()),
        ("missing.gguf", "No such file or directory (os error 2)".to_owned()),
    ] {
        for copy in [false, true] {
            let path = files.join(file);
            let how = Add { name: None, copy };
            assert_eq!(
                said(store.add(&path, &how, &mut quiet, &Watch::idle())),
                (format!("{} cannot be used: {reason}", path.display()), hint.to_owned())
            );
        }
    }
    assert_eq!(contents(&store), Vec::<String>::new());
}

#[test]
fn a_name_is_given_once() {
    let (_folder, store, files) = setup();
    let (one, two) = (files.join("one.gguf"), files.join("two.gguf"));
    std::fs::write(&one, gguf::model(64, 1)).unwrap();
    std::fs::write(&two, gguf::model(64, 2)).unwrap();
    let named = |name: &str, copy| Add { name: Some(name.into()), copy };
    let first = store.add(&one, &named("m", false), &mut quiet, &Watch::idle()).unwrap();
    for copy in [false, true] {
        assert_eq!(
            said(store.add(&two, &named("m", copy), &mut quiet, &Watch::idle())),
            (
                "another model is named \"m\"".to_owned(),
                "give this one another name with --name, or `codegrep model remove m`".to_owned()
            )
        );
    }
    assert_eq!(store.list().unwrap(), [first]);
    for name in ["../m", "none", "M"] {
        let (message, _) = said(store.add(&two, &named(name, false), &mut quiet, &Watch::idle()));
        assert_eq!(message, format!("{name:?} cannot be the name of a model"));
    }
    let (message, hint) = said(store.find("other"));
    assert_eq!(message, "there is no model named \"other\"");
    assert_eq!(hint, "there are: m");

    // A broken one gives its name up.
    std::fs::remove_file(&one).unwrap();
    let second = store.add(&two, &named("m", false), &mut quiet, &Watch::idle()).unwrap();
    assert_eq!(store.list().unwrap(), [second]);
}

#[test]
fn files_that_went_or_changed_are_marked() {
    let (_folder, store, files) = setup();
    let add = |name: &str| {
        let path = files.join(format!("{name}.gguf"));
        std::fs::write(&path, gguf::model(64, 7)).unwrap();
        store.add(&path, &Add::default(), &mut quiet, &Watch::idle()).unwrap();
        path
    };
    std::fs::remove_file(add("gone")).unwrap();
    std::fs::write(add("grown"), gguf::model(96, 7)).unwrap();
    let flipped = add("flipped");
    let mut bytes = std::fs::read(&flipped).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(flipped, bytes).unwrap();
    add("intact");
    std::fs::write(store.folder().join("garbled.json"), "{").unwrap();

    let size = gguf::model(64, 7).len();
    let listed: Vec<(String, Option<String>)> =
        store.list().unwrap().into_iter().map(|s| (s.manifest.name, s.broken)).collect();
    let broken = |name: &str, reason: String| (name.to_owned(), Some(reason));
    assert_eq!(
        listed,
        [
            ("flipped".to_owned(), None),
            broken(
                "garbled",
                "its manifest is broken: EOF while parsing an object at line 1 column 1".to_owned()
            ),
            broken("gone", "its file is gone".to_owned()),
            broken("grown", format!("its file has {} bytes and had {size}", size + 128)),
            ("intact".to_owned(), None),
        ]
    );
    let verdicts: Vec<(String, bool)> = store
        .list()
        .unwrap()
        .iter()
        .map(|stored| {
            let verdict = store.verify(stored, &mut quiet, &Watch::idle()).unwrap();
            (stored.manifest.name.clone(), verdict == Verdict::Intact)
        })
        .collect();
    let intact: Vec<&str> =
        verdicts.iter().filter(|(_, intact)| *intact).map(|(name, _)| name.as_str()).collect();
    assert_eq!(intact, ["intact"]);
    store.remove("garbled", &Watch::idle()).unwrap();
    assert_eq!(store.list().unwrap().len(), 4);
}

#[test]
fn weights_that_were_neither_pulled_nor_copied_are_never_deleted() {
    let (_folder, store, files) = setup();
    let (one, two) = (files.join("one.gguf"), store.folder().join("m.gguf"));
    std::fs::create_dir(store.folder()).unwrap();
    std::fs::write(&one, gguf::model(64, 1)).unwrap();
    std::fs::write(&two, gguf::model(64, 2)).unwrap();
    let named = |copy| Add { name: Some("m".into()), copy };
    let kept = || std::fs::read(&two).is_ok_and(|bytes| bytes == gguf::model(64, 2));

    // The place of the name's own weights is taken by a file of the user's.
    assert_eq!(
        said(store.add(&one, &named(true), &mut quiet, &Watch::idle())),
        (
            format!("{} is there already, and was neither pulled nor copied", two.display()),
            "give another name with --name, or move the file away; `codegrep model add` takes it \
             as it is"
                .to_owned()
        )
    );
    store.add(&one, &named(false), &mut quiet, &Watch::idle()).unwrap();
    store.remove("m", &Watch::idle()).unwrap();
    assert!(kept());

    // The same file, used where it is.
    store.add(&two, &named(false), &mut quiet, &Watch::idle()).unwrap();
    store.remove("m", &Watch::idle()).unwrap();
    assert!(kept());

    // An entry of another file that broke, and one whose manifest cannot be read.
    store.add(&one, &named(false), &mut quiet, &Watch::idle()).unwrap();
    std::fs::remove_file(&one).unwrap();
    store.add(&two, &named(false), &mut quiet, &Watch::idle()).unwrap();
    let manifest = store.folder().join("m.json");
    std::fs::write(&manifest, "{").unwrap();
    let removed = store.remove("m", &Watch::idle()).unwrap();
    assert_eq!((removed.path, removed.manifest.file.is_absolute()), (two.clone(), true));
    std::fs::write(&manifest, "{").unwrap();
    std::fs::write(&one, gguf::model(64, 1)).unwrap();
    store.add(&one, &named(false), &mut quiet, &Watch::idle()).unwrap();
    assert!(kept());
}

#[test]
fn a_broken_copy_is_replaced() {
    let (_folder, store, files) = setup();
    let path = files.join("m.gguf");
    std::fs::write(&path, gguf::model(64, 1)).unwrap();
    let add = |copy| {
        let how = Add { name: None, copy };
        store.add(&path, &how, &mut quiet, &Watch::idle()).unwrap()
    };
    let own = add(true).path;
    std::fs::write(&own, "cut").unwrap();
    assert_eq!(add(true).path, own);
    std::fs::write(&own, "cut").unwrap();
    assert_eq!(add(false).path, path);
    assert!(!own.exists());
}

#[test]
fn what_an_interrupted_copy_left_is_deleted() {
    let (_folder, store, files) = setup();
    let path = files.join("m.gguf");
    std::fs::write(&path, gguf::model(64, 1)).unwrap();
    let left = store.folder().join("partial").join("other.copy");
    std::fs::create_dir_all(left.parent().unwrap()).unwrap();
    for step in ["add", "remove"] {
        std::fs::write(&left, "half a mod").unwrap();
        match step {
            "add" => drop(store.add(&path, &Add::default(), &mut quiet, &Watch::idle()).unwrap()),
            _ => drop(store.remove("m", &Watch::idle()).unwrap()),
        }
        assert!(!left.exists(), "{step}");
    }
}

#[cfg(unix)]
#[test]
fn a_pipe_among_the_manifests_is_a_broken_entry() {
    let (_folder, store, _) = setup();
    std::fs::create_dir(store.folder()).unwrap();
    let pipe = |name: &str| {
        let path = store.folder().join(name);
        rustix::fs::mkfifoat(rustix::fs::CWD, path, rustix::fs::Mode::RWXU).unwrap();
    };
    pipe("pipe.json");
    std::os::unix::fs::symlink("/dev/zero", store.folder().join("zero.json")).unwrap();
    let broken: Vec<_> = store.list().unwrap().into_iter().map(|stored| stored.broken).collect();
    let reason = Some("not a regular file".to_owned());
    assert_eq!(broken, [reason.clone(), reason]);
    store.remove("zero", &Watch::idle()).unwrap();

    std::fs::remove_file(store.folder().join(".lock")).unwrap();
    pipe(".lock");
    let (message, _) = said(store.remove("pipe", &Watch::idle()));
    let lock = store.folder().join(".lock");
    assert_eq!(message, format!("cannot open {}: not a regular file", lock.display()));
}

#[test]
fn a_cancel_ends_the_hashing() {
    let (_folder, store, files) = setup();
    let path = files.join("tiny.gguf");
    std::fs::write(&path, gguf::model(64, 7)).unwrap();
    let watch = Watch::idle();
    watch.cancel();
    let error = store.add(&path, &Add::default(), &mut quiet, &watch).unwrap_err();
    assert!(
        matches!(error, codegrep_model::store::StoreError::Stopped(Stop::Cancelled)),
        "{error}"
    );
    assert_eq!(store.list().unwrap(), []);
}

#[test]
fn many_at_once_all_arrive() {
    let (_folder, store, files) = setup();
    std::thread::scope(|scope| {
        for i in 0..8u8 {
            let (store, path) = (&store, files.join(format!("m{}.gguf", i / 2)));
            scope.spawn(move || {
                std::fs::write(&path, gguf::model(64, i / 2)).unwrap();
                let how = Add { name: Some(format!("m{i}")), copy: i % 2 == 0 };
                store.add(&path, &how, &mut quiet, &Watch::idle())
            });
        }
    });
    let names: Vec<String> = store
        .list()
        .unwrap()
        .into_iter()
        .filter(|stored| stored.broken.is_none())
        .map(|stored| stored.manifest.name)
        .collect();
    assert_eq!(names, ["m0", "m1", "m2", "m3", "m4", "m5", "m6", "m7"]);
}
