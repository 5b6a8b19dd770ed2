"""Finds kinds of diagnostics that no test expects.

usage: every-kind.py Diagnostics.def TEST-FOLDER
"""
import pathlib
import re
import sys


def main(definitions, folder):
    kinds = re.findall(r'^COLL_DIAGNOSTIC\(\w+, "([a-z-]+)"\)', pathlib.Path(definitions).read_text(), re.M)
    tests = [path for pattern in ("*.coll", "*.test", "*.cpp", "*.py") for path in pathlib.Path(folder).rglob(pattern)]
    text = "\n".join(path.read_text(encoding="utf-8", errors="replace") for path in tests)
    missing = [kind for kind in kinds if "[%s]" % kind not in text and '"%s"' % kind not in text]
    for kind in missing:
        print("no test expects a diagnostic of kind `%s`" % kind)
    print("%d kinds, %d without a test" % (len(kinds), len(missing)))
    return 1 if missing or not kinds else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
