#!/usr/bin/env bash
# Makes the test data of engine/testdata/rocketmq-peer again: a small store of each
# generation of RocketMQ, closed in order and killed, as it was left, with the plan, what
# was acknowledged and everything that RocketMQ answered when it opened a copy. Needed
# only when a version in pom.xml or the form of answers changes.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export JAVA_OPTIONS="-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xmx512m"
go build -o "$work/loadgen" ./cmd/loadgen
mkdir -p engine/testdata/rocketmq-peer
for generation in v4 v5; do
  version=$(scripts/rocketmq/run.sh $generation info | sed 's/.*"V\([0-9_]*\)".*/\1/; s/_/./g')
  for end in close kill; do
    name=v$version-$([ $end = close ] && echo clean || echo killed)
    mkdir "$work/$name"
    "$work/loadgen" store plan --seed 7 --operations 220 > "$work/$name/plan"
    scripts/rocketmq/run.sh $generation write --dir "$work/$name/store" --plan "$work/$name/plan" --end $end \
      > "$work/$name/results" || [ $end = kill ]
    # What only RocketMQ's own database of 5.x needs says nothing about the store.
    rm -rf "$work/$name/store/rocksdbstore" "$work/$name/store/compaction"
    cp -a "$work/$name/store" "$work/copy"
    scripts/rocketmq/run.sh $generation read --dir "$work/copy" --plan "$work/$name/plan" > "$work/$name/answers"
    rm -rf "$work/copy"
    tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner -c "$name" | gzip -9n > "engine/testdata/rocketmq-peer/$name.tar.gz"
    ls -l "engine/testdata/rocketmq-peer/$name.tar.gz"
  done
done
