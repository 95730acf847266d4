# Unpacks the container image, and runs its program as a container would: as the user of the image, in a tree without anything else.
mount -t tmpfs tmpfs "$WORK"
mkdir "$WORK/layout"
tar xf "$PACKAGE" -C "$WORK/layout"
umoci unpack --image "$WORK/layout:$VERSION" "$WORK/bundle"
root=$WORK/bundle/rootfs
mkdir -p "$root/proc" "$root/dev"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
run() {
  env -i HOME=/home/hookhost PATH=/usr/bin "$(command -v chroot)" --userspec=65532:65532 "$root" /usr/bin/hookhost "$@"
}
run --version
mkdir "$root/home/hookhost/.claude"
chown 65532:65532 "$root/home/hookhost/.claude"
run on --agent claude-code
reply=$(printf '%s' "$CALL" | run hook claude-code PreToolUse)
case $reply in
*'"permissionDecision":"deny"'*) ;;
*) echo "not rejected: $reply" >&2 && exit 1 ;;
esac
