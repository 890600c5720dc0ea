#!/usr/bin/env bash
# How long `codegrep find` takes on a project of 6,557 files when nothing is indexed yet, with
# optimised code: five runs, each in an empty home; then grep against ripgrep.
set -euo pipefail
cd "$(dirname "$0")/../.."

cargo build --quiet --release --locked --package codegrep
codegrep=$CARGO_TARGET_DIR/release/codegrep
project=$(tests/scripts/fetch-project.sh)
report=tests/fixtures/demo/report.txt

echo "codegrep find, cold, $(find "$project" -type f | wc -l) files, $(nproc) cores (seconds):"
TIMEFORMAT=%R
for _ in 1 2 3 4 5; do
  home=$(mktemp -d)
  time HOME=$home XDG_CACHE_HOME=$home XDG_DATA_HOME=$home "$codegrep" find --repo "$project" --json - \
    < "$report" > /dev/null
  rm -rf "$home"
done 2>&1 | sort -n

echo "eight greps of one turn against ripgrep:"
cargo bench --quiet --locked -p codegrep-agent --bench grep_vs_rg -- "$project"
