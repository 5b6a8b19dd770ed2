"""Everything that the standard library offers and that can be emitted is proved for 2 to 8 and 72 ranks, as far as it is
offered for them, and survives adversarial schedules, of the kernel and of the IR; with --strict it is proved too, or
refused for what no fence can mend.

usage: standard_library.py COLL [COUNT-OF-SEEDS]
"""
import concurrent.futures
import json
import subprocess
import sys

RANKS = [2, 3, 4, 5, 6, 7, 8, 72]


def coll(tool, *arguments):
    return subprocess.run([tool, *arguments], capture_output=True, text=True, timeout=600)


def one(tool, member, seeds):
    what = [member["source"], "--algo", member["algorithm"]]
    ranks = [n for n in RANKS if member["minRanks"] <= n <= member["maxRanks"]] or [member["minRanks"]]
    findings = []

    def check(numbers, *more):
        ran = coll(tool, "check", *what, "-n", ",".join(map(str, numbers)), "--json", *more)
        try:
            return json.loads(ran.stdout)
        except ValueError:
            findings.append("%s: no verdict\n%s%s" % (member["member"], ran.stdout, ran.stderr))
            return []

    # With many ranks, and for fences, one type is enough: what differs by type differs with few.
    few = [n for n in ranks if n <= 8]
    verdicts = check(few) if few else []
    first = [f for v in verdicts[:1] for name in ("dtype", "op") if name in v for f in ("--" + name, v[name])]
    verdicts += [v for n in ranks if n > 8 for v in check([n], *first)]
    looked = {v["ranks"] for v in verdicts if v["verdict"] != "not checked"}
    if looked != set(ranks):
        findings.append("%s: verdicts for %s ranks, not for %s" % (member["member"], sorted(looked), ranks))
    for v in verdicts:
        if v["verdict"] != "proved":
            findings.append("%s, N = %d: %s" % (member["member"], v["ranks"], v))
    for v in check(few[:3], "--strict", *first):
        kinds = [d["kind"] for d in v["diagnostics"] if d["severity"] == "error"]
        if v["verdict"] == "proved" and v["assumptions"]:
            findings.append("%s --strict, N = %d, rests on %s" % (member["member"], v["ranks"], v["assumptions"]))
        elif v["verdict"] == "refuted" and "atomicity-not-declared" not in kinds:
            findings.append("%s --strict, N = %d: %s" % (member["member"], v["ranks"], v))
    some = str(max(member["minRanks"], 3)) if member["maxRanks"] >= 3 else str(member["maxRanks"])
    for more in [["--seeds", seeds], ["--seeds", seeds, "--on", "interpreter"]]:
        ran = coll(tool, "fuzz", *what, "-n", some, *more)
        if ran.returncode and "the interpreter knows nothing of" not in ran.stderr:
            findings.append("%s does not survive %s\n%s%s" % (member["member"], " ".join(more), ran.stdout, ran.stderr))
    return findings


def main(tool, seeds="6"):
    members = [m for m in json.loads(coll(tool, "list", "--json").stdout) if m["emitted"]]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        findings = [f for found in pool.map(lambda m: one(tool, m, seeds), members) for f in found]
    print("\n".join(findings))
    print("%d members, %d findings" % (len(members), len(findings)))
    return 1 if findings or not members else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
