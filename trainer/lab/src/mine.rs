//! Tasks out of a repository's own history: a commit's message for the issue, the files it
//! changes for the answer.

use std::path::Path;

use codegrep_index::Role;
use codegrep_tree::{Commit, GitTree, Kind, RepoPath, Tree, TreeError, Watch};

use crate::fit::MOST_GOLD;
use crate::language;
use crate::tasks::Task;

/// A commit that changes more files than this, whatever they are, is no fix.
const MOST_CHANGED: usize = 40;
/// So many commits are looked at for each task wanted.
const LOOK: usize = 20;
/// A shorter message says nothing to search for.
const FEWEST_WORDS: usize = 4;
/// Other files than these hold no code of any language we know.
const ANY_LANGUAGE: &str = "";

/// Up to `most` tasks from the history of `HEAD`, newest first.
///
/// A message is stripped of what an issue's author could not know: paths, file names, and the
/// numbers of pull requests and issues. Merges, reverts and what programs committed are left out,
/// as are commits that change no code, or more than six code files beside tests. Each task is
/// asked of the commit's parent; only files that are there already count.
pub fn mine(repository: &Path, most: usize, watch: &Watch) -> Result<Vec<Task>, TreeError> {
    let head = GitTree::open(repository, "HEAD")?;
    let name = std::path::absolute(repository).unwrap_or_else(|_| repository.to_owned());
    let name = name.file_name().map_or("repository".into(), |name| name.to_string_lossy());
    let Some(history) = head.history() else { return Ok(vec![]) };
    let mut tasks = vec![];
    for commit in history.commits(most.saturating_mul(LOOK), watch)? {
        watch.check()?;
        let Some(parent) = commit.parent() else { continue };
        let Some(statement) = statement(&commit) else { continue };
        let Some(changed) = history.changed(&commit, MOST_CHANGED)? else { continue };
        let code: Vec<&RepoPath> = changed.iter().filter(|path| is_code(path)).collect();
        if code.is_empty() || code.len() > MOST_GOLD {
            continue;
        }
        let before = GitTree::open(repository, &parent)?;
        let gold_files: Vec<String> = code
            .into_iter()
            .filter(|path| matches!(before.kind(path), Ok(Kind::File { .. })))
            .map(RepoPath::to_string)
            .collect();
        let Some(first) = gold_files.first() else { continue };
        tasks.push(Task {
            instance_id: commit.id.clone(),
            repo: format!("local/{name}"),
            git: None,
            language: language::of(first).to_owned(),
            base_commit: parent,
            problem_statement: statement,
            gold_files,
            names_gold: None,
        });
        if tasks.len() == most {
            break;
        }
    }
    Ok(tasks)
}

fn is_code(path: &RepoPath) -> bool {
    let role = Role::of(path);
    language::is_code(extension(path.as_str()), ANY_LANGUAGE)
        && !(role.test_name || role.test_dir || role.generated || role.vendored)
}

fn extension(path: &str) -> Option<&str> {
    path.rsplit('/').next()?.rsplit_once('.').map(|(_, extension)| extension)
}

/// The message as a person without the fix could have put it; `None` when nothing is left, or a
/// person did not write it.
fn statement(commit: &Commit) -> Option<String> {
    let message = &commit.message;
    let lower = message.to_lowercase();
    let by_program = ["[bot]", "dependabot", "renovate", "pre-commit-ci", "[skip ci]", "automated"];
    let opening = ["merge ", "revert", "bump ", "release ", "version ", "wip", "fixup!", "squash!"];
    if by_program.iter().any(|mark| lower.contains(mark))
        || opening.iter().any(|word| lower.starts_with(word))
    {
        return None;
    }
    let lines: Vec<String> = message
        .lines()
        .filter(|line| !is_trailer(line))
        .map(|line| {
            let told = line.split_whitespace().filter(|word| !gives_away(word));
            told.collect::<Vec<_>>().join(" ")
        })
        .collect();
    let text = lines.join("\n").trim().to_owned();
    (text.split_whitespace().count() >= FEWEST_WORDS).then_some(text)
}

/// `Signed-off-by: …` and the like.
fn is_trailer(line: &str) -> bool {
    let Some((key, _)) = line.split_once(": ") else { return false };
    let key = key.to_ascii_lowercase();
    key.ends_with("-by")
        || ["change-id", "git-svn-id", "cc", "link", "closes", "fixes", "refs", "see-also"]
            .contains(&key.as_str())
}

/// A path, a file's name, a link, or the number of a pull request, an issue or a commit.
fn gives_away(word: &str) -> bool {
    let bare = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '#' && c != '/');
    let number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    // `src/a.rs:12` and `a.rs's` name the file, too.
    let stem = bare.split([':', '\'', '`', '(']).next().unwrap_or(bare);
    bare.contains('/')
        || bare.rsplit_once('#').is_some_and(|(_, rest)| number(rest))
        || bare.to_ascii_lowercase().strip_prefix("gh-").is_some_and(number)
        || (bare.len() >= 7
            && bare.bytes().all(|b| b.is_ascii_hexdigit())
            && bare.bytes().any(|b| b.is_ascii_digit()))
        || (stem.contains('.') && language::is_code(extension(stem), ANY_LANGUAGE))
}

#[cfg(test)]
mod tests {
    use super::*;
    use codegrep_tree::fixture::Fixture;

    #[test]
    fn a_history_becomes_tasks() {
        let repo = Fixture::new("//- /src/cart.py\ntotal = 0\n//- /src/tax.py\nrate = 1\n");
        repo.commit("Start with a cart and its tax");
        repo.write("src/cart.py", "total = 1\n");
        repo.write("tests/test_cart.py", "assert True\n");
        let base = {
            let head = GitTree::open(repo.path(), "HEAD").unwrap();
            head.commit_id()
        };
        repo.commit(
            "Count a cart's total from one (#12)\n\nsrc/cart.py began at zero; see tax.py:3 and \
             https://example.org/x.\n\nFixes: #3\nSigned-off-by: A Developer <dev@example.org>\n",
        );
        repo.write("src/tax.py", "rate = 2\n");
        repo.commit("Bump rate from 1 to 2 in the tax module");
        repo.write("README.md", "words\n");
        repo.commit("Say in words what the cart does");
        repo.write("src/new.py", "x = 1\n");
        repo.commit("Add a module that nothing could have named before");

        let tasks = mine(repo.path(), 10, &Watch::idle()).unwrap();
        let [task] = &tasks[..] else { panic!("{tasks:#?}") };
        assert_eq!(task.gold_files, ["src/cart.py"], "neither its test nor a new file");
        assert_eq!((task.base_commit.as_str(), task.language.as_str()), (base.as_str(), "python"));
        assert_eq!(
            task.problem_statement,
            "Count a cart's total from one\n\nbegan at zero; see and"
        );
    }

    #[test]
    fn what_gives_the_answer_away() {
        for word in ["src/a", "a.rs", "`a.rs`:", "a.py's", "(#12)", "gh-12", "x/y#4", "0a1b2c3d4e"]
        {
            assert!(gives_away(word), "{word}");
        }
        for word in ["a", "e.g.", "Class.method", "3.14", "#", "defaced", "self.x,", "2.0"] {
            assert!(!gives_away(word), "{word}");
        }
    }
}
