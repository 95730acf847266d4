# Installs below a temporary directory of this machine.
export HOME="$WORK/home" XDG_RUNTIME_DIR="$WORK/run" DIR="$WORK/tree"
unset XDG_CONFIG_HOME XDG_STATE_HOME XDG_CACHE_HOME HOOKHOST_CONFIG_DIR HOOKHOST_STATE_DIR HOOKHOST_CACHE_DIR
# Each package contains the same program, so plugins are compiled once.
export HOOKHOST_CACHE_DIR="${WORK%/*}/cache"
mkdir -p -m 700 "$HOME" "$XDG_RUNTIME_DIR" "$DIR"
eval "$INSTALL"
eval "$USE"
