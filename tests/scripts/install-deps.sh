#!/usr/bin/env bash
# Installs what the named parts of the build need and is missing: rust, checks, llama, pip, venv, rg.
# With apt-get (Debian, Ubuntu) as root or through sudo; elsewhere it says what to install.
set -euo pipefail
cd "$(dirname "$0")/../.."

packages=()
need() { # need COMMAND PACKAGE...: the packages, unless the command is there
  command -v "$1" >/dev/null || packages+=("${@:2}")
}

stop() { # stop WHAT HINT
  printf 'error: %s\nhint: %s\n' "$1" "$2" >&2
  exit 1
}

part_rust() {
  local wanted have
  wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
  have=$(cargo --version 2>/dev/null | cut -d' ' -f2) ||
    stop "Rust is not installed (cargo was not found)" \
      "install Rust $wanted or newer with rustup (https://rustup.rs), open a new shell, and run this again"
  [ "$(printf '%s\n' "$wanted" "$have" | sort -V | head -n 1)" = "$wanted" ] ||
    stop "Rust $have is too old: $wanted or newer is needed" \
      "run 'rustup update stable'; a distribution's own package is often older than that"
  need cc gcc libc6-dev
  need git git
}

part_checks() {
  local component
  for component in fmt clippy; do
    cargo "$component" --version >/dev/null 2>&1 && continue
    rustup component add "${component/fmt/rustfmt}" ||
      stop "cargo $component is not installed" "run 'rustup component add ${component/fmt/rustfmt}'"
  done
}

part_llama() { # llama.cpp is C++ built by cmake; its binding is generated with libclang
  need cmake cmake
  need c++ g++
  # libclang-cpp.so is another library: it does not serve.
  if ! ldconfig -p 2>/dev/null | grep -qE 'libclang(-[0-9.]+)?\.so' &&
    ! compgen -G '/usr/lib/llvm*/lib/libclang[-.][0-9s]*' >/dev/null; then
    [ -n "${LIBCLANG_PATH:-}" ] || packages+=(libclang-dev)
  fi
}

part_pip() {
  need python3 python3
  python3 -m pip --version >/dev/null 2>&1 || packages+=(python3-pip)
}

part_venv() { # Debian's python3 has the module, but not what it needs to make an environment
  need python3 python3
  python3 -c 'import ensurepip' 2>/dev/null || packages+=(python3-venv)
}

part_rg() {
  need rg ripgrep
}

for part in "$@"; do
  case $part in
    rust | checks | llama | pip | venv | rg) "part_$part" ;;
    *) stop "no part is called '$part'" "the parts are rust, checks, llama, pip, venv, rg" ;;
  esac
done

[ ${#packages[@]} -eq 0 ] && exit 0
command -v apt-get >/dev/null ||
  stop "not installed: ${packages[*]} (Debian's names)" \
    "install them with this system's package manager and run this again"
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null ||
    stop "not installed: ${packages[*]}, and neither root nor sudo is at hand to install them" \
      "ask an administrator to run 'apt-get install ${packages[*]}'"
  as_root=(sudo)
fi
echo "installing ${packages[*]}"
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" apt-get install -y -qq --no-install-recommends "${packages[@]}" >/dev/null
