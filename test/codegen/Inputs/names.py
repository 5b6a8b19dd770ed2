"""Names that an author may choose and the emitted text has for something else: each in each role of a program over
vectors, of one in chunks and of one by rows. All texts are compiled in one go, as the emulator does."""
import pathlib
import re
import shutil
import subprocess
import sys

coll, source, folder = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
compiler = sys.argv[4:]

NAMES = """k i c row hop launch a x y part pieces chunks team whole onePacket credits sums most largest mean scale
ranked message count value packets number length index line begin end each Shape Args Op Packet Credits Kept k_2 row_2 part_2
main float int auto class this operator not_eq template namespace sqrt exp abs printf pow size_t errno hopTo blockIdx
NULL""".split()

VECTORS = """collective {8}<T in {{f32}}, op in {{sum}}>(in {0}: T[{1}], in {9}: rank, in {10}: f32, out {2}: T[{1}])
  ensures {2} == reduce(op, r in ranks: r.{0})
algorithm {3} for {8} on lsa(2..4) when bytes <= 64Ki {{
  mailbox {4}[N] of T[{1}] sync ll
  forall {5} in ranks: {0} -> {5}.{4}[me]
  let {6} = reduce(op, {7} in ranks: {4}[({7} + 1) % N])
  var {11} = {6} * {10}
  for {12} in 1 .. 2 {{
    if {9} == {12}: {11} = {11} + {6}
  }}
  {2} = {11}
}}
"""

CHUNKS = """collective {8}<T in {{f32}}, op in {{sum}}>(in {0}: T[{1}], in {9}: rank, in {10}: f32, out {2}: T[{1}])
  ensures {2} == reduce(op, r in ranks: r.{0})
algorithm {3} for {8} on lsa(2..4) {{
  mailbox {4}[N] of T[{1}] sync ll
  pipeline {11} in 0 .. chunks({0}, 63Ki) {{
    forall {5} in ranks: {0} -> {5}.{4}[me]
    let {6} = reduce(op, {7} in ranks: {4}[({7} + 1) % N])
    if {9} == me: {2} = {6} * {10}
    else: {2} = {6}
  }}
}}
"""

ROWS = """collective {8}<T in {{bf16}}, op in {{sum}}>(
    in {0}: T[{1}][{13}], in {14}: T[{13}], in {9}: rank, in {10}: f32, out {2}: T[{1}][{13}])
  ensures {2} == {0}
algorithm {3} for {8} on lsa(2..4) when bytes <= 64Ki {{
  mailbox {4}[N] of T[{1}][{13}] sync ll
  forall {5} in ranks: {0} -> {5}.{4}[me]
  let {6} = reduce(op, {7} in ranks: {4}[({7} + 1) % N])
  let {15} = rowmean({6} * {6})
  var {11} = {6} * rsqrt({15})
  for {12} in 1 .. 2 {{
    let {16} = rowmax({11})
    if {9} == {12}: {11} = {11} * {16} + {6} * {14} * {10}
  }}
  {2} = {11}
}}
"""
ROLES = 17
PROGRAMS = {"vectors": VECTORS, "chunks": CHUNKS, "rows": ROWS}


def text_of(kind, number):
    """The emitted CUDA of one program, in which role i has a name of its own."""
    names = [NAMES[(number + 3 * role) % len(NAMES)] for role in range(ROLES)]
    assert len(set(names)) == ROLES
    file = folder / f"{kind}{number}.coll"
    file.write_text("coll 1\n" + PROGRAMS[kind].format(*names))
    # What is computed does not matter here, so nothing is proved.
    dtype = "bf16" if kind == "rows" else "f32"
    emitted = subprocess.run([coll, "emit", file, "-n", "2", "--dtype", dtype, "--unchecked"],
                             capture_output=True, text=True)
    if emitted.returncode not in (0, 1) or "__global__" not in emitted.stdout:
        sys.exit(f"{file}: no text\n{emitted.stderr}")
    return emitted.stdout


def headers():
    """The device headers, with the emulator's in their places."""
    for part in ("runtime/device/coll", "runtime/emulator/device/coll"):
        shutil.copytree(source / part, folder / "coll", dirs_exist_ok=True)


shutil.rmtree(folder, ignore_errors=True)
folder.mkdir(parents=True)
headers()
includes, kernels = set(), []
for kind in PROGRAMS:
    for number in range(len(NAMES)):
        text = text_of(kind, number)
        includes.update(re.findall("^#include .*$", text, re.MULTILINE))
        body = re.sub("^#include .*$", "", text, flags=re.MULTILINE).replace('extern "C" ', "")
        kernels.append(f'namespace {kind}_{number} {{\n#line 1 "{kind}{number}.cu"\n{body}\n}}\n')
whole = folder / "all.cu"
whole.write_text("\n".join(sorted(includes)) + "\n" + "".join(kernels))
flags = ["-x", "c++", "-std=c++17", "-w", "-nostdinc", "-nostdinc++", "-fsyntax-only", "-I", folder]
done = subprocess.run([*compiler, *flags, whole], capture_output=True, text=True)
print(done.stderr[:4000])
print(f"{len(kernels)} texts", "compile" if done.returncode == 0 else "and some do not compile")
sys.exit(done.returncode != 0)
