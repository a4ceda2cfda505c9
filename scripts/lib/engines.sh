# Container engines of our own: private storage, private sockets, nothing of
# the machine's. Sourced by the scripts that need real engines.

# Debian packages by the program they bring; installed if that is missing.
need() {
  local missing=()
  local pair
  for pair in "$@"; do
    command -v "${pair%%=*}" >/dev/null 2>&1 || [ -x "/usr/sbin/${pair%%=*}" ] || missing+=("${pair#*=}")
  done
  [ "${#missing[@]}" -eq 0 ] && return
  if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    echo "missing: install with  apt-get install ${missing[*]}" >&2
    return 1
  fi
  echo "installing ${missing[*]}"
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends ${missing[*]} >/dev/null
}

need_podman() { need podman=podman runc=runc iptables=iptables git=git curl=curl; ls /usr/lib/podman/netavark >/dev/null 2>&1 || need netavark=netavark aardvark-dns=aardvark-dns; }
need_docker() { need dockerd=docker.io runc=runc iptables=iptables git=git curl=curl; }

need_containerd() {
  need containerd=containerd ctr=containerd runc=runc iptables=iptables catatonit=catatonit ip=iproute2
  if [ ! -x /usr/lib/cni/bridge ]; then need cni=containernetworking-plugins; fi
}

# Waits until a command succeeds: wait_for <seconds> <what> <command…>
wait_for() {
  local deadline=$((SECONDS + $1)) what="$2"
  shift 2
  until "$@" >/dev/null 2>&1; do
    if [ "$SECONDS" -ge "$deadline" ]; then echo "waited in vain for $what" >&2; return 1; fi
    sleep 0.1
  done
}

# start_podman <dir>: a podman service; its socket is <dir>/podman.sock.
start_podman() {
  local dir="$1"
  mkdir -p "$dir"
  # Hosts without systemd and with limits of their own need both to be said.
  cat >"$dir/containers.conf" <<CONF
[containers]
default_ulimits = ["nofile=$(ulimit -Hn | sed 's/unlimited/1048576/'):$(ulimit -Hn | sed 's/unlimited/1048576/')", "nproc=4096:4096"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
[network]
network_config_dir = "$dir/networks"
CONF
  CONTAINERS_CONF="$dir/containers.conf" setsid podman --root "$dir/root" --runroot "$dir/run" \
    system service --time=0 "unix://$dir/podman.sock" >"$dir/podman.log" 2>&1 &
  echo $! >"$dir/podman.pid"
  wait_for 20 "podman's service" curl -fs --unix-socket "$dir/podman.sock" http://d/_ping
}

# start_docker <dir>: a docker engine; its socket is <dir>/docker.sock.
start_docker() {
  local dir="$1"
  mkdir -p "$dir"
  PATH="$PATH:/usr/sbin" setsid dockerd --data-root "$dir/data" --exec-root "$dir/exec" -p "$dir/docker.pid" \
    -H "unix://$dir/docker.sock" >"$dir/docker.log" 2>&1 &
  wait_for 30 "dockerd" curl -fs --unix-socket "$dir/docker.sock" http://d/_ping
}

# Removes the containers of an engine, then the engine: stop_engine <socket> <pid file>
stop_engine() {
  local socket="$1" pid
  pid="$(cat "$2" 2>/dev/null)" || return 0
  local ids
  ids="$(curl -fs --unix-socket "$socket" 'http://d/v1.41/containers/json?all=true' | grep -o '"Id":"[0-9a-f]*"' | cut -d'"' -f4)" || true
  for id in $ids; do
    curl -fs -X DELETE --unix-socket "$socket" "http://d/v1.41/containers/$id?force=true" >/dev/null || true
  done
  kill "$pid" 2>/dev/null || true
  while kill -0 "$pid" 2>/dev/null; do sleep 0.1; done
}
