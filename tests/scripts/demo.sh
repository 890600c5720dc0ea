#!/usr/bin/env bash
# `make demo`: from a fresh machine to a first answer. Builds without llama.cpp, which would take
# longer than everything else here.
set -euo pipefail
cd "$(dirname "$0")/../.."

say() { printf '\n== %s\n' "$*"; }

say "what the build needs"
tests/scripts/install-deps.sh rust pip

say "building codegrep (once; a few minutes)"
cargo build --locked --package codegrep
codegrep=$CARGO_TARGET_DIR/debug/codegrep

say "fetching a real project: the source package of Django 4.0"
project=$(tests/scripts/fetch-project.sh)
printf '%s\n%s files\n' "$project" "$(find "$project" -type f | wc -l)"

report=tests/fixtures/demo/report.txt
say "a bug report of it ($report)"
cat "$report"

say "codegrep find --repo $project - < $report"
"$codegrep" find --repo "$project" - < "$report"

say "next"
cat <<TEXT
Ask it something of your own:     $codegrep find --repo DIR "what the task is about"
Install it, with local models:    make install (this first build has no llama.cpp)
Then give it a model:             codegrep model pull REPO/FILE.gguf, codegrep find --model NAME …
Use it from an agent or editor:   codegrep serve --stdio (docs/wire.md)
TEXT
