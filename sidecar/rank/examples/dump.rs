//! Asks the lexical engine every task of a file and prints what it saw, one JSON line a task:
//! `{"instance_id", "ms": {"index", "rank"}, "files": [{"path", "probability", "features"}]}`.
//!
//! Usage: `dump TASKS.jsonl TEMPLATE`, where TEMPLATE is where a task's repository lies, with
//! `{owner}` and `{name}` filled from its `git`.

use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;

use codegrep_rank::{Features, Ranker, candidates, explain};
use codegrep_tree::{GitTree, Watch};
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(tasks), Some(template)) = (arguments.next(), arguments.next()) else {
        return Err("usage: dump TASKS.jsonl TEMPLATE".into());
    };
    let watch = Watch::idle();
    let mut out = std::io::stdout().lock();
    for line in BufReader::new(std::fs::File::open(tasks)?).lines() {
        let task: Value = serde_json::from_str(&line?)?;
        let text = |key: &str| task[key].as_str().unwrap_or_default();
        let (owner, name) = text("git").split_once('/').ok_or("git is not owner/name")?;
        let repo = template.replace("{owner}", owner).replace("{name}", name);
        let tree = GitTree::open(Path::new(&repo), text("base_commit"))?;
        // A ranker of its own, so that each time is that of a cold index.
        let ranker = Ranker::default();
        let ranked = candidates(text("problem_statement"), &tree, &ranker, &watch)?;
        let features = explain(text("problem_statement"), &tree, &ranker, &watch)?;
        let probability =
            |path| ranked.candidates.iter().find(|c| c.path == path).map(|c| c.probability);
        let files: Vec<Value> = features
            .into_iter()
            .map(|(path, features)| {
                json!({"path": path.as_str(), "probability": probability(path.clone()),
                       "features": features.values().to_vec()})
            })
            .collect();
        let row = json!({
            "instance_id": text("instance_id"),
            "ms": {"index": ranked.index_time.as_millis() as u64,
                   "rank": ranked.rank_time.as_millis() as u64},
            "names": Features::NAMES,
            "files": files,
        });
        writeln!(out, "{row}")?;
    }
    Ok(())
}
