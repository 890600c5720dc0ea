#!/usr/bin/env bash
# Runs the clients that others wrote (tests/clients) against CODEGREP_BIN. They are installed once,
# into a virtual environment in the cache; a test that cannot run fails.
set -euo pipefail
cd "$(dirname "$0")/../clients"

: "${CODEGREP_BIN:?the binary under test; \`make test-clients\` sets it}"
wanted=$(sha256sum requirements.txt | cut -c 1-12)
venv=${XDG_CACHE_HOME:-$HOME/.cache}/codegrep/clients-$wanted
if [ ! -f "$venv/complete" ]; then
  echo "installing the clients" >&2
  rm -rf "$venv"
  python3 -m venv "$venv"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r requirements.txt
  touch "$venv/complete"
fi
# Nothing is written into the checkout.
export PYTHONDONTWRITEBYTECODE=1
exec "$venv/bin/python" -m pytest -q -p no:cacheprovider --strict-markers "$@" .
