# The files of a cluster: certificates, configuration, the pause image.
# Sourced by scripts/cluster; the directory of the cluster is the current one.

# --- certificates and files

key() { openssl ecparam -name prime256v1 -genkey -noout -out "pki/$1.key"; }

# certificate <name> <subject>
certificate() {
  key "$1"
  openssl req -new -key "pki/$1.key" -subj "$2" -out "pki/$1.csr"
  openssl x509 -req -in "pki/$1.csr" -CA pki/ca.crt -CAkey pki/ca.key -CAcreateserial -days 3650 -out "pki/$1.crt" \
    -extfile <(
      echo "extendedKeyUsage=serverAuth,clientAuth"
      echo "subjectAltName=DNS:localhost,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,DNS:node,IP:127.0.0.1,IP:10.96.0.1,IP:$node_ip"
    ) 2>>log/openssl.log
}

# kubeconfig <user> <file>: complete in itself, so that a test can copy it.
kubeconfig() {
  cat >"$2" <<CONF
apiVersion: v1
kind: Config
clusters:
  - name: cluster
    cluster:
      server: https://$node_ip:6443
      certificate-authority-data: $(base64 -w 0 pki/ca.crt)
users:
  - name: $1
    user:
      client-certificate-data: $(base64 -w 0 "pki/$1.crt")
      client-key-data: $(base64 -w 0 "pki/$1.key")
contexts:
  - name: cluster
    context: {cluster: cluster, user: $1}
current-context: cluster
CONF
}

write_certificates() {
  key ca
  openssl req -x509 -new -key pki/ca.key -subj /CN=cluster -days 3650 -out pki/ca.crt
  certificate apiserver /CN=kube-apiserver
  certificate admin /O=system:masters/CN=admin
  certificate controller-manager /CN=system:kube-controller-manager
  certificate scheduler /CN=system:kube-scheduler
  certificate kubelet /O=system:nodes/CN=system:node:node
  certificate proxy /CN=system:kube-proxy
  openssl genrsa -out pki/service-accounts.key 2048 2>>log/openssl.log
  kubeconfig admin kubeconfig
  local user
  for user in controller-manager scheduler kubelet proxy; do kubeconfig "$user" "conf/$user.conf"; done
}

# registry_configuration <address>: the two processes share one folder, and thus need one secret.
registry_configuration() {
  cat <<CONF
version: 0.1
log: {level: warn}
storage: {filesystem: {rootdirectory: $dir/registry}, delete: {enabled: true}}
http: {addr: "$1", secret: "$name"}
CONF
}

write_configuration() {
  local it
  registry_configuration ":$port" >conf/registry-node.yml
  registry_configuration "127.0.0.1:$port" >conf/registry-host.yml
  for it in "127.0.0.1:$port" "$node_ip:$port"; do
    mkdir -p "conf/certs.d/$it"
    printf 'server = "http://%s"\n' "$it" >"conf/certs.d/$it/hosts.toml"
  done

  cat >conf/cni/10-cluster.conflist <<CONF
{"cniVersion": "0.4.0", "name": "cluster", "plugins": [
  {"type": "bridge", "bridge": "cni0", "isGateway": true, "ipMasq": true, "hairpinMode": true,
   "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.244.0.0/24"}]], "routes": [{"dst": "0.0.0.0/0"}]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}]}
CONF
  # AppArmor profiles would be the machine's; the score of the OOM killer may
  # only be raised without CAP_SYS_RESOURCE.
  cat >conf/containerd.toml <<CONF
version = 2
[plugins."io.containerd.internal.v1.opt"]
  path = "/var/lib/containerd/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "$PAUSE"
  restrict_oom_score_adj = true
  disable_apparmor = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "$dir/conf/cni"
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "$dir/conf/certs.d"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
CONF
  # Nothing is evicted and no image is collected because the machine's disk is full.
  cat >conf/kubelet.yaml <<CONF
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: $node_ip
readOnlyPort: 0
authentication:
  anonymous: {enabled: false}
  webhook: {enabled: false}
  x509: {clientCAFile: $dir/pki/ca.crt}
authorization: {mode: AlwaysAllow}
tlsCertFile: $dir/pki/kubelet.crt
tlsPrivateKeyFile: $dir/pki/kubelet.key
cgroupDriver: cgroupfs
cgroupRoot: /$name
oomScoreAdj: 0
failSwapOn: false
resolvConf: ""
serializeImagePulls: false
nodeStatusUpdateFrequency: 2s
evictionHard: {memory.available: 1Mi}
imageGCHighThresholdPercent: 100
volumePluginDir: /var/lib/kubelet/volumeplugins
CONF
  cat >conf/proxy.yaml <<CONF
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
clientConnection: {kubeconfig: $dir/conf/proxy.conf}
mode: iptables
clusterCIDR: 10.244.0.0/24
hostnameOverride: node
oomScoreAdj: 0
conntrack: {maxPerCore: 0, min: 0}
CONF
}
