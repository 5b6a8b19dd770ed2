#!/usr/bin/env python3
"""compare.py NEW.json [RECORDED.json]: what moved between two reports of `coll bench --json`.

Without RECORDED, the one in recorded/ of the same collective, ranks, type and placement. Machines differ, so times are
scaled by the limits that each run measured (the empty node, one way, the link). A figure has moved if that difference
is more than the two runs' own spread, from the median to the minimum or to p99, and more than
2 %. Exit code: 0 if nothing got slower, 1 if something did or is wrong, 2 for input that cannot be compared.
"""
import glob
import json
import math
import os
import sys

LEAST = 0.02  # of a figure: what differs less does not matter
KEYS = ("collective", "ranks", "dtype", "op", "inplace", "mode")


def fail(text):
    sys.stderr.write("compare.py: error: %s\n" % text)
    sys.exit(2)


def read(path):
    try:
        with open(path) as file:
            report = json.load(file)
        for key in KEYS + ("rows", "floors"):
            report[key]
        for row in report["rows"]:
            for key in ("rival", "bytes", "median", "min", "p99", "limit"):
                row[key]
    except (OSError, ValueError, KeyError, TypeError) as error:
        fail("`%s` is no report of `coll bench`: %s" % (path, error))
    return report


def same_run(a, b):
    return all(a[key] == b[key] for key in KEYS) and a.get("extents", {}) == b.get("extents", {})


def recorded_for(report):
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "recorded")
    for path in sorted(glob.glob(os.path.join(folder, "*.json"))):
        other = read(path)
        if same_run(report, other):
            return path, other
    fail("nothing is recorded for " + describe(report))


def describe(report):
    extents = "".join(", %s = %d" % each for each in sorted(report.get("extents", {}).items()))
    return "%s%s, %s ranks, %s %s%s, %s" % (report["collective"], extents, report["ranks"], report["dtype"], report["op"],
                                           ", in place" if report["inplace"] else "", report["mode"])


def rows_of(report):
    return {(row["bytes"], row["rival"]): row for row in report["rows"]}


def spread(row):
    """Share of the median by which its replays differ."""
    if not row["median"] > 0:
        return 1.0
    return max(row["median"] - row["min"], min(row["p99"] - row["median"], row["median"])) / row["median"]


def is_bad(row):
    return bool(row.get("wrong")) or not row.get("verified", True) or not row.get("believable", True)


def change(new, old):
    """Share by which the new figure is larger, after scaling to the old run's limit."""
    scale = old["limit"] / new["limit"] if new["limit"] > 0 and old["limit"] > 0 else 1.0
    return new["median"] * scale / old["median"] - 1 if old["median"] > 0 else 0.0


def size_text(count):
    for unit in ("", "K", "M"):
        if count < 1024 or count % 1024:
            return "%d%s" % (count, unit)
        count //= 1024
    return "%dG" % count


def compare(new, old):
    """Prints what moved; whether anything is worse."""
    fresh, known = rows_of(new), rows_of(old)
    worse, moved, changes = False, [], {}
    for key in sorted(set(fresh) & set(known)):
        a, b = fresh[key], known[key]
        if is_bad(a):
            print("%8s  %-22s %s" % (size_text(key[0]), key[1], "WRONG" if a.get("wrong") else "not believable"))
            worse = True
            continue
        if is_bad(b):
            continue
        share = change(a, b)
        changes.setdefault(key[1], []).append(share)
        allowed = max(LEAST, spread(a) + spread(b))
        if abs(share) > allowed:
            moved.append((key, a, b, share, allowed))
            # What others' kernels do is no fault of ours.
            worse |= share > 0 and not key[1].startswith(("nccl", "hand-"))
    if moved:
        print("%8s  %-22s %9s %9s %9s %9s" % ("bytes", "rival", "recorded", "now", "scaled", "spread"))
    for (size, rival), a, b, share, allowed in moved:
        print("%8s  %-22s %9.3f %9.3f %+8.1f%% %8.1f%%  %s" % (size_text(size), rival, b["median"], a["median"],
                                                            100 * share, 100 * allowed,
                                                            "slower" if share > 0 else "faster"))
    if not moved:
        print("nothing moved beyond the spread")
    print("\nover all sizes that both have, scaled:")
    for rival, shares in changes.items():
        mean = math.exp(sum(math.log1p(max(share, -0.99)) for share in shares) / len(shares)) - 1
        print("  %-22s %+6.1f%%  (%d sizes)" % (rival, 100 * mean, len(shares)))
    for title, left in (("recorded only", set(known) - set(fresh)), ("new only", set(fresh) - set(known))):
        names = sorted({rival for _, rival in left})
        if names:
            print("%s: %d figures of %s" % (title, len(left), ", ".join(names)))
    return worse


def main():
    paths = sys.argv[1:]
    if len(paths) not in (1, 2) or paths[0] in ("-h", "--help"):
        sys.stderr.write(__doc__)
        sys.exit(2)
    new = read(paths[0])
    path, old = (paths[1], read(paths[1])) if len(paths) == 2 else recorded_for(new)
    if not same_run(new, old):
        fail("not comparable: %s; and %s" % (describe(new), describe(old)))
    print(describe(new))
    for title, report in (("recorded", old), ("now     ", new)):
        floors = report["floors"]
        print("%s  %s, %s, NCCL %s: empty node %.3f us, one way %.3f us, link %.1f GB/s" % (
            title, report.get("machine", "?"), report.get("date", "?"), report.get("nccl") or "none",
            floors["emptyNode"], floors["oneWay"], floors["linkGBs"]))
    print()
    sys.exit(1 if compare(new, old) else 0)


if __name__ == "__main__":
    main()
