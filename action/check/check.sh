#!/bin/sh
# The step of the action. Checks the checkout in DIRECTORY, compared with the commit BASE if there is one, and writes SARIF.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
work=$(mktemp -d "${RUNNER_TEMP:-${TMPDIR:-/tmp}}/hookhost.XXXXXX")
clean_up() {
  if [ -d "$work/base" ]; then git worktree remove --force "$work/base"; fi
  rm -rf "$work"
}
trap clean_up EXIT

if [ -z "${PROGRAM:-}" ]; then
  system=$(uname -s)-$(uname -m)
  # `release` has a line for each system: SYSTEM DIGEST URL. A release of hookhost fills it in.
  line=$(grep "^$system " "$here/release") || {
    echo "::error::This action knows no hookhost for $system: name an installed one as \`program\`, or use a released version of the action"
    exit 2
  }
  # shellcheck disable=SC2086 # The three words of the line.
  set -- $line
  curl --fail --silent --show-error --location --proto '=https' --output "$work/archive" "$3"
  echo "$2  $work/archive" | if command -v sha256sum >/dev/null; then sha256sum --check --quiet; else shasum -a 256 --check --quiet; fi
  mkdir "$work/program"
  tar -xf "$work/archive" -C "$work/program"
  # The archive has one directory. It also contains completions whose file is named hookhost.
  PROGRAM=$(echo "$work/program"/*/bin/hookhost)
fi

cd "$DIRECTORY"
set -- check --sarif "$SARIF"
if [ -n "${BASE:-}" ]; then
  git cat-file -e "$BASE^{commit}" 2>/dev/null || git fetch --quiet --no-tags --depth=1 origin "$BASE"
  # The base is checked out without the repository's own hooks and filters.
  git -c core.hooksPath=/dev/null worktree add --quiet --detach "$work/base" "$BASE"
  set -- "$@" --base "$work/base"
fi
code=0
"$PROGRAM" "$@" >"$work/found" || code=$?
cat "$work/found"
# Examples and cases need no approval of the file, because the command names it. Plugins that may write files or send requests are not asked.
if [ -f hookhost.toml ] && { [ -d cases ] || grep -q '^ *stops *=' hookhost.toml; }; then
  tested=0
  "$PROGRAM" test . --config hookhost.toml >"$work/tested" 2>&1 || tested=$?
  cat "$work/tested"
  cat "$work/tested" >>"$work/found"
  if [ "$code" -eq 0 ]; then code=$tested; fi
fi
if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
  { echo '### hookhost check'; echo '```text'; sed 's/```/` ` `/g' "$work/found"; echo '```'; } >>"$GITHUB_STEP_SUMMARY"
fi
if [ -n "${GITHUB_OUTPUT:-}" ]; then echo "sarif=$DIRECTORY/$SARIF" >>"$GITHUB_OUTPUT"; fi
exit "$code"
