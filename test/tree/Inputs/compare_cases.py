"""compare_cases.py ROOT FOLDER: makes variants of a recorded report and compares them with it."""
import json
import subprocess
import sys

root, folder = sys.argv[1:]
recorded = root + "/test/perf/recorded/h200x2-allreduce-bf16.json"


def variant(name, change):
    with open(recorded) as file:
        report = json.load(file)
    change(report)
    path = "%s/%s.json" % (folder, name)
    with open(path, "w") as file:
        json.dump(report, file)
    done = subprocess.run([sys.executable, root + "/test/perf/compare.py", path, recorded], capture_output=True,
                          text=True)
    print("%s: exit %d" % (name, done.returncode))
    for line in (done.stdout + done.stderr).splitlines():
        if "slower" in line or "faster" in line or "nothing moved" in line or "WRONG" in line or "error" in line \
                or "only" in line or "believable" in line:
            print("%s: %s" % (name, " ".join(line.split())))


def scale(report, factor, rivals, size=None, keys=("median", "min", "p99")):
    for row in report["rows"]:
        if (size is None or row["bytes"] == size) and (rivals is None or row["rival"] in rivals):
            for key in keys:
                row[key] *= factor


def slower_machine(report):
    for key in ("emptyNode", "oneWay"):
        report["floors"][key] *= 1.1
    scale(report, 1.1, None, keys=("median", "min", "p99", "limit"))


def wrong(report):
    report["rows"][0]["wrong"] = 3


def below_floor(report):
    report["rows"][0]["believable"] = False


variant("same", lambda report: None)
variant("slower-machine", slower_machine)
variant("noise", lambda report: scale(report, 1.015, None))
variant("slower", lambda report: scale(report, 1.3, ["oneshot.ll"], 1024))
variant("faster", lambda report: scale(report, 0.7, ["oneshot.ll"], 1024))
variant("their-nccl", lambda report: scale(report, 1.3, ["nccl"], 1024))
variant("wrong", wrong)
variant("below-floor", below_floor)
variant("fewer", lambda report: report.update(rows=report["rows"][8:]))
variant("other-ranks", lambda report: report.update(ranks=4))
variant("other-width", lambda report: report.update(extents={"H": 4096}))
variant("no-report", lambda report: report.pop("rows"))
