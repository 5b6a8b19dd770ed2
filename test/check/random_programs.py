"""Random small algorithms, whose proofs and counterexamples must agree with what happens.

Each is checked, and then run on the CPU against adversarial schedules, from the emitted text and from the IR: what is
proved must survive, and what is refuted must go wrong where the emulator can show it (SHOWN). With `right` none has a
mistake and no depth is declared: then all that can be lowered must be proved, and nothing is run.

usage: random_programs.py COLL FOLDER [COUNT [FIRST-SEED [right]]]
"""
import json
import random
import sys

from random_cases import coll, run

# Kinds whose consequence is a hang or a wrong element. The others are about schedules that one run of the loops, in
# ascending order, does not have, or about text that is never lowered.
SHOWN = {"overwrite-before-read", "read-without-arrival", "stale-sentinel", "wrong-result", "deadlock"}
SURVIVE_SEEDS = 8
FIND_SEEDS = 150  # the search ends at the first

HEAD = "algorithm a for c on lsa(2..8) when bytes <= 64Ki "
STREAMED_HEAD = "algorithm a for c on lsa(2..8) "
CHUNK = "4Ki"  # of which the sizes that are run have up to some thirty


class Text:
    """One file: a contract `c` and an algorithm `a` for it."""

    def __init__(self, rng):
        self.rng = rng
        self.right = rng.right
        self.streamed = rng.streamed  # all of it in a pipeline
        self.boxes = []
        self.body = []
        self.mode = None

    def box(self, name, slots, of, modes):
        if self.streamed:
            modes = ["ll", "flag"]
        # Mostly one mode for all mailboxes: not all mixtures are lowered.
        if self.mode is None or self.mode not in modes or self.rng.random() < 0.05:
            self.mode = self.rng.choice(modes)
        mode = self.mode
        depth = self.rng.choice(["", "", " depth 1", " depth 1", " depth 2", " depth 3"])
        if self.right:
            depth = ""
        reuse = ""
        if self.streamed:
            reuse = self.rng.choice(["", "", " reuse ack"] if self.right else ["", " reuse ack", " reuse double_buffer"])
        self.boxes.append("  mailbox %s[%s] of %s sync %s%s%s" % (name, slots, of, mode, reuse, depth))

    def write(self, contract, before=(), head=HEAD, of="x"):
        """`of`: what the chunks are of, where it is streamed."""
        if self.streamed:
            head = STREAMED_HEAD
            self.body = ["pipeline c in 0 .. chunks(%s, %s) {" % (of, CHUNK), *("  " + s for s in self.body), "}"]
        return "\n".join(["coll 1", contract, head + "{", *before, *self.boxes, *("  " + s for s in self.body), "}", ""])


class Chance(random.Random):
    """Mistakes have a probability of their own, which is 0 where none is wanted."""

    def __init__(self, seed, right):
        super().__init__(seed)
        self.right = right
        self.streamed = False

    def mistake(self, probability):
        return self.random() < probability and not self.right


REDUCTION = """collective c<T in numeric, op in {sum}>(in x: T[M], out y: T[M])
  ensures y == reduce(op, r in ranks: r.x)"""
ROWS = ["ll", "flag", "barrier"]  # what only copies has no `sentinel`
ALL = ["ll", "flag", "barrier", "sentinel"]


def copies(*promises):
    """A contract whose outputs, y and perhaps z, are vectors of some rank. All that is received shows in one: what is read
    and left alone may be overwritten without anyone seeing it."""
    outputs = "".join(", out %s: T[M]" % p[0] for p in promises)
    return "collective c<T in any>(in x: T[M]%s)" % outputs + "".join("\n  ensures " + p for p in promises)


def one_shot(rng):
    t = Text(rng)
    t.box("box", "N", "T[M]", ALL)
    t.body = ["forall p in ranks: x -> p.box[me]", "y = reduce(op, r in ranks: box[r])"]
    if rng.random() < 0.3 and not rng.streamed:
        t.body.append("barrier")
    return t.write(REDUCTION)


def two_shot(rng):
    t = Text(rng)
    t.box("rs", "N", "X[0]", ALL)
    t.box("ag", "N", "X[0]", ALL)
    shifted = rng.mistake(0.1)  # the mistake of a wrong piece
    t.body = ["forall p in ranks: X[p] -> p.rs[me]", "let s = reduce(op, r in ranks: rs[r])",
              "forall p in ranks: s -> p.ag[me]", "forall r in ranks: Y[r%s] = ag[r]" % (" + 1" if shifted else "")]
    return t.write(REDUCTION, ["  view X = split(x, N), Y = split(y, N)"], of="X[0]")


