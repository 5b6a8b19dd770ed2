"""Checks that bodies of an algorithm fail as a test says.

usage: misplaced.py COLL TEST FOLDER

A line `ERROR: BODY | MESSAGE` of the test is a body, and the message of its first error, which comes with a help.
"""
import os
import subprocess
import sys

CONTRACT = """coll 1
collective c<T in {f32}, op in {sum}>(in x: T[M], in t: T[N][M], in g: T[H], in n: u32[N], in eps: f32,
    inout y: T[M], inout u: T[N][M], inout d: T[N][R][H])
algorithm a for c on lsa(2..8) when bytes <= 64Ki {
"""


def main(coll, test, folder):
    os.makedirs(folder, exist_ok=True)
    failures = checked = 0
    for line in open(test, encoding="utf-8"):
        if not line.startswith("ERROR: "):
            continue
        body, message = line[len("ERROR: "):].strip().split(" | ")
        path = os.path.join(folder, "body.coll")
        with open(path, "w", encoding="utf-8") as out:
            out.write(CONTRACT + body + "\n}\n")
        said = subprocess.run([coll, "check", path, "-n", "3"], capture_output=True, text=True).stderr
        first = next((text.split(" error: ")[1] for text in said.splitlines() if " error: " in text), "nothing")
        checked += 1
        if first != message or "\nhelp: " not in said:
            failures += 1
            print("%s\n  says: %s\n  not:  %s" % (body, first, message))
    return 1 if failures or not checked else 0


sys.exit(main(*sys.argv[1:]))
