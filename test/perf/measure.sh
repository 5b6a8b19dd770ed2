#!/bin/sh
# Measures every collective of the standard library from 8 bytes to 1 GB, f32 and bf16, from graphs, beside NCCL and the
# hand-written kernels, and compares with what is recorded. An idle machine with N GPUs; some minutes.
#
#   test/perf/measure.sh OUT [N] [COLLECTIVE...]      COLL_BIN names the tool; default build/bin/coll
#
# OUT gets a JSON, a CSV and a picture for each collective and type. To record: copy the JSON into test/perf/recorded/.
# TYPES, FROM, TO, FACTOR and WIDTHS (of rows) in the environment choose others: FROM=8 TO=1Mi FACTOR=4 is quick.
here=$(cd "$(dirname "$0")" && pwd) || exit 2
coll=${COLL_BIN:-$here/../../build/bin/coll}
[ $# -ge 1 ] || { sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }
out=$1 ranks=${2:-2}
shift
[ $# -gt 0 ] && shift
collectives=${*:-$("$coll" list | sed 's/\..*//' | sort -u)}
mkdir -p "$out" || exit 2

bad=0
# measure NAME COLLECTIVE DTYPE [OPTION...]
measure() {
  name=h200x$ranks-$1
  echo "== $1"
  collective=$2 dtype=$3
  shift 3
  [ -f "$here/rivals/$collective.cu" ] && set -- "$@" --rival "$here/rivals/$collective.cu"
  "$coll" bench "$collective" -n "$ranks" --dtype "$dtype" -b "${FROM:-8}" -e "${TO:-1Gi}" -f "${FACTOR:-2}" \
    --against nccl --json "$out/$name.json" --csv "$out/$name.csv" --plot "$out/$name.svg" "$@" || bad=1
  if [ -f "$out/$name.json" ] && [ -f "$here/recorded/$name.json" ]; then
    python3 "$here/compare.py" "$out/$name.json" "$here/recorded/$name.json" || bad=1
  fi
}

for collective in $collectives; do
  [ "$collective" = barrier ] && continue # it has no sizes
  for dtype in ${TYPES:-f32 bf16}; do
    "$coll" list | grep "^$collective\." | grep -qw "$dtype" || continue
    case $collective in
    *rmsnorm*) # rows of some width, as many as the bytes are
      for width in ${WIDTHS:-4096 8192}; do
        TO=${TO:-8Mi} FROM=${FROM:-8Ki} measure "$collective-$width-$dtype" "$collective" "$dtype" --set "H=$width,eps=1e-6"
      done
      ;;
    *) measure "$collective-$dtype" "$collective" "$dtype" ;;
    esac
  done
done
[ $bad -eq 0 ] || echo "something is wrong, or slower than recorded" >&2
exit $bad
