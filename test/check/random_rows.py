"""Random small programs by rows, each of which is refused in the user's terms or is right.

Numbers of rows and of groups, quant, columns, windows, variables and mail meet in any combination. What is proved compiles
to PTX, where there is NVRTC, and has the promised results on emulated ranks under adversarial schedules; what is not has an error of a kind
that says what is wrong with the text. None has a mistake of order, so none is to be refuted.

usage: random_rows.py COLL FOLDER [COUNT [FIRST-SEED [ptx]]]
"""
import json
import random
import sys

from random_cases import coll, run

# What a text without a mistake of order may still be refused for.
REFUSALS = {"misplaced", "type-mismatch", "wrong-arguments", "unbounded"}
GROUP = 128


class Rows:
    """One file: a contract `c`, whose promises follow from how its outputs are made, and an algorithm `a` for it."""

    def __init__(self, rng):
        self.rng = rng
        self.inputs = {"x": "T[R][H]"}
        self.outputs, self.promises, self.head, self.body, self.opened = {}, [], [], [], []
        self.names = 0
        self.mode = rng.choice(["ll", "ll128", "sentinel", "flag", "barrier"])
        self.column("sx")

    def name(self, stem):
        self.names += 1
        return "%s%d" % (stem, self.names)

    def column(self, name):
        self.inputs[name] = "f32[R][1]"

    def number(self):
        """A number for each row, as the algorithm and as the contract has it; `%s` stands before an input."""
        rng = self.rng
        choice = rng.randrange(8)
        if choice < 2:
            return "sx", "%ssx"
        if choice == 2:
            return "rowmax(x as f32)", "rowmax(%sx as f32)"
        if choice == 3:
            return "rowsum(x as f32 * x as f32)", "rowsum(%sx as f32 * %sx as f32)"
        if choice == 4:
            return "max(sx, rowmax(x as f32))", "max(%ssx, rowmax(%sx as f32))"
        if choice == 5:
            return "sx * 2.0", "%ssx * 2.0"
        if choice == 6:
            return "quant(x as f32, i8, per_row).scale", "quant(%sx as f32, i8, per_row).scale"
        return "sx + rowmean(x as f32)", "%ssx + rowmean(%sx as f32)"

    def named(self, value):
        """A value by a `let` or `var`, or as it is."""
        how = self.rng.randrange(4)
        if how < 2:
            return value
        name = self.name("v")
        self.body.append("%s %s = %s" % ("let" if how == 2 else "var", name, value))
        return name

    def output(self, kind, text):
        name = self.name("o")
        self.outputs[name] = kind
        self.promises.append(text.replace("@", name))
        return name

    def window(self, name):
        self.head.append("window " + name)
        self.opened.append(name)

    def box(self, of):
        name = self.name("b")
        # What only copies has no `sentinel`.
        mode = "ll" if self.mode == "sentinel" else self.mode
        self.head.append("mailbox %s[N] of %s sync %s" % (name, of, mode))
        return name

    def of(self, text, rank):
        return text.replace("%s", rank + "." if rank else "")

    # Each adds statements, with what they promise.

    def store_number(self):
        value, promise = self.number()
        o = self.output("f32[R][1]", "@ == " + self.of(promise, ""))
        self.body.append("%s = %s" % (o, self.named(value)))

    def scale(self):
        value, promise = self.number()
        o = self.output("T[R][H]", "@ == ((x as f32) * (%s)) as T" % self.of(promise, ""))
        self.body.append("%s = ((x as f32) * (%s)) as T" % (o, self.named(value)))

    def stored_then_taken(self):
        value, promise = self.number()
        s = self.output("f32[R][1]", "@ == " + self.of(promise, ""))
        o = self.output("T[R][H]", "@ == ((x as f32) - (%s)) as T" % self.of(promise, ""))
        self.body.append("%s = %s" % (s, value))
        self.body.append("%s = ((x as f32) - %s) as T" % (o, s))

    def mail_number(self):
        value, promise = self.number()
        b = self.box("f32[R][1]")
        sent = self.named(value)
        ways = ["forall p in ranks: %s -> p.%s[me]"] + (["%s -> all.%s[me]"] if self.mode != "ll128" else [])
        self.body.append(self.rng.choice(ways) % (sent, b))
        if self.rng.random() < 0.4:
            o = self.output("f32[N][R][1]", "forall r in ranks: @[r] == " + self.of(promise, "r"))
            self.body.append("forall r in ranks: %s[r] = %s[r]" % (o, b))
            return
        reduced = "reduce(max, r in ranks: %s)" % self.of(promise, "r")
        m = self.named("reduce(max, r in ranks: %s[r])" % b)
        stores = self.rng.random() < 0.6
        if stores:
            o = self.output("f32[R][1]", "@ == " + reduced)
            self.body.append("%s = %s" % (o, m))
        if not stores or (self.rng.random() < 0.6 and not m.startswith("reduce")):
            o = self.output("T[R][H]", "@ == ((x as f32) * %s) as T" % reduced)
            self.body.append("%s = ((x as f32) * %s) as T" % (o, m))

    def push_number(self):
        value, promise = self.number()
        o = self.output("f32[N][R][1]", "forall r in ranks: @[r] == " + self.of(promise, "r"))
        self.window(o)
        self.body.append(self.rng.choice(["forall p in ranks: %s -> p.%s[me]", "%s -> all.%s[me]"]) % (self.named(value), o))

    def pull_number(self):
        if "sx" not in self.opened:
            self.window("sx")
        o = self.output("T[R][H]", "@ == ((x as f32) * (me + 1).sx) as T")
        self.body.append("%s = ((x as f32) * (me + 1).sx) as T" % o)

    def quantise(self):
        rng = self.rng
        kind = rng.choice(["i8", "fp8e4m3", "fp8e5m2"])
        group = rng.random() < 0.5
        scheme = "group(%d)" % GROUP if group else "per_row"
        shape = "f32[R][H/%d]" % GROUP if group else "f32[R][1]"
        q = self.name("q")
        promise = "quant(%%sx as f32, %s, %s)" % (kind, scheme)
        self.body.append("let %s = quant(x as f32, %s, %s)" % (q, kind, scheme))
        for _ in range(rng.randint(1, 3)):
            what = rng.randrange(6)
            if what == 0:
                o = self.output("%s[R][H]" % kind, "@ == " + self.of(promise, ""))
                self.body.append("%s = %s" % (o, q))
            elif what == 1:
                o = self.output(shape, "@ == %s.scale * 2.0" % self.of(promise, ""))
                self.body.append("%s = %s.scale * 2.0" % (o, q))
            elif what == 2:
                b = self.box(shape)
                factor = rng.choice(["", " * 2.0"])
                self.body.append("forall p in ranks: %s.scale%s -> p.%s[me]" % (q, factor, b))
                o = self.output(shape, "@ == reduce(max, r in ranks: %s.scale%s)" % (self.of(promise, "r"), factor))
                self.body.append("%s = reduce(max, r in ranks: %s[r])" % (o, b))
            elif what == 3:
                b = self.box("%s[R][H]" % kind)
                self.body.append("forall p in ranks: %s -> p.%s[me]" % (q, b))
                o = self.output("T[R][H]", "@ == reduce(sum, r in ranks: %s as f32) as T" % self.of(promise, "r"))
                self.body.append("%s = reduce(sum, r in ranks: %s[r] as f32) as T" % (o, b))
            elif what == 4:
                o = self.output("T[R][H]", "@ == ((%s as f32) * 0.5) as T" % self.of(promise, ""))
                self.body.append("%s = ((%s as f32) * 0.5) as T" % (o, q))
            else:
                o = self.output("%s[N][R][H]" % kind, "forall r in ranks: @[r] == " + self.of(promise, "r"))
                self.window(o)
                self.body.append("forall p in ranks: %s -> p.%s[me]" % (q, o))

    def mail_matrix(self):
        b = self.box("T[R][H]")
        self.body.append("forall p in ranks: x -> p.%s[me]" % b)
        o = self.output("f32[R][1]", "@ == rowmax(reduce(sum, r in ranks: r.x as f32)) * sx")
        h = self.name("h")
        self.body.append("let %s = reduce(sum, r in ranks: %s[r] as f32)" % (h, b))
        self.body.append("%s = rowmax(%s) * sx" % (o, h))

    def text(self):
        for _ in range(self.rng.randint(1, 4)):
            self.rng.choice([self.store_number, self.scale, self.stored_then_taken, self.mail_number, self.mail_number,
                             self.push_number, self.pull_number, self.quantise, self.quantise, self.mail_matrix])()
        if self.opened:
            self.body = ["entry barrier", *self.body, "exit barrier"]
        arguments = ["in %s: %s" % i for i in self.inputs.items()] + ["out %s: %s" % o for o in self.outputs.items()]
        return "\n".join(["coll 1", "collective c<T in {f32, bf16}>(%s)" % ", ".join(arguments),
                          *("  ensures " + p for p in self.promises),
                          "algorithm a for c on lsa(2..8) when bytes <= 64Ki {",
                          *("  " + s for s in self.head + self.body), "}", ""])