def rows(rng):
    """All-gather or all-to-all."""
    t = Text(rng)
    t.box("box", "N", "T[M]", ROWS)
    gather = rng.random() < 0.5
    contract = """collective c<T in any>(in x: T[%sM], out y: T[N][M])
  ensures forall r in ranks: y[r] == r.x%s""" % (("", "") if gather else ("N][", "[me]"))
    x = "x" if gather else "x[p]"
    wrong = rng.mistake(0.15)
    slot = "r + 1" if wrong else "r"
    t.body = ["forall p in ranks: %s -> p.box[me]" % x, "forall r in ranks: y[r] = box[%s]" % slot]
    return t.write(contract, of="x" if gather else "x[0]")


def hops(rng):
    """A vector goes on by some distance, several times; some ranks of the ring never hear of each other in a launch."""
    t = Text(rng)
    steps = rng.randint(1, 3)
    total, value = 0, "x"
    for i in range(steps):
        distance = rng.randint(1, 3)
        total += distance
        t.box("b%d" % i, "1", "T[M]", ROWS)
        send, wait = "%s -> (me + %d).b%d[0]" % (value, distance, i), "let v%d = b%d[0]" % (i, i)
        t.body += [send, wait]
        value = "v%d" % i
    t.body.append("y = " + value)
    contract = copies("y == (me - %d).x" % total)
    if rng.random() < 0.4:  # what comes back is a credit, and shows whether it is the right one
        back = rng.randint(1, 3)
        t.box("back", "1", "T[M]", ROWS)
        t.body += ["%s -> (me - %d).back[0]" % (value, back), "z = back[0]"]
        contract = copies("y == (me - %d).x" % total, "z == (me - %d + %d).x" % (total, back))
    return t.write(contract)


def neighbours(rng):
    """Exchanges at two distances of which one is used."""
    t = Text(rng)
    a, b = rng.randint(1, 2), rng.randint(1, 3)
    t.box("box", "2", "T[M]", ROWS)
    first = ["x -> (me + %d).box[0]" % a, "x -> (me - %d).box[1]" % b]
    last = ["y = box[0]", "z = box[1]"]
    t.body = first + last
    if rng.random() < 0.15:  # the second waits for the first
        t.body = [first[0], "let early = box[0]", "early -> (me + 1).two[0]", "y = two[0]", "x -> (me - %d).box[1]" % b,
                  "z = box[1]"]
        t.box("two", "1", "T[M]", ROWS)
        a += 1
    return t.write(copies("y == (me - %d).x" % a, "z == (me + %d).x" % b))


def one_by_one(rng):
    """Rank 0 or the others send first, the rest only after they have received; by mistake, never."""
    t = Text(rng)
    t.box("box", "1", "T[M]", ["ll"])
    send, distance = "x -> (me + %d).box[0]", 1 if rng.right else rng.choice([1, 1, 2])
    first, then = rng.choice([("==", "!="), ("!=", "==")])
    t.body = ["if me %s 0 { %s }" % (first, send % distance), "y = box[0]"]
    if not rng.mistake(0.5):
        t.body.append("if me %s 0 { %s }" % (then, send % distance))
    return t.write("collective c<T in any>(in x: T[M], out y: T[M])\n  ensures y == (me - %d).x" % distance)


def rooted(rng):
    """From a rank that may be another in every launch; what the others send back is a credit, or is forgotten."""
    t = Text(rng)
    t.box("box", "N", "T[M]", ROWS)
    seen = False
    condition = rng.choice(["me == root", "me != root + 1", "N > 1 and me == root"])
    t.body = ["if %s { forall p in ranks: x -> p.box[me] }" % condition, "y = box[root]"]
    if condition == "me != root + 1":
        t.body[0] = "forall p in ranks: x -> p.box[me]"
        seen = rng.random() < 0.5 or rng.right
        t.body += ["forall r in ranks: z[r] = box[r]"] if seen else []
    contract = "collective c<T in any>(in x: T[M], in root: rank, out y: T[M]%s)\n  ensures y == root.x%s" % (
        (", out z: T[N][M]", "\n  ensures forall r in ranks: z[r] == r.x") if seen else ("", ""))
    if rng.mistake(0.5):
        t.body[-1] = t.body[-1].replace("box[root]", "box[0]")
    elif (rng.right or rng.random() < 0.5) and not rng.streamed:
        t.body.append("barrier")
    return t.write(contract)


def alternatives(rng):
    """Ranks that do different things: even ones hand a vector to the next, odd ones hand theirs back."""
    t = Text(rng)
    t.box("there", "1", "T[M]", ["ll"])
    t.box("back", "1", "T[M]", ["ll"])
    t.body = ["if me < N / 2 { x -> (me + N / 2).there[0] } else { x -> (me - N / 2).back[0] }",
              "if me < N / 2 { y = back[0] } else { y = there[0] }"]
    if rng.mistake(0.3):
        t.body[1] = "if me < N / 2 { y = back[0] } else { y = x }"
    contract = "collective c<T in any>(in x: T[M], out y: T[M])\n  ensures y == (me ^ 1).x"
    if rng.random() < 0.7:  # the partner is the neighbour
        t.body = ["x -> (me ^ 1).there[0]", "y = there[0]"]
        t.boxes.pop()
        if rng.mistake(0.3):
            t.body[0] = "if me != 0 { x -> (me ^ 1).there[0] }"
    else:
        contract = contract.replace("me ^ 1", "me + N / 2")
    return t.write(contract, head=HEAD.replace("when ", "when pow2(N) and "))


