#!/usr/bin/env bash
# Fetches the source package of a real public project (Django 4.0, 6,557 files) into the cache and
# prints its folder.
set -euo pipefail

name=Django version=4.0
sha256=d5a8a14da819a8b9237ee4d8c78dfe056ff6e8a7511987be627192225113ee75

projects=${XDG_CACHE_HOME:-$HOME/.cache}/codegrep/projects
folder=$projects/$name-$version
if [ ! -d "$folder" ]; then
  mkdir -p "$projects"
  work=$(mktemp -d "$projects/.fetch.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  echo "$name==$version --hash=sha256:$sha256" > "$work/requirements.txt"
  # The hash is checked before anything of the package is looked at.
  python3 -m pip download --quiet --no-deps --no-binary "$name" --no-cache-dir --require-hashes \
    --requirement "$work/requirements.txt" --dest "$work" >&2
  tar -xzf "$work/$name-$version.tar.gz" -C "$work"
  mv "$work/$name-$version" "$folder"
fi
echo "$folder"
