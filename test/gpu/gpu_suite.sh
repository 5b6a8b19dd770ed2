#!/bin/sh
# Runs every member of a collective that the compiler can emit on the GPUs present: both fabrics, several numbers of
# ranks, types and operators, eager and from replayed graphs, in place, misaligned. Prints a line for each run and a
# table at the end; exits 1 if any result was wrong or any run failed.
#
#   test/gpu/gpu_suite.sh [quick|full] [COLLECTIVE...]      COLL_BIN names the tool; default build/bin/coll
#
# quick (default): 2 and 8 ranks, 200 launches. full: 2, 3, 4 and 8 ranks, 1,000 launches, every type.
cd "$(dirname "$0")/../.." || exit 2
coll=${COLL_BIN:-build/bin/coll}
mode=quick
case "$1" in quick | full) mode=$1; shift ;; esac
collectives=${*:-allreduce}
export NCCL_NVLS_ENABLE="${NCCL_NVLS_ENABLE:-0}" # nothing here uses multicast

launches=200 numbers="2 8" types="f32 bf16"
[ "$mode" = full ] && launches=1000 numbers="2 3 4 8" types="f32 bf16 f16 i32 f64 i64 u64 u32 u8 i8 fp8e4m3 fp8e5m2"

log=$(mktemp) table=$(mktemp)
trap 'rm -f "$log" "$table"' EXIT
"$coll" info
started=$(date +%s)
failed=0

# Waits that never end, the ends of epochs; beside the tool in a build tree.
if [ -x "$(dirname "$coll")/gpu_test" ]; then
  if timeout 300 "$(dirname "$coll")/gpu_test" --gtest_brief=1 >"$log" 2>&1; then verdict=ok; else verdict=FAILED failed=1; fi
  [ $verdict = ok ] || cat "$log"
  printf '%-46s %6s %6s  %s\n' "aborts, timeouts, epochs" "" "" "$verdict" | tee -a "$table"
fi

# once LABEL ARGUMENT...: one run of all members, and its lines in the table.
once() {
  label=$1
  shift
  timeout 120 "$coll" run "$@" --on gpu --launches $launches >"$log" 2>&1
  rc=$?
  passed=$(grep -c '^passed' "$log") wrong=$(grep -c '^WRONG' "$log")
  verdict=ok
  [ $rc -ne 0 ] && verdict="FAILED ($rc)" && failed=1
  printf '%-46s %6s %6s  %s\n' "$label" "$passed" "$wrong" "$verdict" | tee -a "$table"
  if [ $rc -ne 0 ]; then
    grep -v '^passed' "$log" | head -20
    # A run that hung has spent enough of the machine's time.
    [ $rc -eq 124 ] && echo "timed out" && finish
  fi
}

finish() {
  echo
  echo "$mode suite: $(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | sort | uniq -c | tr -s ' ')"
  printf '%-46s %6s %6s\n' run passed wrong
  cat "$table"
  echo "in $(($(date +%s) - started)) s"
  exit $failed
}

for collective in $collectives; do
  for n in $numbers; do
    for type in $types; do
      once "$collective n=$n $type" "$collective" -n "$n" --dtype "$type"
      once "$collective n=$n $type graph" "$collective" -n "$n" --dtype "$type" --graph
    done
    once "$collective n=$n f32 in place" "$collective" -n "$n" --dtype f32 --inplace
    once "$collective n=$n bf16 in place, offset 3, graph" "$collective" -n "$n" --dtype bf16 --inplace --offset 3 --graph
    "$coll" list "$collective" 2>/dev/null | grep -q ' sum' || continue # no operator
    for op in max prod avg; do once "$collective n=$n f32 $op" "$collective" -n "$n" --dtype f32 --op $op; done
  done
  # With a GPU for each rank the fabric is nccl; the other one must do as well.
  export COLL_FABRIC=local
  once "$collective n=2 f32 local fabric" "$collective" -n 2 --dtype f32
  unset COLL_FABRIC
done
finish
