#!/usr/bin/env python3
"""apply_fix.py COLL FILE OUT: writes FILE to OUT with the line that each `missing-barrier` error's fix names put in.

The fix is taken from the message: "write `exit barrier` after it" goes behind the line that the error points to.
"""
import re
import shutil
import subprocess
import sys

coll, source, out = sys.argv[1:]
shutil.copyfile(source, out)
for _ in range(4):
    done = subprocess.run([coll, "check", out, "-n", "2,3"], capture_output=True, text=True, timeout=60)
    error = re.search(r":(\d+):\d+: error: .*\[missing-barrier\]", done.stderr)
    if not error:
        break
    fix = re.search(r"help: write `(.*)` (before|after) it", done.stderr[error.end():])
    print("line %s: %s %s" % (error.group(1), fix.group(1), fix.group(2)))
    lines = open(out).read().split("\n")
    lines.insert(int(error.group(1)) - (fix.group(2) == "before"), "  " + fix.group(1))
    with open(out, "w") as file:
        file.write("\n".join(lines))
print(done.stdout + done.stderr, end="")
