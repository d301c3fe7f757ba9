#!/usr/bin/env bash
# Runs a study and keeps its result as a curated reference, results/reference-NAME.
# Usage: scripts/reference.sh STUDY [DIRECTORY FOR THE STORES]
set -euo pipefail
cd "$(dirname "$0")/.."
study=${1:?usage: scripts/reference.sh STUDY [DIRECTORY FOR THE STORES]}
name=$(basename "$study" .yaml)
new=$(mktemp -d)
trap 'rm -rf "$new"' EXIT
go run ./cmd/loadgen study "$study" --out "$new" ${2:+--dir "$2"}
rm -rf "results/reference-$name"
mv "$new"/* "results/reference-$name"
go run ./cmd/report "results/reference-$name" > "results/reference-$name/report.txt"
# The runs of a long study are too many to keep: what its report says of them stays.
if [ "$(du -sm "results/reference-$name/runs" | cut -f1)" -gt 10 ]; then
  rm -r "results/reference-$name/runs"
fi
du -sh "results/reference-$name"
