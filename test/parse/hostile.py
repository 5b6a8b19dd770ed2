"""Files that no person writes: each gives one error, soon, and the compiler stays up.

usage: hostile.py COLL FOLDER
"""
import os
import subprocess
import sys

HEAD = b"coll 1\nalgorithm a for b on lsa(2) {\n"
MIB = 1 << 20

# name: text, the one message expected
FILES = {
    "empty": (b"", "the file does not begin with the version of the language [version]"),
    "nul": (b"coll 1\na\0b", "the file holds a NUL byte; is it a text file? [input]"),
    "latin1": (b"coll 1\n// gr\xf6\xdfer\n", "the file is not valid UTF-8 [input]"),
    "mark": (b"\xef\xbb\xbfcoll 1\n", "the file begins with a byte order mark [input]"),
    "control": (b"coll 1\n\x1b[31m", "the file holds a control character [input]"),
    "ten-megabytes": (b"@" * 10_000_000, "the file has 10000000 bytes; the limit is 1048576 (1 MiB) [input]"),
    "garbage": (b"@" * MIB, "unexpected character `@` [syntax]"),
    "words": (b"coll 1\n" + b"a " * 500_000,
              "expected `use`, `collective`, `algorithm` or `workspace`, found `a` [syntax]"),
    "brackets": (HEAD + b"x = " + b"(" * 100_000, "brackets are nested more than 200 deep [input]"),
    "minuses": (HEAD + b"x = " + b"-" * 100_000 + b"1 }",
                "an expression or block is nested too deeply: more than 800 levels [input]"),
    "sum": (HEAD + b"x = a" + b" + a" * 100_000 + b" }",
            "an expression or block is nested too deeply: more than 800 levels [input]"),
    "differences": (HEAD + b"x = a" + b" -a" * 200_000 + b" }",
                    "an expression or block is nested too deeply: more than 800 levels [input]"),
    "members": (HEAD + b"x = a" + b".a" * 100_000 + b" }",
                "an expression or block is nested too deeply: more than 800 levels [input]"),
    "conditions": (HEAD + b"if a: " * 100_000,
                   "an expression or block is nested too deeply: more than 800 levels [input]"),
    "alternatives": (HEAD + b"if a {} " + b"else if a {} " * 40_000 + b"}",
                     "an expression or block is nested too deeply: more than 800 levels [input]"),
    "calls": (HEAD + b"x = a\n" + b"(a)\n" * 200_000 + b"}",
              "expected `=`, `->` or `+>` in a statement, found `(` [syntax]"),
    "digits": (b"coll 1\nalgorithm a for b on lsa(" + b"9" * 500_000 + b") {}",
               "this number does not fit 63 bits; the largest is 9223372036854775807 [literal-overflow]"),
}


def main(coll, folder):
    os.makedirs(folder, exist_ok=True)
    failures = 0
    for name, (text, message) in FILES.items():
        path = os.path.join(folder, name + ".coll")
        with open(path, "wb") as out:
            out.write(text)
        result = subprocess.run([coll, "emit", path, "--stage", "ast"], capture_output=True, timeout=60)
        said = (result.stdout + result.stderr).decode()
        good = result.returncode == 2 and said.count("error: ") == 1 and "error: " + message in said
        if not good or len(said) > 2000:
            failures += 1
            print("%s: exit code %d, expected `%s`, got\n%s" % (name, result.returncode, message, said[:2000]))
    print("%d files, %d failures" % (len(FILES), failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
