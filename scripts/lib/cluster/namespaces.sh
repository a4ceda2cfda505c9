# Where a cluster lives: names and addresses, its cgroup, its namespaces, and
# their end. Everything is found again by the directory alone, so that nothing
# is lost with a process that was killed. Sourced by scripts/cluster.

names() {
  dir="$(realpath -m "$1")"
  local hash
  hash="$(printf %s "$dir" | sha256sum)"
  name="colony-${hash:0:8}"
  link="ck${hash:0:8}"
  slot=$((16#${hash:8:4} % 32768))
  port=$((20000 + 16#${hash:12:4} % 8000))
}

# addresses <slot>: two neighbours out of 198.18.0.0/15, which is kept for tests of networks.
addresses() {
  local base=$(($1 * 4))
  local net="198.$((18 + (base >> 16))).$(((base >> 8) & 255))"
  host_ip="$net.$(((base & 255) + 1))"
  node_ip="$net.$(((base & 255) + 2))"
}

# The next addresses and the next port that are not in use.
choose_addresses() {
  addresses "$slot"
  while ip -o -4 address show | grep -qF " $host_ip/"; do
    slot=$(((slot + 1) % 32768))
    addresses "$slot"
  done
  while (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do port=$((port + 1)); done
}

# --- the cgroup, in every hierarchy there is

cgroups() {
  if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
    echo "/sys/fs/cgroup/$name"
  else
    printf "%s$name\n" /sys/fs/cgroup/*/
  fi
}

make_cgroups() {
  local it file controller
  for it in $(cgroups); do
    mkdir -p "$it"
    # In version 2 the kubelet wants all of its controllers in its root.
    for controller in cpu cpuset memory pids hugetlb; do
      if grep -qw "$controller" /sys/fs/cgroup/cgroup.controllers 2>/dev/null; then
        echo "+$controller" >"$it/../cgroup.subtree_control"
        echo "+$controller" >"$it/cgroup.subtree_control"
      fi
    done
    # An empty cpuset takes no process.
    for file in cpuset.cpus cpuset.mems; do
      if [ -e "$it/../$file" ] && [ -e "$it/../cpuset.cpu_exclusive" ]; then cat "$it/../$file" >"$it/$file"; fi
    done
    mkdir -p "$it/system"
  done
}

# in_cgroup <command…>: becomes the command, as a process of the cluster.
in_cgroup() {
  local it
  unlock
  for it in $(cgroups); do echo "$BASHPID" >"$it/system/cgroup.procs" 2>/dev/null || true; done
  if [ -z "$(processes system)" ]; then echo "cluster: no cgroup takes processes" >&2; exit 1; fi
  exec "$@"
}

# processes [<part>]: of the cluster, as the machine numbers them.
processes() {
  cgroups | while read -r it; do
    find "$it/${1:-}" -name cgroup.procs -exec cat {} + 2>/dev/null || true
  done | sort -u
}

# The first process of the namespaces: number 1 in there.
init_pid() {
  local pid
  for pid in $(processes system); do
    if awk '/^NSpid:/ { one = NF == 3 && $3 == 1 } END { exit !one }' "/proc/$pid/status" 2>/dev/null; then
      echo "$pid"
      return
    fi
  done
  return 1
}

# --- namespaces

# Becomes the first process of the cluster, which waits for the others.
# Everything that Kubernetes and containerd write outside the directory is
# private here: the kubelet sets kernel.panic and vm.overcommit_memory, and
# all of them use fixed paths below /run, /var/log and /var/lib.
init() {
  local it
  mount --make-rshared /
  mkdir -p "$dir/var/log" "$dir/var/lib"
  mount -t tmpfs tmpfs /run
  mount --bind "$dir/var/log" /var/log
  mount --bind "$dir/var/lib" /var/lib
  mkdir /run/sysctl /run/netns
  mount --bind /proc/sys /proc/sys
  mount --bind /proc/sys/net /proc/sys/net
  for it in vm/overcommit_memory vm/panic_on_oom kernel/panic kernel/panic_on_oops \
    kernel/keys/root_maxkeys kernel/keys/root_maxbytes; do
    cat "/proc/sys/$it" >"/run/sysctl/${it##*/}"
    mount --bind "/run/sysctl/${it##*/}" "/proc/sys/$it"
  done
  mount -o remount,bind,ro /proc/sys
  hostname "$name"
  touch /run/ready
  exec catatonit -P
}

# enter <command…>: runs it inside, without the environment of the caller.
# Proxies in there are not for the cluster, nor are credentials of a cloud.
enter() {
  local pid
  if ! pid="$(init_pid)"; then echo "cluster: $dir is not up" >&2; return 1; fi
  (in_cgroup nsenter --target "$pid" --mount --net --pid --ipc --uts --wd="$dir" -- \
    env -i PATH="$KUBERNETES_BIN:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" HOME="$dir/var" \
    AWS_EC2_METADATA_DISABLED=true "$@")
}

# spawn <name> <command…>: a daemon inside, with its log beside those of the others.
spawn() {
  enter bash -c 'name="$1"; shift; setsid "$@" >>"log/$name.log" 2>&1 </dev/null & echo $! >"/run/$name.pid"' bash "$@"
}

start_namespaces() {
  local pid
  (in_cgroup setsid unshare --mount --net --pid --ipc --uts --fork --mount-proc --propagation private \
    "$self" init "$dir" >log/init.log 2>&1 </dev/null) &
  disown
  wait_for 10 "the namespaces" enter test -e /run/ready
  pid="$(init_pid)"
  ip link add "$link" type veth peer name eth0 netns "$pid"
  ip address add "$host_ip/30" dev "$link"
  ip link set "$link" up
  enter ip link set lo up
  enter ip address add "$node_ip/30" dev eth0
  enter ip link set eth0 up
  enter ip route add default via "$host_ip"
  enter bash -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
}

# --- the end

# All processes, the link and the cgroup. The namespaces and what is mounted in
# them end with their processes.
end_processes() {
  local it deadline=$((SECONDS + 20)) pids
  while pids="$(processes)" && [ -n "$pids" ]; do
    kill -9 $pids 2>/dev/null || true
    if [ "$SECONDS" -ge "$deadline" ]; then fail "these processes do not end:" $pids; fi
    sleep 0.1
  done
  ip link delete "$link" 2>/dev/null || true
  for it in $(cgroups); do
    until [ ! -e "$it" ] || { find "$it" -depth -type d -exec rmdir {} + 2>/dev/null && [ ! -e "$it" ]; }; do
      if [ "$SECONDS" -ge "$deadline" ]; then fail "the cgroup $it cannot be removed"; fi
      sleep 0.1
    done
  done
}
