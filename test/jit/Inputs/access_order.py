"""Whether NVRTC leaves the memory accesses of a kernel in the order in which they are written.

All accesses of generated kernels are inline PTX. Built with lines, PTX says of each from which line it comes,
through which calls. On every way through a function, loops taken once, of two accesses that come from different lines
of one body of code the upper one must come first, unless a loop has both. Whatever lies beside the inline PTX must not
touch global memory at all, and nothing may come before the wait for the kernels before.

    ptx_problems(ptx text, kernel text, folder of device headers) -> list of sentences
"""
import os
import re

ACCESS = re.compile(r"\b(ld|st|red|atom|multimem|fence|membar|bar|barrier|griddepcontrol|cp|mapa)\b[.\w:]*")
PLAIN = re.compile(r"^\s*(?:@!?%p\d+\s+)?(?:(?:ld|st)(?:\.\w+)*\.global|st\.(?!param|local|(?:volatile\.)?shared)|red|atom)\b")
LOC = re.compile(r"\.loc\s+(\d+) (\d+) (\d+)(?:, function_name \S+, inlined_at (\d+) (\d+) (\d+))?")
BRANCH = re.compile(r"^\s*(@!?%p\d+\s+)?(?:bra(?:\.uni)?\s+(\$L\w+)|(ret|exit|trap)\b)")


def statement_end(text, at):
    """Behind the statement, or the parentheses and the statement behind them, that begins at `at`."""
    depth = 0
    while at < len(text):
        at += 1
        c = text[at - 1]
        depth += (c in "({[") - (c in ")}]")
        if depth < 0 or (depth == 0 and c in ";}"):
            break
    return at


class Body:
    """What a file says of the order of its lines: functions, loops and branches of which one is taken, as ranges of lines."""

    def __init__(self, text):
        lines = text.split("\n")
        text = re.sub(r"//[^\n]*|\"[^\"\n]*\"|^#[^\n]*", lambda m: " " * len(m.group()), text, flags=re.M)
        line = lambda at: text.count("\n", 0, at) + 1
        self.loops, self.branches, self.functions = [], [], []
        for word in re.finditer(r"\b(for|while|do|eachSlot|eachMessage)\b", text):
            if not self.rolled(lines, line(word.start())):
                self.loops.append((line(word.start()), line(statement_end(text, word.end()))))
        for word in re.finditer(r"\belse\b", text):
            begin = text.rfind("if", 0, word.start())
            if text[:word.start()].rstrip().endswith("}"):  # the `if` of this block, not one in it
                at, depth = text.rfind("}", 0, word.start()), 1
                while depth:
                    at -= 1
                    depth += (text[at] == "}") - (text[at] == "{")
                begin = text.rfind("if", 0, at)
            self.branches.append((line(begin), line(word.start()), line(statement_end(text, word.end()))))
        stack, header = [], 0
        for match in re.finditer(r"[{};]", text):
            if match.group() == "{":
                inside = text[header:match.start()]
                container = re.search(r"\b(namespace|struct|class|enum|union)\b", inside) and not inside.rstrip().endswith(")")
                stack.append((match.start(), bool(container), all(c for _, c, _ in stack)))
            elif match.group() == "}" and stack:
                begin, container, outermost = stack.pop()
                if outermost and not container:
                    self.functions.append((line(begin), line(match.start())))
            header = match.end()

    @staticmethod
    def rolled(lines, number):
        """Whether the loop at this line stays one: a way through it has one turn of it."""
        return number > 1 and lines[number - 2].strip() == "#pragma unroll 1"

    def repeated(self, a):
        return any(first <= a <= last for first, last in self.loops)

    def ordered(self, a, b):
        """Whether line a, above line b, comes first wherever both do."""
        if not any(first <= a and b <= last for first, last in self.functions):
            return False
        if any(first <= a and b <= last for first, last in self.loops):
            return False
        return not any(first <= a <= other <= b <= last and a < max(other, first + 1) for first, other, last in self.branches)


class Sources:
    def __init__(self, ptx, kernel, headers):
        self.files = {}
        for number, name in re.findall(r'^\s*\.file\s+(\d+) "([^"]*)"', ptx, re.M):
            path = os.path.join(headers, "coll", os.path.basename(name))
            self.files[int(number)] = Body(open(path).read() if os.path.exists(path) else kernel)


def functions(ptx):
    """(name, lines of the body) of what has one."""
    for match in re.finditer(r"^(?:\.visible )?\.(entry|func)[^;{]*?(\w+)\s*\([^;{]*\)[^;{]*\{\n(.*?)^\}", ptx, re.M | re.S):
        yield match.group(1), match.group(2), match.group(3).split("\n")


class Block:
    def __init__(self, label):
        self.label, self.events, self.next = label, [], []


class Places:
    """Through which calls an instruction may have come to its place. PTX says it from the outermost call on, but leaves out
    what it has said before, of whatever way that was: where more than one may be meant, all are kept."""

    def __init__(self, lines):
        self.known = {}
        for _ in range(2):  # a call may be told of behind what it calls
            for line in lines:
                loc = LOC.search(line)
                if loc:
                    self.known.setdefault(self.place(loc), set()).update(self.chains(loc, {}))
        self.enter()

    @staticmethod
    def place(loc):
        return tuple(map(int, loc.group(1, 2, 3)))

    def chains(self, loc, here):
        if not loc.group(4):
            return {(self.place(loc),)}
        parent = tuple(map(int, loc.group(4, 5, 6)))
        outer = here.get(parent) or self.known.get(parent, set())
        return {chain + (self.place(loc),) for chain in outer if len(chain) < 16}

    def enter(self):
        self.here, self.now = {}, set()

    def at(self, loc):
        self.now = self.here[self.place(loc)] = self.chains(loc, self.here)


