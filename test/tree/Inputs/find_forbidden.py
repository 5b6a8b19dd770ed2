"""Fails and prints each line of device code, generated or written, that has a construct which no kernel may have."""
import glob
import os
import re
import sys

FORBIDDEN = re.compile(r"ld\.global\.nc|__ldg\b|const\b[^;{()]*__restrict__|#\s*include\s*<|<cuda/|\bmembar\b")

root = sys.argv[1]
found = []
texts = glob.glob(root + "/runtime/device/coll/*.h") + glob.glob(root + "/test/golden/*.cu")
assert len(texts) > 5, "the device headers have moved"
for name in texts:
    with open(name) as text:
        for number, line in enumerate(text, 1):
            if FORBIDDEN.search(line.split("//")[0]):
                found.append("%s:%d: %s" % (os.path.relpath(name, root), number, line.rstrip()))
# What other GPUs see has system scope, on both sides (a cluster's barrier and its start have none); and the compiler keeps all accesses
# where they are.
ORDERED = re.compile(r"(?<!fence\.mbarrier_init)\.(relaxed|acquire|release|acq_rel|sc|volatile)\b(?!\.sys|\.aligned)")
ACCESS = re.compile(r'"[^"]*\b(ld|st|red|atom|multimem|fence|bar|barrier|griddepcontrol)\.')
for name in glob.glob(root + "/runtime/device/coll/*.h"):
    with open(name) as text:
        code = re.sub(r"//.*", lambda m: " " * len(m.group()), text.read())
    for asm in re.finditer(r"\basm\b[^;]*?\((?:[^()\"]|\"[^\"]*\"|\([^()]*(?:\([^()]*\)[^()]*)*\))*\);", code):
        said = asm.group()
        kept = said.startswith("asm volatile(") and said.endswith('"memory");')
        if ACCESS.search(said) and (ORDERED.search(said) or not kept):
            found.append("%s:%d: %s" % (os.path.relpath(name, root), code.count("\n", 0, asm.start()) + 1, said.split("\n")[0]))
# NVRTC before 13.0 loses count of braces in a template where a discarded loop has none around it.
BARE_LOOP = re.compile(r"\bif constexpr \((?:[^()]|\([^()]*\))*\)\s*\n(?:#[^\n]*\n)?\s*(?:for|while) \(")
for name in texts:
    with open(name) as text:
        code = re.sub(r"//[^\n]*", "", text.read())
    for bare in BARE_LOOP.finditer(code):
        found.append("%s:%d: a loop as the only statement of an `if constexpr`, which wants braces" % (
            os.path.relpath(name, root), code.count("\n", 0, bare.start()) + 1))
# Whatever waits keeps the lanes of its warp together (poll.h), but for what one thread does for its CTA.
for name in glob.glob(root + "/runtime/device/coll/*.h"):
    with open(name) as text:
        code = text.read()
    for function in re.finditer(r"__device__ [^;{]*\b(\w+)\([^;{]*\) (?:const )?\{.*?(?=__device__|\Z)", code, re.S):
        waits = re.search(r"\bspinHint\((?!const void)", function.group())
        together = re.search(r"\b(anyInStep|anyOfWarp)\(", function.group())
        if waits and not together and function.group(1) not in ("meet", "spinHint"):
            found.append("%s:%d: %s waits lane by lane" % (
                os.path.relpath(name, root), code.count("\n", 0, function.start()) + 1, function.group(1)))
if found:
    sys.exit("\n".join(found))
