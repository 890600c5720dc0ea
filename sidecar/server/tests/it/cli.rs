//! `codegrep find` for people and for scripts.

use std::io::{Read, Write};
use std::process::Stdio;
use std::time::{Duration, Instant};

use expect_test::expect;
use serde_json::Value;

use crate::support::{HUNG, Ran, Repo, Silent};

const TEXT: &str = "total_price ignores the discount";

/// Without the probabilities, and the time in the last line.
fn stable(text: &str) -> String {
    let at = text.rfind("; ").unwrap();
    assert!(text.trim_end().ends_with(" s"), "{text}");
    let lines = text[..at].split('\n').map(|line| match line.strip_suffix(" %") {
        Some(found) => format!("{}NN %", found.trim_end_matches(|c: char| c.is_ascii_digit())),
        None => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n") + "…"
}

#[test]
fn an_answer_for_a_person() {
    let repo = Repo::shop();
    let ran = repo.run(&["find", "--max-files", "1", TEXT]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:#?}");
    expect![[r#"
        src/cart.py:1-6  NN %
              5  def total_price(self, discount):  definition

        1 of 1 file at or above 0.00; word search, no model; 4 files…"#]]
    .assert_eq(&stable(&ran.stdout));
}

#[test]
fn an_abstention_for_a_person() {
    let repo = Repo::shop();
    let mut command = repo.command(&["find", "--max-files", "1", TEXT]);
    let ran = Ran::of(command.env("CODEGREP_BAR", "1").output().unwrap());
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:#?}");
    expect![[r#"
        Not sure enough to name files: 0 of 1 file at or above 1.00.
        Without the gate these would have been named:

        src/cart.py:1-6  NN %
              5  def total_price(self, discount):  definition

        word search, no model; 4 files…"#]]
    .assert_eq(&stable(&ran.stdout));
    let ran = repo.run(&["find", "zzyzx"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:#?}");
    expect![[r#"
        No file to name: no file matches the text.

        word search, no model; 4 files…"#]]
    .assert_eq(&stable(&ran.stdout));
}

#[test]
fn colours_are_for_terminals_and_for_those_who_insist() {
    let repo = Repo::shop();
    let escapes = |ran: &Ran| ran.stdout.contains('\u{1b}');
    assert!(!escapes(&repo.run(&["find", TEXT])));
    let mut command = repo.command(&["find", TEXT]);
    assert!(escapes(&Ran::of(command.env("CLICOLOR_FORCE", "1").output().unwrap())));
    let mut command = repo.command(&["find", "--json", TEXT]);
    assert!(!escapes(&Ran::of(command.env("CLICOLOR_FORCE", "1").output().unwrap())));
}

#[test]
fn json_is_one_line_and_what_the_wire_says() {
    let repo = Repo::shop();
    let ran = repo.run(&["find", "--json", "--max-files", "1", "--no-gate", TEXT]);
    assert_eq!(ran.stdout.lines().count(), 1);
    let answer = ran.json();
    assert_eq!(answer["files"].as_array().unwrap().len(), 1);
    assert_eq!(answer["verdict"]["reason"], "the gate is off");
    assert_eq!(answer["injection"], "\n\n<candidate_files>\n- src/cart.py\n</candidate_files>\n");
    // The same request through the server.
    let mut server = repo.serve(&[]);
    let params =
        serde_json::json!({"text": TEXT, "roots": [repo.root()], "maxFiles": 1, "gate": "off"});
    let served = server.result("retrieve", params);
    for field in ["files", "verdict", "injection", "engine", "stop", "index", "reproducible"] {
        assert_eq!(served[field], answer[field], "{field}");
    }
}

#[test]
fn the_task_comes_from_stdin() {
    let repo = Repo::shop();
    let mut child = repo
        .command(&["find", "--json", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let text = [TEXT.as_bytes(), b" caf\xe9 ", &b"lorem ipsum ".repeat(90_000)].concat();
    child.stdin.take().unwrap().write_all(&text).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(answer["files"].is_array());
}

#[test]
fn the_repository_is_the_one_around() {
    let repo = Repo::shop();
    let find = |dir: std::path::PathBuf| {
        Ran::of(repo.command(&["find", "--json", TEXT]).current_dir(dir).output().unwrap())
    };
    let inside = find(repo.root().join("src")).json();
    assert_eq!(inside["files"][0]["path"], "src/cart.py");
    let outside = find(std::env::temp_dir());
    assert_eq!(outside.code, Some(2));
    expect![[r#"
        error: /tmp lies in no git repository and is no project (Cargo.toml, package.json, pyproject.toml, … are missing)
        hint: `--repo DIR` names the folder to search
    "#]].assert_eq(&outside.stderr);
}

#[test]
fn bad_usage_is_code_2_and_says_what_to_do() {
    let repo = Repo::shop();
    for (args, want) in [
        (
            &["find", ""][..],
            expect![[r#"
            error: the task text is empty
            hint: say in a few words what is wrong or what is to be done
        "#]],
        ),
        (
            &["find", " \n "],
            expect![[r#"
            error: the task text is empty
            hint: say in a few words what is wrong or what is to be done
        "#]],
        ),
        (
            &["find", "--max-files", "0", TEXT],
            expect![[r#"
            error: max_files is 0 (from the command line); it must be 1 to 100
        "#]],
        ),
        (
            &["find", "--profile", "x", TEXT],
            expect![[r#"
                error: profile is x (from the command line); it must be codegrep
            "#]],
        ),
        (
            &["find", "--log", "loud=very", TEXT],
            expect![[r#"
            error: --log loud=very: error parsing level filter: expected one of "off", "error", "warn", "info", "debug", "trace", or a number 0-5
            hint: such as `--log debug` or `--log codegrep_model=trace`
        "#]],
        ),
    ] {
        let ran = repo.run(args);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:#?}");
        want.assert_eq(&ran.stderr);
    }
    for args in
        [&["find"][..], &["find", "--nope", TEXT], &["find", "--budget-ms", "x", TEXT], &["lose"]]
    {
        assert_eq!(repo.run(args).code, Some(2));
    }
}

#[test]
fn failures_are_code_1_and_say_what_to_do() {
    let repo = Repo::shop();
    let home = repo.home();
    for (args, want) in [
        (
            &["find", "--repo", "/nonexistent", TEXT][..],
            expect![[r#"
            error: /nonexistent: no such folder
            hint: check the path for a typing error, and who may read it
        "#]],
        ),
        (
            &["find", "--repo", "src/cart.py", TEXT],
            expect![[r#"
            error: ROOT/src/cart.py: not a folder
            hint: give the folder that holds the code
        "#]],
        ),
        (
            &["find", "--repo", "/", TEXT],
            expect![[r#"
            error: /: a home folder, or one above it, is not searched
            hint: give the folder of one project; `--any-root` allows it all the same
        "#]],
        ),
        (
            &["find", "--repo", home.to_str().unwrap(), TEXT],
            expect![[r#"
            error: HOME: a home folder, or one above it, is not searched
            hint: give the folder of one project; `--any-root` allows it all the same
        "#]],
        ),
        (
            &["find", "--log-file", "/nonexistent/log", TEXT],
            expect![[r#"
            error: the log cannot be written: failed to open file `/nonexistent/log`: No such file or directory (os error 2)
            hint: name a file in a folder that exists and may be written
        "#]],
        ),
    ] {
        let ran = repo.run(args);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{ran:#?}");
        let stderr = ran.stderr.replace(home.to_str().unwrap(), "HOME");
        want.assert_eq(&stderr.replace(repo.root().to_str().unwrap(), "ROOT"));
    }
    let allowed = repo.run(&["find", "--any-root", "--repo", home.to_str().unwrap(), TEXT]);
    assert_eq!(allowed.code, Some(0), "{allowed:#?}");
}

#[test]
fn wrong_settings_name_their_source() {
    let repo = Repo::shop();
    let mut command = repo.command(&["find", TEXT]);
    let ran = Ran::of(command.env("CODEGREP_MAX_FILES", "many").output().unwrap());
    assert_eq!(ran.code, Some(1));
    expect![[r#"
        error: CODEGREP_MAX_FILES=many: invalid digit found in string
        hint: correct the variable or unset CODEGREP_MAX_FILES
    "#]]
    .assert_eq(&ran.stderr);
    let config = repo.home().join("codegrep/config.toml");
    std::fs::create_dir_all(config.parent().unwrap()).unwrap();
    std::fs::write(&config, "max_files = 700\n").unwrap();
    let ran = repo.run(&["find", TEXT]);
    assert_eq!(ran.code, Some(1));
    expect![[r#"
        error: max_files is 700 (from CONFIG); it must be 1 to 100
    "#]]
    .assert_eq(&ran.stderr.replace(config.to_str().unwrap(), "CONFIG"));
}

#[test]
fn weights_that_are_none_are_refused_by_name() {
    let repo = Repo::shop();
    let file = repo.home().join("w.json");
    let find = || {
        let ran = repo.run(&["find", "--weights", file.to_str().unwrap(), TEXT]);
        (ran.code, ran.stderr.replace(file.to_str().unwrap(), "FILE"))
    };
    std::fs::write(&file, r#"{"version":3}"#).unwrap();
    let (code, stderr) = find();
    assert_eq!(code, Some(1));
    expect![[r#"
        error: the weights FILE (from the command line): weights of version 3; this program reads versions 1 and 2
        hint: make them with `codegrep-train lexical`, or leave the setting `weights` out
    "#]]
    .assert_eq(&stderr);
    std::fs::remove_file(&file).unwrap();
    let (code, stderr) = find();
    assert!(code == Some(1) && stderr.starts_with("error: the weights FILE"), "{stderr}");
}

#[test]
fn settings_are_shown_with_their_source() {
    let repo = Repo::shop();
    let config = repo.home().join("codegrep/config.toml");
    std::fs::create_dir_all(config.parent().unwrap()).unwrap();
    std::fs::write(
        &config,
        "max_files = 5\nmodel = 'm.gguf'\n[endpoints.team]\nbase_url = 'http://h'\n",
    )
    .unwrap();
    let mut command = repo.command(&["config"]);
    let ran = Ran::of(command.env("CODEGREP_BAR", "0.7").output().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    let folder = config.parent().unwrap().to_str().unwrap();
    expect![[r##"
        # CONFIG/config.toml
        model = "CONFIG/m.gguf" # CONFIG/config.toml
        profile = "codegrep"                     # the built-in default
        weights = (built in)                     # the built-in default
        budget_ms = 20000                        # the built-in default
        max_files = 5                            # CONFIG/config.toml
        bar = 0.7                                # the environment
        injection_tag = "candidate_files"        # the built-in default
        any_root = false                         # the built-in default
        feedback = true                          # the built-in default
        daemon = false                           # the environment
        workers = 8                              # the built-in default
        queue = 64                               # the built-in default
        llama.context_tokens = (automatic)       # the built-in default
        llama.threads = (automatic)              # the built-in default
        llama.gpu_layers = (automatic)           # the built-in default
        llama.sequences = (automatic)            # the built-in default
        [endpoints.team]                         # CONFIG/config.toml
    "##]]
    .assert_eq(&ran.stdout.replace(folder, "CONFIG"));
}

#[test]
fn a_broken_model_file_is_a_warning() {
    let repo = Repo::shop();
    let path = repo.home().join("m.gguf");
    let model = path.to_str().unwrap();
    for content in
        [None, Some(&b""[..]), Some(b"no model"), Some(b"GGUF\x03\0\0\0\xff\xff\xff\xff")]
    {
        if let Some(content) = content {
            std::fs::write(&path, content).unwrap();
        }
        let ran = repo.run(&["find", "--model", model, TEXT]);
        assert_eq!(ran.code, Some(0), "{ran:#?}");
        assert!(ran.stdout.starts_with("src/cart.py"), "{ran:#?}");
        assert!(ran.stderr.starts_with("warning: the model m failed: "), "{ran:#?}");
        assert_eq!(ran.stderr.lines().count(), 1, "{ran:#?}");
        assert!(ran.stderr.contains(model), "{ran:#?}");
    }
}

#[test]
fn a_missing_model_is_a_warning() {
    let repo = Repo::shop();
    for (model, want) in [
        (
            "qwen9",
            expect![[r#"
                warning: there is no model named "qwen9"; `codegrep model add PATH` or `codegrep model pull` gets one
            "#]],
        ),
        (
            "scripted:/nonexistent",
            expect![[r#"
                warning: the model scripted:/nonexistent failed: /nonexistent cannot be read: No such file or directory (os error 2) (hint: a script is a text file of `--- turn` lines, each followed by what the model says); these files come from the word search alone
            "#]],
        ),
        (
            "http://127.0.0.1:1/v1#m",
            expect![[r#"
            warning: the model m failed: http://127.0.0.1:1 refused the connection (tried 3 times) (hint: start the model server, or correct base_url); these files come from the word search alone
        "#]],
        ),
    ] {
        let ran = repo.run(&["find", "--model", model, TEXT]);
        assert_eq!(ran.code, Some(0), "{ran:#?}");
        assert!(ran.stdout.starts_with("src/cart.py"), "{ran:#?}");
        want.assert_eq(&ran.stderr);
    }
}

#[cfg(unix)]
#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let repo = Repo::shop();
    let mut child =
        repo.command(&["schema"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // 64 KiB fit into the pipe; the schema with OpenRPC is longer than one read of ten bytes.
    let mut stdout = child.stdout.take().unwrap();
    let mut few = [0; 10];
    stdout.read_exact(&mut few).unwrap();
    drop(stdout);
    let ran = Ran::of(child.wait_with_output().unwrap());
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_with_130() {
    let (repo, silent) = (Repo::shop(), Silent::new());
    let child = repo
        .command(&["find", "--model", &silent.model(), "--budget-ms", "600000", TEXT])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(500));
    let start = Instant::now();
    let pid = child.id().to_string();
    std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap();
    let ran = Ran::of(child.wait_with_output().unwrap());
    assert!(start.elapsed() < HUNG);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (Some(130), "", ""));
}

#[cfg(unix)]
#[test]
fn unreadable_files_are_told_and_the_rest_is_searched() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    let repo = Repo::shop();
    std::fs::create_dir(repo.root().join("secret")).unwrap();
    repo.write("secret/x.py", b"discount");
    let closed = std::fs::Permissions::from_mode(0o000);
    std::fs::set_permissions(repo.root().join("secret"), closed.clone()).unwrap();
    std::fs::set_permissions(repo.root().join("src/invoice.py"), closed).unwrap();
    let mut command = repo.command(&["find", "--json", TEXT]);
    if std::process::Command::new("id").arg("-u").output().unwrap().stdout == b"0\n" {
        // Root may read what no one may.
        let open = std::fs::Permissions::from_mode(0o755);
        for dir in repo.root().ancestors().take(2) {
            std::fs::set_permissions(dir, open.clone()).unwrap();
        }
        let copy = repo.root().parent().unwrap().join("codegrep");
        std::fs::copy(env!("CARGO_BIN_EXE_codegrep"), &copy).unwrap();
        let mut other = std::process::Command::new(copy);
        other.args(command.get_args()).current_dir(repo.root()).uid(65534).gid(65534);
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => other.env(name, value),
                None => other.env_remove(name),
            };
        }
        command = other;
    }
    let ran = Ran::of(command.output().unwrap());
    let answer = ran.json();
    assert_eq!(answer["files"][0]["path"], "src/cart.py");
    let secret = "not searched, folder may not be read (permission denied): secret";
    assert_eq!(answer["warnings"], serde_json::json!([secret, "1 files could not be read"]));
    std::fs::set_permissions(repo.root().join("secret"), std::fs::Permissions::from_mode(0o755))
        .unwrap();
}

#[test]
fn a_commit_is_searched_without_a_checkout() {
    let repo = Repo::shop();
    let git = |args: &[&str]| {
        let mut git = std::process::Command::new("git");
        git.args(["-c", "user.name=t", "-c", "user.email=t@example.org"]).args(args);
        let ran = Ran::of(git.current_dir(repo.root()).output().unwrap());
        assert_eq!(ran.code, Some(0), "{ran:#?}");
    };
    std::fs::remove_dir_all(repo.root().join(".git")).unwrap();
    git(&["init", "-q"]);
    git(&["add", "."]);
    git(&["commit", "-qm", "first"]);
    std::fs::remove_file(repo.root().join("src/cart.py")).unwrap();
    assert_eq!(repo.run(&["find", "--json", TEXT]).json()["files"][0]["path"], "src/checkout.py");
    let then = repo.run(&["find", "--json", "--rev", "HEAD", TEXT]).json();
    assert_eq!(then["files"][0]["path"], "src/cart.py");
    let gone = repo.run(&["find", "--rev", "0000000", TEXT]);
    assert_eq!(gone.code, Some(1));
    expect![[r#"
        error: ROOT: no commit `0000000`
        hint: `git log --all` lists the commits; a shallow clone may not have it
    "#]]
    .assert_eq(&gone.stderr.replace(repo.root().to_str().unwrap(), "ROOT"));
}

#[test]
fn version_names_what_is_built_in() {
    let ran = Repo::shop().run(&["--version"]);
    assert_eq!(ran.code, Some(0));
    let version = env!("CARGO_PKG_VERSION");
    assert!(ran.stdout.starts_with(&format!("codegrep {version} (")), "{}", ran.stdout);
}
