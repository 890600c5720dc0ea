//! `report.md` and a self-contained `report.html` from a summary.

mod plots;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, Value, context};

use super::summary::{EngineSummary, Mean, Summary};

/// How the figures came about, for the head of the report.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Provenance {
    pub tasks_file: String,
    pub tasks_sha256: String,
    pub command: String,
    pub version: String,
    pub bad_rows: usize,
}

/// The report as Markdown.
pub fn markdown(summary: &Summary, from: &Provenance) -> Result<String, minijinja::Error> {
    let mut env = environment();
    env.add_template("report.md", include_str!("report.md.jinja"))?;
    env.get_template("report.md")?.render(
        context! { summary => Value::from(Serde(summary)), from => Value::from(Serde(from)) },
    )
}

/// The report as one HTML page with inline plots; nothing is fetched.
pub fn html(summary: &Summary, from: &Provenance) -> Result<String, minijinja::Error> {
    let mut env = environment();
    env.add_template("report.html", include_str!("report.html.jinja"))?;
    let drawn = |draw: fn(&EngineSummary) -> String| {
        summary
            .engines
            .iter()
            .map(|(name, engine)| (name.clone(), draw(engine)))
            .collect::<Vec<_>>()
    };
    env.get_template("report.html")?.render(context! {
        summary => Value::from(Serde(summary)),
        from => Value::from(Serde(from)),
        overview => plots::overview(summary),
        languages => plots::languages(summary),
        curves => plots::precision_coverage(summary),
        reliability => drawn(|engine| plots::reliability(&engine.all.first_file)),
    })
}

fn environment() -> Environment<'static> {
    let mut env = Environment::new();
    // Block tags on lines of their own leave no blank lines behind.
    if let Ok(syntax) = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build() {
        env.set_syntax(syntax);
    }
    env.add_filter("ci", |mean: Value| -> Result<String, minijinja::Error> {
        let part = |name: &str| mean.get_attr(name).map(|v| f64::try_from(v).unwrap_or(f64::NAN));
        let mean = Mean { mean: part("mean")?, lo: part("lo")?, hi: part("hi")? };
        Ok(format!("{:.3} [{:.3}, {:.3}]", mean.mean, mean.lo, mean.hi))
    });
    env.add_filter("f3", |x: f64| format!("{x:.3}"));
    env.add_filter("f1", |x: f64| format!("{x:.1}"));
    env
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluate::record::{Prediction, Record, Scored};
    use crate::evaluate::summary::summarise;

    fn summary() -> Summary {
        let file = |path: &str, probability| Scored { path: path.into(), probability };
        let record = |engine: &str, id: &str| Record {
            engine: engine.into(),
            instance_id: id.into(),
            repo: "a/b".into(),
            language: "<script>".into(),
            names_gold: true,
            gold: vec!["a".into()],
            asked_of: None,
            prediction: Prediction {
                ranked: vec![file("a", 0.7), file("b", 0.2)],
                returned: vec![file("a", 0.7)],
                injected: vec!["a".into()],
                parsed: true,
                ..Prediction::default()
            },
            error: None,
        };
        summarise(&[record("lexical", "1"), record("bm25", "1"), record("lexical", "2")])
    }

    fn provenance() -> Provenance {
        Provenance {
            tasks_file: "dev.jsonl".into(),
            tasks_sha256: "00".into(),
            command: "codegrep-train eval --engines 'bm25,lexical' <x>".into(),
            version: "0".into(),
            bad_rows: 0,
        }
    }

    #[test]
    fn the_page_fetches_nothing_and_escapes_what_it_is_given() {
        let page = html(&summary(), &provenance()).unwrap();
        assert!(
            page.contains("<svg") && page.contains("&lt;x&gt;") && page.contains("&lt;script&gt;")
        );
        for outside in ["src=", "href=\"http", "@import", "url("] {
            assert!(!page.contains(outside), "{outside}");
        }
        assert!(!page.contains("<script>"));
    }

    #[test]
    fn the_markdown_has_one_row_an_engine() {
        let text = markdown(&summary(), &provenance()).unwrap();
        assert!(text.contains("| lexical | 2 | 1.000 [1.000, 1.000]"), "{text}");
        assert!(text.contains("| bm25 | 1 |") && text.contains("bm25 − lexical"), "{text}");
    }
}
