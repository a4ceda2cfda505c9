# The image of the process that holds a pod: catatonit alone, for no registry
# can be assumed. Sourced; made in the current directory, as image/pause.tar.

PAUSE=localhost/pause:1

write_pause_image() {
  local layer
  mkdir -p image/root
  cp "$(command -v catatonit)" image/root/pause
  tar -C image/root --owner=0 --group=0 -cf image/layer.tar pause
  layer="$(sha256sum image/layer.tar | cut -d' ' -f1)"
  cat >image/config.json <<CONF
{"architecture": "$(dpkg --print-architecture)", "os": "linux", "config": {"Entrypoint": ["/pause", "-P"]},
 "rootfs": {"type": "layers", "diff_ids": ["sha256:$layer"]}}
CONF
  echo '[{"Config": "config.json", "RepoTags": ["'$PAUSE'"], "Layers": ["layer.tar"]}]' >image/manifest.json
  tar -C image -cf image/pause.tar manifest.json config.json layer.tar
}
