//! The paper's profile: grep, glob and read in Qwen's call syntax, an answer in JSON (§3.2, A.1).
//! The prompts are this project's, the paper gives none.

mod example;

use std::collections::BTreeSet;

use crate::chat::{Constraint, Message, ToolSpec};
use crate::limits::Limits;
use crate::profiles::{Profile, Said, Step};
use crate::syntax::{self, grammar};
use crate::tools;

/// See the module.
pub struct CodeGrep {
    limits: Limits,
    tools: Vec<ToolSpec>,
    system: String,
    example: Vec<Message>,
}

const SYSTEM: &str = include_str!("system.txt");
const EXAMPLE: &str = include_str!("example.txt");
const TASK: &str = include_str!("task.txt");
const CANDIDATES: &str = include_str!("candidates.txt");
const ASK_ANSWER: &str = include_str!("answer.txt");
const CORRECT_EXPLORE: &str = include_str!("correct_explore.txt");
const CORRECT_ANSWER: &str = include_str!("correct_answer.txt");

impl CodeGrep {
    pub fn new(limits: Limits) -> Self {
        let tools = tools::specs(&limits.tools);
        Self {
            system: SYSTEM
                .trim_end()
                .replace("{calls}", &limits.tools.calls_a_turn.to_string())
                .replace("{turns}", &limits.explore_turns.to_string())
                .replace("{files}", &limits.answer_files.to_string()),
            example: example::messages(EXAMPLE),
            tools,
            limits,
        }
    }
}

impl Default for CodeGrep {
    fn default() -> Self {
        Self::new(Limits::default())
    }
}

impl Profile for CodeGrep {
    fn name(&self) -> &'static str {
        "codegrep"
    }

    fn limits(&self) -> &Limits {
        &self.limits
    }

    fn opening(&self, task: &str, context: &str) -> Vec<Message> {
        let mut messages =
            vec![Message::System { text: self.system.clone(), tools: self.tools.clone() }];
        messages.extend(self.example.iter().cloned());
        let mut text = TASK.trim_end().replace("{task}", task.trim());
        if !context.is_empty() {
            text.push_str("\n\n");
            text.push_str(&CANDIDATES.trim_end().replace("{candidates}", context.trim_end()));
        }
        messages.push(Message::User(text));
        messages
    }

    fn constraint(&self, step: Step, seen: &BTreeSet<String>) -> Constraint {
        let none = BTreeSet::new();
        let paths = if self.limits.answer_seen { seen } else { &none };
        let answer = grammar::Answer { files: self.limits.answer_files, paths };
        match step {
            Step::Explore { turn } => {
                let max = self.limits.tools.calls_a_turn;
                let or_answer = turn >= self.limits.answer_from_turn;
                let grammar = grammar::calls(&self.tools, max, or_answer.then_some(answer));
                Constraint::Calls { max, or_answer, grammar }
            }
            Step::Answer => Constraint::Answer {
                grammar: grammar::answer(answer),
                schema: grammar::answer_schema(self.limits.answer_files),
            },
        }
    }

    fn read(&self, text: &str, step: Step) -> Said {
        let answer = || syntax::answer(text).map(Said::Answer);
        let calls = || Some(syntax::calls(text)).filter(|calls| !calls.is_empty()).map(Said::Calls);
        let said = match step {
            Step::Explore { .. } => calls().or_else(answer),
            Step::Answer => answer().or_else(calls),
        };
        said.unwrap_or(Said::Malformed)
    }

    fn ask_answer(&self) -> Option<&str> {
        Some(ASK_ANSWER.trim_end())
    }

    fn correction(&self, step: Step) -> &str {
        match step {
            Step::Explore { .. } => CORRECT_EXPLORE.trim_end(),
            Step::Answer => CORRECT_ANSWER.trim_end(),
        }
    }
}
