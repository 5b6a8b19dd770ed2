"""Every kind of refutation with the fix that its message offers: applied, the program is proved.

usage: fixes.py COLL FOLDER
"""
import json
import pathlib
import subprocess
import sys

REDUCE = "use allreduce\nalgorithm a for allreduce on lsa(2..8) when bytes <= 64Ki {"
GATHER = "use allgather\nalgorithm a for allgather on lsa(2..8) {"
COPY = """collective c<T in any>(in x: T[N][M], out y: T[N][M]) inplace(y = x)
  ensures forall r in ranks: y[r] == r.x[me]
algorithm a for c on lsa(2..8) when bytes <= 64Ki {"""
SHIFT = """collective c<T in any>(in x: T[M], out y: T[M])
  ensures y == (me - 1).x
algorithm a for c on lsa(2..8) when bytes <= 64Ki {"""

# One after the other, rounded each time.
FOLD = """
  mailbox box[N] of T[M] sync ll
  forall p in ranks: x -> p.box[me]
  var s = box[0]
  for r in 1 .. N - 1: s = op(s, box[r])
  y = s"""

# kind, ranks, head, body, words of the help, what to replace by what, whether two events are named, arguments.
CASES = [
    ("wrong-result", 3, REDUCE, """
  mailbox box[N] of T[M] sync ll
  forall p in ranks: x -> p.box[me]
  y = reduce(max, r in ranks: box[r])""",
     "", [("reduce(max,", "reduce(op,")], False, []),
    ("wrong-result", 3, REDUCE, FOLD,
     "or in f32 with `as f32`", [("var s = box[0]", "var s = box[0] as f32"), ("op(s, box[r])", "op(s, box[r] as f32)"),
                                 ("y = s", "y = s as T")], False, ["--dtype", "bf16", "--op", "sum"]),
    ("wrong-result", 3, REDUCE, FOLD,
     "or declare `order fixed`", [("64Ki {", "64Ki order fixed {")], False, ["--dtype", "f16", "--op", "sum"]),
    ("read-without-arrival", 3, SHIFT, """
  mailbox box[1] of T[M] sync ll
  mailbox more[1] of T[M] sync ll
  x -> (me + 1).box[0]
  y = box[0]
  let again = more[0]""",
     "send to it", [("  y = box[0]\n", "  y = box[0]\n  y -> (me + 1).more[0]\n")], False, []),
    ("overwrite-before-read", 3, REDUCE, """
  mailbox box[N] of T[M] sync ll depth 1
  forall p in ranks: x -> p.box[me]
  y = reduce(op, r in ranks: box[r])""",
     "declare `box` with `depth 2`", [("depth 1", "depth 2")], True, []),
    ("overwrite-before-read", 3, REDUCE, """
  mailbox box[N] of T[M] sync barrier depth 1
  forall p in ranks: x -> p.box[me]
  y = reduce(op, r in ranks: box[r])""",
     "declare `box` with `depth 2`", [("depth 1", "depth 2")], True, []),
    ("overwrite-before-read", 3, """collective c<T in any>(in x: T[M], out y: T[M])
  ensures y == (0 as rank).x
algorithm a for c on lsa(2..8) when bytes <= 64Ki {""", """
  mailbox box[1] of T[M] sync ll reuse double_buffer
  if me == 0 { forall p in ranks: x -> p.box[0] }
  y = box[0]""",
     "declare `box` with `reuse ack`", [("reuse double_buffer", "reuse ack")], True, []),
    ("stale-sentinel", 4, REDUCE, """
  view X = split(x, N), Y = split(y, N)
  mailbox rs[N] of X[0] sync sentinel depth 1
  mailbox ag[N] of X[0] sync sentinel
  forall p in ranks: X[p] -> p.rs[me]
  let s = reduce(op, r in ranks: rs[r])
  forall p in ranks: s -> p.ag[me]
  forall r in ranks: Y[r] = ag[r]""",
     "declare `rs` with `depth 2`", [("depth 1", "depth 2")], True, ["--dtype", "f32"]),
    ("deadlock", 3, COPY, """
  mailbox box[N] of T[M] sync ll
  forall p in ranks {
    x[p] -> p.box[me]
    y[p] = box[p]
  }""",
     "use two `forall`, one that sends and one that receives",
     [("forall p in ranks {\n    x[p] -> p.box[me]\n    y[p] = box[p]\n  }",
       "forall p in ranks: x[p] -> p.box[me]\n  forall p in ranks: y[p] = box[p]")], True, []),
    ("inplace-hazard", 2, COPY, """
  mailbox box[N] of T[M] sync ll
  mailbox more[N] of T[M] sync ll
  forall p in ranks: x[p] -> p.box[me]
  forall r in ranks: y[r] = box[r]
  forall p in ranks: x[p] -> p.more[me]
  forall r in ranks: y[r] = more[r]""",
     "declare the algorithm `outofplace`", [("64Ki {", "64Ki outofplace {")], True, []),
    ("mailbox-too-small", 3, REDUCE, """
  view X = split(x, N)
  mailbox box[N] of X[0] sync ll
  forall p in ranks: x -> p.box[me]
  y = reduce(op, r in ranks: box[r])""",
     "declare the mailbox `of T[M]`", [("of X[0]", "of T[M]")], True, []),
    ("orphan-send", 3, SHIFT, """
  mailbox box[2] of T[M] sync ll
  x -> (me + 1).box[0]
  x -> (me + 1).box[1]
  y = box[0]""",
     "", [("  x -> (me + 1).box[1]\n", "")], True, []),
    ("no-spare-value", 3, COPY, """
  mailbox box[N] of T[M] sync sentinel
  forall p in ranks: x[p] -> p.box[me]
  forall r in ranks: y[r] = box[r]""",
     "use `ll`", [("sync sentinel", "sync ll")], False, []),
    ("mode-illegal-on-team", 3, REDUCE.replace("lsa", "rail").replace(" a for", " a<S in {ll128}> for"), """
  mailbox box[N] of T[M] sync S
  forall p in ranks: x -> p.box[me]
  y = reduce(op, r in ranks: box[r])""",
     "a team `lsa(…)`", [("rail(", "lsa(")], True, []),
    ("atomicity-not-declared", 3, REDUCE, """
  mailbox box[N] of T[M] sync ll128
  forall p in ranks: x -> p.box[me]
  y = reduce(op, r in ranks: box[r])""",
     "use `sync flag`", [("sync ll128", "sync flag")], False, ["--strict"]),
    ("missing-barrier", 3, REDUCE.replace("64Ki {", "64Ki outofplace {"), """
  window x
  y = reduce(op, r in ranks: r.x)""",
     "write `entry barrier` before it",
     [("  y = reduce(op, r in ranks: r.x)", "  entry barrier\n  y = reduce(op, r in ranks: r.x)\n  exit barrier")], True, []),
    ("wrong-result", 3, """collective c<T in {bf16}>(in x: T[M], in root: rank, out y: T[M])
  ensures me != root or y == reduce(sum, r in ranks: r.x)
algorithm a for c on lsa(2..8) when bytes <= 64Ki order any {""", """
  mailbox acc of T[M] sync counter
  x +> root.acc
  if me == root: y = acc
  barrier""",
     "declare `op in {sum}` behind its types and promise `reduce(op, …)`",
     [("<T in {bf16}>", "<T in {bf16}, op in {sum}>"), ("reduce(sum,", "reduce(op,")], False, []),
    ("mailbox-too-small", 3, """collective c<T in {f16}>(in x: T[2*M], out y: T[2*M])
  ensures y == (me + 1).x
algorithm a for c on lsa(2..8) when bytes <= 64Ki {""", """
  mailbox box of T[3*M] sync ll
  x -> (me - 1).box
  y = box""",
     "declare the mailbox `of T[2*M]`", [("of T[3*M]", "of T[2*M]")], True, []),
    ("missing-barrier", 3, GATHER, """
  window y sync flag
  entry barrier
  forall p in ranks: x -> p.y[me]""",
     "write `forall r in ranks: await y[r]` behind it",
     [("-> p.y[me]", "-> p.y[me]\n  forall r in ranks: await y[r]")], True, []),
    ("missing-barrier", 3, GATHER, """
  window y sync flag
  entry barrier
  y[me] = x
  for s in 0 .. N - 2 {
    y[me - s] -> (me + 1).y[me - s]
  }""",
     "let the owner `await` each place before it reads it, as in `await y[i]`",
     [("-> (me + 1).y[me - s]", "-> (me + 1).y[me - s]\n    await y[me - 1 - s]")], True, []),
    ("missing-barrier", 3, GATHER, """
  window y sync flag
  entry barrier
  forall p in ranks: x -> p.y[me]
  forall r in ranks: if r != me + 1: await y[r]""",
     "write `exit barrier` after it, or let rank 2 `await` it",
     [("await y[r]", "await y[r]\n  await y[me + 1]")], False, []),
    ("deadlock", 3, GATHER, """
  window y sync flag
  entry barrier
  forall r in ranks: await y[r]
  forall p in ranks: x -> p.y[me]""",
     "write the sends before the waits for them",
     [("  forall r in ranks: await y[r]\n  forall p in ranks: x -> p.y[me]",
       "  forall p in ranks: x -> p.y[me]\n  forall r in ranks: await y[r]")], True, []),
]