def ring(rng):
    """All-gather round a ring, step by step."""
    t = Text(rng)
    t.box("box", "N", "T[M]", ["ll"])
    t.body = ["var v = x", "y[me] = x", "for s in 1 .. N - 1 {", "  v -> (me + 1).box[s]", "  v = box[s]",
              "  y[me - s] = v", "}"]
    return t.write("collective c<T in any>(in x: T[M], out y: T[N][M])\n  ensures forall r in ranks: y[r] == r.x")


FAMILIES = [one_shot, one_shot, two_shot, two_shot, rows, rows, hops, hops, hops, neighbours, one_by_one, ring, rooted,
            alternatives]


STREAMED = [one_shot, two_shot, rows, hops, neighbours, rooted]


def one(tool, folder, seed, right):
    """What became of a program, and what is wrong with that, if anything is."""
    rng = Chance(seed, right)
    family = rng.choice(FAMILIES)
    rng.streamed = family in STREAMED and rng.random() < 0.35
    text = family(rng)
    ranks = str(rng.choice([2, 4] if family is alternatives else [2, 3, 3, 4]))
    path = folder / ("random-%d.coll" % seed)
    path.write_text(text)
    name = "%s (%s, N = %s)" % (path, ("streamed " if rng.streamed else "") + family.__name__, ranks)
    checked = coll(tool, "check", str(path), "-n", ranks, "--json")
    try:
        verdict = json.loads(checked.stdout)[0]
    except (ValueError, IndexError):
        return "broken", "%s: %s" % (name, checked.stderr or checked.stdout)
    state = verdict["verdict"]
    errors = [d["kind"] for d in verdict["diagnostics"] if d["severity"] == "error"]
    if "member" not in verdict:
        if set(errors) <= {"orphan-send", "read-without-arrival"}:
            return "wrong as it stands", None
        return "broken", "%s: %s" % (name, verdict)
    if state not in ("proved", "refuted"):
        return "left out", None
    if right:
        return state, None if state == "proved" else "%s: refuted, and is right\n%s" % (name, verdict)
    fuzz = ["fuzz", str(path), "-n", ranks]
    if rng.streamed:
        fuzz += ["--most", "3000"]  # some chunks
    if state == "proved":
        ran = coll(tool, *fuzz, "--seeds", str(SURVIVE_SEEDS))
        if ran.returncode:
            return state, "%s: proved, but does not survive\n%s%s" % (name, ran.stdout, ran.stderr)
        ran = coll(tool, *fuzz, "--seeds", str(SURVIVE_SEEDS), "--on", "interpreter")
        if ran.returncode and "the interpreter knows nothing of" not in ran.stderr:
            return state, "%s: proved, but goes wrong when interpreted\n%s%s" % (name, ran.stdout, ran.stderr)
        return state, None
    kind = errors[0] if errors else "?"
    # Three copies are overtaken where a launch of one small chunk follows one of a whole and a small one, and then comes
    # a whole one again: no seed draws such sizes.
    rare = rng.streamed and "depth 3" in text
    if kind not in SHOWN or rare:
        return "refuted, not run", None
    ran = coll(tool, *fuzz, "--seeds", str(FIND_SEEDS), "--unchecked")
    if rng.streamed and ran.returncode == 0:  # whole chunks and then a small one, which most threads have no part of
        of = "--count", str(1030 * (int(ranks) if family is two_shot else 1))
        ran = coll(tool, "fuzz", str(path), "-n", ranks, *of, "--seeds", str(FIND_SEEDS), "--unchecked")
    if ran.returncode != 1 or "FAILED" not in ran.stdout:
        return kind, "%s: refuted (%s), but %d seeds do not show it\n%s%s" % (name, kind, FIND_SEEDS, ran.stdout,
                                                                          ran.stderr)
    ran = coll(tool, *fuzz, "--seeds", str(10 * FIND_SEEDS), "--unchecked", "--on", "interpreter")
    if "the interpreter knows nothing of" in ran.stderr:
        return kind, None
    if ran.returncode != 1 or "FAILED" not in ran.stdout:
        return kind, "%s: refuted (%s), and right when interpreted\n%s%s" % (name, kind, ran.stdout, ran.stderr)
    return kind, None


def main(tool, folder, count="50", first="1", right=""):
    return run(lambda folder, seed: one(tool, folder, seed, right == "right"), folder, count, first)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
