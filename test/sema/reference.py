"""Compiles every example of the language reference.

usage: reference.py README.md COLL FOLDER

A block fenced with ```coll is a file if it begins with `coll 1`; a list of declarations if it begins with one; else the
body of an algorithm for the contract in the block that <!-- contract --> stands before. After <!-- error: KIND --> the
block must fail, with that kind of error first.
"""
import os
import re
import subprocess
import sys

DECLARATIONS = ("use", "collective", "algorithm", "workspace")


def blocks(text):
    """(line, marker, block) of each example; the marker is the comment directly before it, or empty."""
    pattern = r"(?:<!-- *(.*?) *-->\n)?```coll\n(.*?)```"
    for match in re.finditer(pattern, text, re.S):
        yield text.count("\n", 0, match.start(2)) + 1, match[1] or "", match[2]


def whole_file(block, contract):
    words = re.sub(r"//.*", "", block).split()
    if words[:1] == ["coll"]:
        return block
    if words[0] in DECLARATIONS:
        return "coll 1\n" + ("" if "use " in block else "use allreduce\n") + block
    head = "algorithm example for example on lsa(2..8) when bytes <= 1Mi order any {\n"
    return "coll 1\n" + contract + head + block + "}\n"


def complaint(marker, result):
    """What is wrong with the outcome of a block; empty if it is as the marker says."""
    errors = re.findall(r" error: .*\[([a-z-]+)\]$", result.stderr + result.stdout, re.M)
    expected = marker[len("error:"):].strip() if marker.startswith("error:") else None
    if expected is None:
        return "" if result.returncode == 0 else "does not compile"
    if result.returncode == 0:
        return "compiles, but should fail with " + expected
    return "" if errors[:1] == [expected] else "fails with %s instead of %s" % (errors, expected)


def outcome(coll, path, block):
    """What the compiler says of an example: it is proved for two ranks where there is an algorithm."""
    whole = re.search(r"^(collective|use|workspace)\b", block, re.M) and not re.search(r"^algorithm\b", block, re.M)
    verb = ["emit", path, "--stage", "ast"] if whole else ["check", path, "-n", "2"]
    return subprocess.run([coll] + verb, capture_output=True, text=True)


def main(readme, coll, folder):
    os.makedirs(folder, exist_ok=True)
    examples = list(blocks(open(readme, encoding="utf-8").read()))
    contract = next(block for _, marker, block in examples if marker == "contract")
    failures = 0
    for line, marker, block in examples:
        path = os.path.join(folder, "line-%d.coll" % line)
        with open(path, "w", encoding="utf-8") as out:
            out.write(whole_file(block, contract))
        result = outcome(coll, path, block)
        problem = complaint(marker, result)
        if problem:
            failures += 1
            print("%s:%d: this example %s\n%s" % (readme, line, problem, result.stderr))
    print("%d examples, %d failures" % (len(examples), failures))
    return 1 if failures or not examples else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