def one(tool, folder, seed, ptx):
    """What became of a program, and what is wrong with that, if anything is."""
    rng = random.Random(seed)
    path = folder / ("rows-%d.coll" % seed)
    path.write_text(Rows(rng).text())
    checked = coll(tool, "check", str(path), "-n", "2,3", "--json")
    try:
        verdicts = json.loads(checked.stdout)
    except ValueError:
        return "broken", "%s: %s" % (path, checked.stderr or checked.stdout)
    errors = {d["kind"] for v in verdicts for d in v["diagnostics"] if d["severity"] == "error"}
    if not all(v["verdict"] == "proved" for v in verdicts):
        if errors and errors <= REFUSALS:
            return "refused", None
        return "broken", "%s: %s" % (path, sorted((d["kind"], d["message"]) for v in verdicts for d in v["diagnostics"]))
    ranks, dtype = rng.choice(["2", "3"]), rng.choice(["f32", "bf16"])
    if ptx:
        made = coll(tool, "emit", str(path), "-n", ranks, "--dtype", dtype, "--stage", "ptx", "-o", "/dev/null")
        if made.returncode:
            return "broken", "%s -n %s --dtype %s: %s" % (path, ranks, dtype, made.stderr)
    for sizes in ([], ["--set", "H=%d" % (GROUP * rng.randint(1, 5))]):
        ran = coll(tool, "fuzz", str(path), "-n", ranks, "--dtype", dtype, "--seeds", "3", *sizes)
        if ran.returncode and "multiple of" not in ran.stderr:
            return "broken", "%s -n %s --dtype %s: %s%s" % (path, ranks, dtype, ran.stdout, ran.stderr[-2000:])
    return "right", None


def main(tool, folder, count="20", first="1", ptx=""):
    return run(lambda folder, seed: one(tool, folder, seed, ptx == "ptx"), folder, count, first)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
