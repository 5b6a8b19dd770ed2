"""Fails and prints each line of device code, generated or written, that has a construct which no kernel may have."""
import glob
import os
import re
import sys

FORBIDDEN = re.compile(r"ld\.global\.nc|__ldg\b|const\b[^;{()]*__restrict__|#\s*include\s*<|<cuda/|\bmembar\b")

root = sys.argv[1]
found = []
texts = glob.glob(root + "/runtime/device/coll/*.h") + glob.glob(root + "/test/golden/*.cu")
assert len(texts) > 5, "the device headers have moved"
for name in texts:
    with open(name) as text:
        for number, line in enumerate(text, 1):
            if FORBIDDEN.search(line.split("//")[0]):
                found.append("%s:%d: %s" % (os.path.relpath(name, root), number, line.rstrip()))
if found:
    sys.exit("\n".join(found))
