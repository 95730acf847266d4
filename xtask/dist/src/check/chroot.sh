# Runs in its own mount and process namespace, so that nothing is left when it ends. Shows a bare system through an overlay, installs the
# package there, and uses it.
mount -t tmpfs tmpfs "$WORK"
mkdir "$WORK/upper" "$WORK/changes" "$WORK/root"
root=$WORK/root
mount -t overlay overlay -o "lowerdir=$LOWER,upperdir=$WORK/upper,workdir=$WORK/changes" "$root"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
cp "$PACKAGE" "$root/root/"
eval "$BEFORE"
exec chroot "$root" /usr/bin/env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
  PACKAGE="/root/$(basename "$PACKAGE")" CALL="$CALL" REGISTRY="$REGISTRY" DIR=/usr/local sh -ec "$INSTALL
$USE"