def blocks_of(lines, problems):
    """Basic blocks with their accesses, each the instruction and the ways to its place, outermost call first."""
    blocks, places, inside = [Block("")], Places(lines), False
    falls = True
    for line in lines:
        loc = LOC.search(line)
        if loc:
            places.at(loc)
        if "begin inline asm" in line or "end inline asm" in line:
            inside = "begin" in line
            continue
        label = re.match(r"^(\$L\w+):", line)
        if label:
            fresh = Block(label.group(1))
            places.enter()
            if falls:
                blocks[-1].next.append(fresh.label)
            blocks.append(fresh)
            falls = True
        if inside:
            for access in ACCESS.finditer(line):
                blocks[-1].events.append((access.group(), places.now))
            continue
        if PLAIN.search(line):
            problems.append("an access beside the inline PTX: " + line.strip())
        branch = BRANCH.match(line)
        if not branch:
            continue
        if branch.group(2):
            blocks[-1].next.append(branch.group(2))
        if branch.group(1):
            fresh = Block("after %d" % len(blocks))
            blocks[-1].next.append(fresh.label)
            blocks.append(fresh)
            places.enter()
        else:
            fresh = Block("behind %d" % len(blocks))  # reached by its own label, if at all
            blocks.append(fresh)
        falls = bool(branch.group(1))
    return blocks


def later(blocks):
    """For each block, those that may follow it on a way that takes no loop again."""
    by_label = {b.label: i for i, b in enumerate(blocks)}
    state, forward = [0] * len(blocks), [[] for _ in blocks]
    stack = [(0, iter(blocks[0].next))]
    state[0] = 1
    order = []
    while stack:
        at, rest = stack[-1]
        for label in rest:
            to = by_label[label]
            if state[to] == 1:
                continue  # back to a loop's begin
            forward[at].append(to)
            if state[to] == 0:
                state[to] = 1
                stack.append((to, iter(blocks[to].next)))
                break
        else:
            state[at] = 2
            order.append(at)
            stack.pop()
    reach = [set() for _ in blocks]
    for at in order:  # followers first
        for to in forward[at]:
            reach[at] |= {to} | reach[to]
    return reach, forward, [i for i in range(len(blocks)) if state[i]]


def behind(first, second, sources):
    """Whether one place is written behind another, in any body of code that both went through. Ways that exclude each
    other may share their ends, so calls beyond those from where they part are looked at as well."""
    for a, b in zip(first, second):
        if a[0] == b[0] and a[1] > b[1] and sources.files[a[0]].ordered(b[1], a[1]):
            return True
        if a[0] == b[0] and a[1] < b[1] and sources.files[a[0]].ordered(a[1], b[1]):
            return False
        if a == b and sources.files[a[0]].repeated(a[1]):
            return False  # they may be of two turns
    return False


def out_of_order(first, second, sources):
    pairs = [(a, b) for a in first[1] for b in second[1]]
    return bool(pairs) and all(behind(a, b, sources) for a, b in pairs)


def text_of(event):
    way = min(event[1], default=())
    return "`%s` of line %s" % (event[0], " < ".join("%d:%d" % (f, l) for f, l, _ in reversed(way)))


def before_the_wait(blocks, forward, reach, alive):
    """Accesses on a way from the entry that has not come to griddepcontrol.wait, or to where that is left out by a thread
    which knows that it has waited."""
    waits = lambda at: any(e[0].startswith("griddepcontrol.wait") for e in blocks[at].events[:1])
    seen, stack = set(), [0]
    while stack:
        at = stack.pop()
        if at in seen or at not in alive:
            continue
        seen.add(at)
        for event in blocks[at].events:
            if event[0].startswith("griddepcontrol.wait"):
                break
            if not event[0].startswith("bar"):
                yield event
        else:
            known = set().union(*[reach[to] for to in forward[at] if waits(to)])
            stack += [to for to in forward[at] if to not in known]


def accesses_of(ptx):
    return sum(len(b.events) for _, _, lines in functions(ptx) for b in blocks_of(lines, []))


def ptx_problems(ptx, kernel, headers, waits=True):
    problems, accesses, placed = [], 0, 0
    sources = Sources(ptx, kernel, headers)
    for kind, name, lines in functions(ptx):
        blocks = blocks_of(lines, problems)
        reach, forward, alive = later(blocks)
        events = [e for i in alive for e in blocks[i].events]
        accesses, placed = accesses + len(events), placed + sum(1 for e in events if e[1])
        if kind == "entry" and waits:
            problems += ["before the wait: " + text_of(e) for e in before_the_wait(blocks, forward, reach, set(alive))]
        for i in alive:
            here = blocks[i].events
            for k, event in enumerate(here):
                followers = here[k + 1:] + [e for j in reach[i] for e in blocks[j].events]
                problems += [text_of(event) + " comes before " + text_of(e) for e in followers if out_of_order(event, e, sources)]
    if placed * 2 < accesses or accesses == 0:
        problems.append("of %d accesses %d say where they are from: the form of this PTX is not known" % (accesses, placed))
    return sorted(set(problems))
