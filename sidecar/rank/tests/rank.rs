//! Whole requests on small repositories.

use std::time::{Duration, Instant};

use codegrep_index::IndexState;
use codegrep_rank::{EvidenceKind, Features, RankError, Ranked, Ranker, candidates, explain};
use codegrep_tree::fixture::Fixture;
use codegrep_tree::{DiskTree, Stop, Tree, Watch};

const SHOP: &str = r#"
//- /shop/cart.py
"""The basket."""

from shop.prices import total_price


class Cart:
    def add_item(self, item, count=1):
        self.items[item] = count

    def checkout(self):
        return total_price(self.items)
//- /shop/prices.py
def total_price(items):
    return sum(item.price * count for item, count in items.items())
//- /shop/__init__.py
//- /shop/web/views.py
from shop.cart import Cart


def basket_view(request):
    return render(request, Cart())
//- /tests/test_cart.py
from shop.cart import Cart


def test_checkout_counts_items():
    cart = Cart()
    cart.add_item("pen", 2)
    assert cart.checkout() == 4
//- /docs/basket.md
# The basket

Call checkout on the cart to pay.
"#;

fn ask(fixture: &Fixture, text: &str) -> Ranked {
    let tree = DiskTree::open(fixture.path()).unwrap();
    let ranked = candidates(text, &tree, &Ranker::default(), &Watch::idle()).unwrap();
    every_line_stands_in_its_file(&ranked, &tree);
    ranked
}

fn every_line_stands_in_its_file(ranked: &Ranked, tree: &dyn Tree) {
    for file in &ranked.candidates {
        assert!(!file.evidence.is_empty(), "{}", file.path);
        let text = tree.read(&file.path, u64::MAX).unwrap().bytes;
        for evidence in &file.evidence {
            let line = text.split(|b| *b == b'\n').nth(evidence.line as usize - 1).unwrap();
            let line = String::from_utf8_lossy(line);
            assert!(line.contains(&evidence.text), "{}: {evidence:?} in {line:?}", file.path);
        }
        for (first, last) in &file.line_ranges {
            assert!(1 <= *first && first <= last, "{}: {first}-{last}", file.path);
        }
        assert!((0.0..=1.0).contains(&file.probability));
    }
}

fn first(ranked: &Ranked) -> (&str, u32, EvidenceKind) {
    let file = &ranked.candidates[0];
    (file.path.as_str(), file.evidence[0].line, file.evidence[0].kind)
}

#[test]
fn what_the_text_names_comes_first_with_its_line() {
    let fixture = Fixture::new(SHOP);
    for (text, want) in [
        ("`add_item` ignores the count", ("shop/cart.py", 7, EvidenceKind::Definition)),
        ("Totals are wrong in prices.py", ("shop/prices.py", 1, EvidenceKind::Path)),
        (
            "Crash\n  File \"/srv/app/shop/web/views.py\", line 5, in basket_view\nKeyError",
            ("shop/web/views.py", 5, EvidenceKind::Trace),
        ),
        ("shop.prices.total_price is off", ("shop/prices.py", 1, EvidenceKind::Definition)),
    ] {
        assert_eq!(first(&ask(&fixture, text)), want, "{text}");
    }
}

#[test]
fn texts_that_name_nothing_known_give_nothing() {
    let fixture = Fixture::new(SHOP);
    for text in ["", " \n", "zxqv wvut", "the and of", "\u{0}\u{1}"] {
        assert_eq!(ask(&fixture, text).candidates, [], "{text:?}");
    }
}

#[test]
fn the_same_request_gives_the_same_answer() {
    let fixture = Fixture::new(SHOP);
    let text = "checkout of the cart counts items twice";
    let (a, b) = (ask(&fixture, text), ask(&fixture, text));
    assert!(a.candidates.len() >= 3);
    assert_eq!(a.candidates, b.candidates);
}

#[test]
fn odd_files_and_texts_are_survived() {
    let fixture = Fixture::new(SHOP);
    fixture.write("big/one_line.js", format!("var needle_token = 1;{}", "x+".repeat(8 << 20)));
    fixture.write("bin/needle_token.dat", b"\0\x01needle_token");
    fixture.write("odd/latin.py", b"def needle_token():\n    return '\xff\xfe'\n");
    fixture.write("odd/empty.py", "");
    fixture.write("odd/数据.py", "# 数据库连接\ndef needle():\n    pass\n");
    let ranked = ask(&fixture, "needle_token fails");
    assert_eq!(first(&ranked), ("odd/latin.py", 1, EvidenceKind::Definition));
    assert_eq!(first(&ask(&fixture, "数据库 错误")).0, "odd/数据.py");
    assert_eq!(first(&ask(&fixture, "look at one_line.js")).0, "big/one_line.js");
    assert_eq!(first(&ask(&fixture, "look at empty.py")).0, "odd/empty.py");
    let huge = format!("add_item\n{}", "lorem ipsum `needle_token` a/b.py \n".repeat(30_000));
    let ranked = ask(&fixture, &huge);
    assert!(!ranked.candidates.is_empty());
    assert!(ranked.warnings.iter().any(|w| w.contains("very long")), "{:?}", ranked.warnings);
}