def check(tool, path, ranks, more):
    ran = subprocess.run([tool, "check", str(path), "-n", str(ranks), "--json", *more], capture_output=True, text=True,
                         timeout=120)
    return json.loads(ran.stdout), ran.stderr


def main(tool, folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    findings = []
    for number, (kind, ranks, head, body, words, edits, two, more) in enumerate(CASES):
        name = "%s-%d" % (kind, number)
        path = folder / (name + ".coll")
        text = "coll 1\n" + head + body + "\n}\n"
        path.write_text(text)
        verdicts, printed = check(tool, path, ranks, more)
        errors = [d for d in verdicts[0]["diagnostics"] if d["severity"] == "error"]
        kinds = [d["kind"] for d in errors]
        helps = " ".join(d["help"] for d in errors)
        places = [n for d in errors for n in d["notes"] if n["line"]]
        events = verdicts[0].get("events", [])
        ofMember = "member" in verdicts[0]  # else of the text itself, which has no members to check then
        if two and ofMember and errors and (len(events) != 2 or not all(e["line"] and e["name"] for e in events)):
            findings.append("%s: the events are %s" % (name, events))
        if not all(d["line"] for d in errors):
            findings.append("%s: an error without a line" % name)
        if kind not in kinds:
            findings.append("%s: said %s\n%s" % (name, kinds, printed))
        if words not in helps:
            findings.append("%s: the help is %r" % (name, helps))
        if two and not places:
            findings.append("%s: names one place only" % name)
        for old, new in edits:
            if old not in text:
                findings.append("%s: there is no %r" % (name, old))
            text = text.replace(old, new, 1)
        fixed = folder / (name + "-fixed.coll")
        fixed.write_text(text)
        verdicts, printed = check(tool, fixed, ranks, more)
        if not verdicts or verdicts[0]["verdict"] != "proved":
            findings.append("%s: not proved with its fix\n%s%s" % (name, verdicts, printed))
    print("\n".join(findings))
    print("%d cases, %d findings" % (len(CASES), len(findings)))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
