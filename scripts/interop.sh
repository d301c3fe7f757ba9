#!/usr/bin/env bash
# Proof against the real RocketMQ: either store opens the directory of the other.
#
#   scripts/interop.sh [v4|v5 …]      both generations without arguments
#
# For each generation: one plan of content of every kind is put into a store by Go and
# by Java, and both must be the same byte by byte but for what a plan cannot fix. Then
# a store begun by either side, ended in order or by SIGKILL right after its last put, is
# opened, checked and gone on with by the other side, and by the first one again. After
# every step both read everything on copies of the directory: their answers must be
# the same, and hold every message that was acknowledged.
#
# Prints a line for each step; ends at the first difference and shows both sides. Exit
# codes: 0 the same; 1 a difference; 3 Java 17, Maven or its registry is missing. Needs
# about 100 MB in TMPDIR; KEEP=1 leaves it there.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d "${TMPDIR:-/tmp}/interop.XXXXXX")
cleanup() { [ -n "${KEEP:-}" ] && echo "kept: $work" || rm -rf "$work"; }
trap cleanup EXIT

# A virtual machine that lives for seconds: no second compiler, no parallel collector.
export JAVA_OPTIONS="-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xmx512m ${JAVA_OPTIONS:-}"
export loadgen=$work/loadgen
peer=$PWD/scripts/rocketmq/run.sh

generations=("$@")
[ $# -gt 0 ] || generations=(v4 v5)
go build -o "$loadgen" ./cmd/loadgen
for g in "${generations[@]}"; do
  "$peer" "$g" build > /dev/null
  "$peer" "$g" info | sed "s/^/$g  /"
done

# Everything below runs in a folder of its own and prints through say; a step that
# fails says what it did and ends its scenario.
say() { printf '%s  %-16s %s (%ss)\n' "$g" "$scenario" "$*" "$SECONDS"; }
fail() { say "FAILED: $1"; shift; cat "$@" 2> /dev/null | tail -n 25 | cut -c 1-2000; exit 1; }

# put SIDE PLAN END: one side puts a plan into ./store, which ends in order or by SIGKILL.
put() {
  local side=$1 plan=$2 end=$3 code=0 want=0 verb=write
  [ "$end" = close ] || want=137
  [ ! -e store ] || verb=append
  { # bash itself tells of a process that was killed
    case $side in
      go) "$loadgen" store apply --release "$g" --end "$end" "$plan" store > "$plan.results" 2> log || code=$? ;;
      java) timeout 180 "$peer" "$g" $verb --dir "$PWD/store" --plan "$plan" --end "$end" > "$plan.results" 2> log || code=$? ;;
    esac
  } 2> /dev/null
  [ "$code" = "$want" ] || fail "$side, $verb, ends with $code, want $want" log
  puts+=("$plan")
  # What one side said about a put is held against what both read afterwards.
  say "$side puts $(wc -l < "$plan.results") operations, $end"
}

# same WHAT: both sides read a copy of ./store; their answers agree and hold all puts.
same() {
  rm -rf copy.go copy.java
  cp -a store copy.go
  cp -a store copy.java
  "$loadgen" store answers --release "$g" "${puts[0]}" copy.go > answers.go 2> log || fail "go cannot read" log
  timeout 180 "$peer" "$g" read --dir "$PWD/copy.java" --plan "${puts[0]}" > answers.java 2> log || fail "java cannot read" log
  "$loadgen" store compare --release "$g" answers.java answers.go > log 2>&1 || fail "answers differ" log
  local lines untimed held=0 n plan
  lines=$(sed -n '1s/ .*//p' log)
  untimed=$(sed -n '2p' log)
  for plan in "${puts[@]}"; do
    "$loadgen" store holds "$plan" "$plan.results" answers.go > log 2>&1 || fail "a put is not there" log
    n=$(sed 's/ .*//' log)
    held=$((held + n))
  done
  # The copy was closed in order, so an audit finds it clean whatever came before.
  "$loadgen" store verify copy.go > log 2>&1 || fail "go's audit, after go closed it, finds faults" log
  [ "$1" != closed ] || "$loadgen" store verify store > log 2>&1 || fail "go's audit finds faults" log
  say "go and java read the same: $lines lines, $held messages as put${untimed:+; $untimed}"
}

# turns FIRST SECOND END: FIRST makes a store, SECOND goes on with it, then FIRST again.
turns() {
  puts=()
  local state=closed
  [ "$3" = close ] || state=killed
  put "$1" a.plan "$3"
  same $state
  put "$2" b.plan "$3"
  same $state
  put "$1" c.plan close
  same closed
}

# bytes: both sides make a store from the same plan.
bytes() {
  for plan in a.plan even.plan; do
    for side in go java; do
      puts=()
      put $side $plan close
      mv store store.$side.$plan
    done
    "$loadgen" store bytes store.go.$plan store.java.$plan > log 2>&1 || fail "bytes differ" log
    say "$(cat log)"
  done
}

# run NAME COMMAND…: a scenario in a folder of its own.
run() (
  scenario=$1
  shift
  mkdir -p "$work/$g/$scenario"
  cd "$work/$g/$scenario"
  "$loadgen" store plan --seed 1 --operations 400 > a.plan
  "$loadgen" store plan --seed 2 --operations 150 > b.plan
  "$loadgen" store plan --seed 3 --operations 150 > c.plan
  "$loadgen" store plan --seed 4 --operations 400 --no-delayed > even.plan
  "$@"
)

all() {
  run bytes bytes
  run java-first turns java go close
  run java-killed turns java go kill
  run go-first turns go java close
  run go-killed turns go java kill
}

# The generations run side by side: most of a step is a store that sleeps before it ends.
pids=()
for g in "${generations[@]}"; do
  all &
  pids+=($!)
done
code=0
for pid in "${pids[@]}"; do wait "$pid" || code=1; done
[ $code = 0 ] && echo "the same in all (${SECONDS}s)"
exit $code
