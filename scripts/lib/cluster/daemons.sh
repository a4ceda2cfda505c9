# The programs of a cluster. Sourced by scripts/cluster; the directory of the
# cluster is the current one.

# The same reference has to work for the host and for the node, and only
# loopback addresses are plain HTTP for every client: one process on each side
# listens on 127.0.0.1, both with the same folder.
start_registry() {
  mkdir -p registry
  spawn registry-node docker-registry serve conf/registry-node.yml
  (in_cgroup env -i PATH="$PATH" setsid docker-registry serve conf/registry-host.yml >>log/registry-host.log 2>&1 </dev/null) &
  disown
}

start_etcd() {
  spawn etcd etcd --data-dir /var/lib/etcd --unsafe-no-fsync --log-level warn \
    --listen-client-urls http://127.0.0.1:2379 --advertise-client-urls http://127.0.0.1:2379 \
    --listen-peer-urls http://127.0.0.1:2380 --initial-advertise-peer-urls http://127.0.0.1:2380 \
    --initial-cluster default=http://127.0.0.1:2380
}

start_apiserver() {
  spawn kube-apiserver kube-apiserver --bind-address "$node_ip" --advertise-address "$node_ip" --secure-port 6443 \
    --etcd-servers http://127.0.0.1:2379 --service-cluster-ip-range 10.96.0.0/16 \
    --client-ca-file pki/ca.crt --tls-cert-file pki/apiserver.crt --tls-private-key-file pki/apiserver.key \
    --service-account-issuer https://kubernetes.default.svc \
    --service-account-key-file pki/service-accounts.key --service-account-signing-key-file pki/service-accounts.key \
    --authorization-mode Node,RBAC --enable-admission-plugins NodeRestriction --allow-privileged --profiling=false \
    --kubelet-client-certificate pki/admin.crt --kubelet-client-key pki/admin.key \
    --kubelet-certificate-authority pki/ca.crt --kubelet-preferred-address-types InternalIP
}

# api <path>: an answer of the API server, as the administrator.
api() { curl -fsS -m 5 --noproxy '*' --cacert pki/ca.crt --cert pki/admin.crt --key pki/admin.key "https://$node_ip:6443$1"; }

# api_says <path> <pattern>
api_says() {
  local answer
  answer="$(api "$1")" && grep -q "$2" <<<"$answer"
}

wait_for_api() { wait_for "${1:-60}" "the API server" api_says /readyz '^ok$'; }

start_containerd() {
  spawn containerd containerd -c conf/containerd.toml
  wait_for 20 "containerd" enter ctr version
  enter ctr -n k8s.io images import image/pause.tar >log/pause.log 2>&1
}

start_control_plane() {
  spawn kube-controller-manager kube-controller-manager --kubeconfig conf/controller-manager.conf \
    --bind-address 127.0.0.1 --port 0 --leader-elect=false --use-service-account-credentials \
    --service-account-private-key-file pki/service-accounts.key --root-ca-file pki/ca.crt \
    --cluster-signing-cert-file pki/ca.crt --cluster-signing-key-file pki/ca.key
  spawn kube-scheduler kube-scheduler --kubeconfig conf/scheduler.conf \
    --bind-address 127.0.0.1 --port 0 --leader-elect=false
}

start_node() {
  spawn kubelet kubelet --config conf/kubelet.yaml --kubeconfig conf/kubelet.conf --hostname-override node \
    --node-ip "$node_ip" --cert-dir pki --container-runtime remote --pod-infra-container-image "$PAUSE" \
    --container-runtime-endpoint unix:///run/containerd/containerd.sock
  spawn kube-proxy kube-proxy --config conf/proxy.yaml
}
