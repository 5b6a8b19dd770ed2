"""Says which kernels and algorithms are longer than a page: sizes.py ROOT [KERNEL] [ALGORITHM] with the most lines of
one-shot all-reduce; two-shot may take half as many again. Comments and empty lines count."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
kernel, algorithm = int(sys.argv[2]), int(sys.argv[3])
found = []


def check(name, lines, most):
    found.append(name)
    if lines > most:
        print("%s has %d lines, and may have %d" % (name, lines, most))


for file in sorted((root / "test/golden").glob("allreduce.*.cu")):
    name = file.name.split(".")[1]
    if name in ("oneshot", "twoshot"):
        check(file.name, file.read_text().count("\n"), kernel if name == "oneshot" else kernel * 3 // 2)

text = (root / "stdlib/allreduce.coll").read_text()
for match in re.finditer(r"^algorithm (oneshot|twoshot)\b.*?^}", text, re.M | re.S):
    most = algorithm if match[1] == "oneshot" else algorithm * 3 // 2
    check("algorithm " + match[1], match[0].count("\n") + 1, most)

if len([n for n in found if n.startswith("algorithm")]) != 2 or len(found) < 20:
    print("found too little: " + ", ".join(found))