#[test]
fn a_spent_budget_gives_what_there_is_and_cancelling_an_error() {
    let fixture = Fixture::new(SHOP);
    let tree = DiskTree::open(fixture.path()).unwrap();
    let ranker = Ranker::default();
    let spent = Watch::new(Some(Instant::now() - Duration::from_millis(1)), None);
    let ranked = candidates("add_item", &tree, &ranker, &spent).unwrap();
    assert_eq!(ranked.index.state, IndexState::Partial);
    let cancelled = Watch::idle();
    cancelled.cancel();
    let error = candidates("add_item", &tree, &ranker, &cancelled).unwrap_err();
    assert!(matches!(error, RankError::Stopped(Stop::Cancelled)), "{error:?}");
    let ranked = candidates("add_item", &tree, &ranker, &Watch::idle()).unwrap();
    assert_eq!(ranked.index.state, IndexState::Ready);
    assert_eq!(first(&ranked).0, "shop/cart.py");
}

/// The features of one file.
fn features(fixture: &Fixture, text: &str, path: &str) -> Features {
    let tree = DiskTree::open(fixture.path()).unwrap();
    let all = explain(text, &tree, &Ranker::default(), &Watch::idle()).unwrap();
    all.into_iter().find(|(it, _)| it.as_str() == path).unwrap().1
}

#[test]
fn what_earlier_commits_said_leads_to_the_files_they_changed() {
    let fixture = Fixture::new(
        "//- /a.py\nvalue = 1\n//- /b.py\nvalue = 2\n//- /c.py\nvalue = 3\n//- /d.py\nvalue = 4\n",
    );
    fixture.commit("begin");
    fixture.write("a.py", "value = 5\n");
    fixture.write("b.py", "value = 6\n");
    fixture.commit("Keep leap seconds when a calendar is printed");
    fixture.write("d.py", "value = 7\n");
    fixture.commit("Sort imports");
    let told = |path| {
        let f = features(&fixture, "leap seconds lost in the calendar, see b.py", path);
        [f.past_all, f.said_all, f.recent, f.cochange].map(|x| (x * 100.0).round() / 100.0)
    };
    // The newest commit counts whole, an earlier one a little less; `a` changed with `b`, which
    // the text names, both times.
    let [a, b, c, d] = ["a.py", "b.py", "c.py", "d.py"].map(told);
    assert_eq!(a[..2], [1.0, 1.0]);
    assert_eq!(a[..2], b[..2]);
    assert_eq!((c[0], c[1]), (0.0, 0.0));
    assert_eq!((d[0], d[1]), (0.0, 0.0));
    assert_eq!([a[2], c[2], d[2]], [0.99, 0.99, 1.0]);
    assert!(a[3] > c[3] && a[3] > d[3], "{a:?} {c:?} {d:?}");
}

#[test]
fn a_quoted_error_message_leads_to_the_line_that_prints_it() {
    let fixture = Fixture::new(
        "//- /check.py\ndef f(x):\n    raise ValueError(\"cannot weigh empty basket of \" + x)\n\
         //- /basket.py\nclass Basket: pass\n//- /weigh.py\ndef weigh(basket): return basket\n",
    );
    let text = "Crash\n\n```\nValueError: cannot weigh empty basket of pears\n```\n";
    assert_eq!(features(&fixture, text, "check.py").phrases, 1.0);
    assert_eq!(features(&fixture, text, "basket.py").phrases, 0.0);
    let tree = DiskTree::open(fixture.path()).unwrap();
    let ranked = candidates(text, &tree, &Ranker::default(), &Watch::idle()).unwrap();
    let check = ranked.candidates.iter().find(|c| c.path.as_str() == "check.py").unwrap();
    let said = check.evidence.iter().find(|e| e.kind == EvidenceKind::String).unwrap();
    assert_eq!(said.line, 2);
    assert_eq!(said.text, "raise ValueError(\"cannot weigh empty basket of \" + x)");
}
