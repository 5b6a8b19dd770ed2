"""write_garbage.py PREFIX: writes files that are no Coll programs, each wrong in a way of its own."""
import random
import sys

prefix = sys.argv[1]
random.seed(1)
START = b"coll 1\ncollective c<T in numeric>(in x: T[M], out y: T[M])\n  ensures y == "


def write(name, content):
    with open("%s.%s.coll" % (prefix, name), "wb") as file:
        file.write(content)


write("empty", b"")
write("latin1", b"coll 1\n// caf\xe9\n")
write("zero", b"coll 1\n\0\0\0\n")
write("noise", random.randbytes(10 << 20))
write("bytes", bytes(random.choices(range(128, 256), k=1 << 19)))
write("word", b"x" * (10 << 20))
write("ascii", bytes(random.choices(range(33, 127), k=10 << 20)))
write("parentheses", START + b"(" * 200000 + b"x" + b")" * 200000 + b"\n")
write("unary", START + b"-" * 200000 + b"x\n")
write("braces", b"coll 1\nalgorithm a for c on lsa(2..8) {" + b"if N == 2 {" * 200000 + b"}" * 200000 + b"}\n")
