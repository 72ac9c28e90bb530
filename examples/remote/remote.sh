#!/usr/bin/env bash
# A BuildGrid on this machine, with one worker: storage, action cache and execution for Bazel, on the loopback.
#   remote.sh start    installs it from PyPI on the first call; prints the flags for Bazel
#   remote.sh status   prints the number of executed actions
#   remote.sh stop     ends both processes
#   remote.sh clean    stops, and deletes storage, cache and logs
# Everything is below ~/.cache/belay/remote; BELAY_REMOTE_DIRECTORY and BELAY_REMOTE_PORT override this.
set -euo pipefail

here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
export BELAY_REMOTE_DIRECTORY=${BELAY_REMOTE_DIRECTORY:-${XDG_CACHE_HOME:-$HOME/.cache}/belay/remote/data}
export BELAY_REMOTE_ADDRESS=127.0.0.1:${BELAY_REMOTE_PORT:-50051}
readonly environment=${BELAY_REMOTE_ENVIRONMENT:-${XDG_CACHE_HOME:-$HOME/.cache}/belay/remote/environment}

fail() {
  echo "remote.sh: $*" >&2
  exit 1
}

# Whether the process of the file $1.pid still runs.
runs() { [[ -e $BELAY_REMOTE_DIRECTORY/$1.pid ]] && kill -0 "$(<"$BELAY_REMOTE_DIRECTORY/$1.pid")" 2>/dev/null; }

install() {
  [[ -e $environment/installed ]] && return
  command -v python3 >/dev/null || fail "python3 is missing: it runs BuildGrid"
  python3 -m venv "$environment" || fail "no virtual environment: install Debian's package python3-venv"
  "$environment/bin/pip" install --quiet -r "$here/requirements.txt" || fail "cannot install requirements.txt from PyPI"
  touch "$environment/installed"
}

# Runs a command in the background; $1 is the name of its files.
launch() {
  local name=$1
  shift
  setsid "$@" >"$BELAY_REMOTE_DIRECTORY/$name.out" 2>&1 </dev/null &
  echo $! >"$BELAY_REMOTE_DIRECTORY/$name.pid"
}

start() {
  install
  runs server && fail "already running: remote.sh stop ends it"
  mkdir -p "$BELAY_REMOTE_DIRECTORY/storage"
  # The configuration does not support variables.
  sed -e "s|\${BELAY_REMOTE_ADDRESS}|$BELAY_REMOTE_ADDRESS|; s|\${BELAY_REMOTE_DIRECTORY}|$BELAY_REMOTE_DIRECTORY|" \
    "$here/buildgrid.yml" >"$BELAY_REMOTE_DIRECTORY/buildgrid.yml"
  launch server "$environment/bin/bgd" server start "$BELAY_REMOTE_DIRECTORY/buildgrid.yml"
  local tries
  for ((tries = 0; tries < 60; ++tries)); do
    "$environment/bin/bgd" capabilities --remote "http://$BELAY_REMOTE_ADDRESS" >/dev/null 2>&1 && break
    runs server || break
    sleep 0.5
  done
  if ! runs server || ((tries == 60)); then
    tail -n 20 "$BELAY_REMOTE_DIRECTORY/server.out" >&2
    fail "the server does not answer at $BELAY_REMOTE_ADDRESS"
  fi
  launch worker "$environment/bin/python" "$here/worker.py" "$BELAY_REMOTE_ADDRESS" "$BELAY_REMOTE_DIRECTORY"
  echo "--remote_executor=grpc://$BELAY_REMOTE_ADDRESS"
}

stop() {
  local name
  for name in worker server; do
    if runs $name; then
      local id
      id=$(<"$BELAY_REMOTE_DIRECTORY/$name.pid")
      kill "$id"
      for ((tries = 0; tries < 20; ++tries)); do
        kill -0 "$id" 2>/dev/null || break
        sleep 0.5
      done
      kill -9 "$id" 2>/dev/null || true
    fi
    rm -f "$BELAY_REMOTE_DIRECTORY/$name.pid"
  done
}

case ${1:-} in
  start) start ;;
  stop) stop ;;
  status)
    runs server && runs worker || fail "not running: remote.sh start"
    echo "$(wc -l <"$BELAY_REMOTE_DIRECTORY/worker.log") actions executed, $(grep -vc ' status 0:' "$BELAY_REMOTE_DIRECTORY/worker.log" || true) of them failed"
    ;;
  clean)
    stop
    rm -rf "$BELAY_REMOTE_DIRECTORY"
    ;;
  *) fail "expected start, status, stop or clean, got '${1:-}'" ;;
esac
