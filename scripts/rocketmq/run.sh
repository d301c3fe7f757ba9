#!/usr/bin/env bash
# Runs the program of this folder over the store of one RocketMQ generation:
#
#   run.sh v4|v5 build           builds it if its sources are newer; prints where it is
#   run.sh v4|v5 check           says whether it could run, without building it
#   run.sh v4|v5 command args…   runs a command of commitlab.Main (see there)
#
# JAVA_OPTIONS goes to the virtual machine. Exit code 3: Java 17 or Maven is missing, or
# Maven could not build (no registry?); otherwise the program's own.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
missing() { echo "rocketmq/run.sh: $*" >&2; exit 3; }

generation=${1:-}
[ "$generation" = v4 ] || [ "$generation" = v5 ] || { echo "usage: run.sh v4|v5 build|command args…" >&2; exit 2; }
shift
[ $# -gt 0 ] || { echo "usage: run.sh v4|v5 build|command args…" >&2; exit 2; }

command -v java > /dev/null || missing "no java on the PATH; install a JDK from 17 on (Debian: openjdk-17-jdk-headless)"
release=$(java -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p' | head -1)
[ "${release:-0}" -ge 17 ] || missing "java is version ${release:-unknown}, want 17 or newer"

target=$here/target/$generation
stamp=$target/built
tools() {
  command -v mvn > /dev/null || missing "no mvn on the PATH; install Maven (Debian: maven)"
  command -v javac > /dev/null || missing "no javac on the PATH; install a JDK, not only a runtime"
}
build() {
  tools
  mkdir -p "$target"
  # Two processes may find it stale at once; the second one then has nothing to do.
  exec 9> "$here/target/$generation.lock"
  flock 9
  if stale; then
    mvn -B -q -f "$here/pom.xml" -P "$generation" package > "$target/maven.log" 2>&1 ||
      { tail -n 25 "$target/maven.log" >&2; missing "mvn failed, see $target/maven.log; it needs Maven Central once"; }
    touch "$stamp"
  fi
  exec 9>&-
}
stale() {
  [ ! -e "$stamp" ] || [ -n "$(find "$here/pom.xml" "$here/src" -newer "$stamp" -print -quit)" ]
}
if [ "$1" = check ]; then
  if ! stale; then echo "built"; else tools; echo "to be built with Maven when it is first run"; fi
  exit 0
fi
if stale; then build; fi
if [ "$1" = build ]; then echo "$target"; exit 0; fi

# Both generations unmap files through the buffer's cleaner, which Java hides since 9,
# and log below the user's home.
# shellcheck disable=SC2086 # JAVA_OPTIONS is several words
exec java ${JAVA_OPTIONS:-} -Duser.home="$target/home" \
  --add-opens java.base/java.nio=ALL-UNNAMED \
  --add-opens java.base/sun.nio.ch=ALL-UNNAMED \
  --add-opens java.base/jdk.internal.ref=ALL-UNNAMED \
  --add-exports java.base/jdk.internal.ref=ALL-UNNAMED \
  --add-exports java.base/sun.nio.ch=ALL-UNNAMED \
  -cp "$target/peer.jar:$target/lib/*" commitlab.Main "$@"
