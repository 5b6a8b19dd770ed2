"""nvrtc_versions.py COLL ROOT FOLDER [--members a.b.c,...] [--control] [VERSION...]

Builds instances of the standard library with each of these versions of NVRTC, fetched as Python wheels into FOLDER and
found as `coll` finds it, and looks in the PTX, built likewise but for the lines in it, whether all accesses are in the order in which they are written (access_order.py). Without a version with
the NVRTC that `coll` finds; without --members all that `coll list` names, at two ranks, f32 and bf16 by turns. A version
that cannot be fetched, as there is no network, is left out and said so. --control exchanges two accesses of each PTX first,
which must be found in all.
"""
import argparse
import ctypes
import glob
import json
import os
import re
import subprocess
import sys
import zipfile

sys.dont_write_bytecode = True
from access_order import accesses_of, ptx_problems


def run(command, **more):
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, **more)


def fetched(version, folder):
    """The folder of the library, or None."""
    major = int(version.split(".")[0])
    name = "nvidia-cuda-nvrtc" + ("-cu12" if major == 12 else "")
    to = os.path.join(folder, version)
    if not os.path.isdir(to):
        got = run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", to, "%s==%s" % (name, version)])
        if got.returncode != 0:
            return None
    for wheel in [f for f in os.listdir(to) if f.endswith(".whl")]:
        with zipfile.ZipFile(os.path.join(to, wheel)) as archive:
            archive.extractall(to)
    for path, _, files in os.walk(to):
        if any(re.fullmatch(r"libnvrtc\.so\.\d+", f) for f in files):
            return path
    return None


def ptx_with_lines(library, text, headers):
    """PTX by the NVRTC at `library`, with the options of runtime/jit and the lines; else what NVRTC says, as a string in a
    tuple."""
    nvrtc = ctypes.CDLL(library)
    names = sorted(glob.glob(os.path.join(headers, "coll", "*.h")))
    strings = lambda items: (ctypes.c_char_p * len(items))(*[item.encode() for item in items])
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernel.cu", len(names),
                             strings([open(name).read() for name in names]),
                             strings(["coll/" + os.path.basename(name) for name in names]))
    options = ["--gpu-architecture=compute_90", "-std=c++17", "-default-device", "-minimal", "-lineinfo"]
    failed = nvrtc.nvrtcCompileProgram(program, len(options), strings(options))
    of, get = (nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog) if failed else (nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX)
    of(program, ctypes.byref(size))
    result = ctypes.create_string_buffer(size.value)
    get(program, result)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return (result.value.decode(),) if failed else result.value.decode()


def instances(coll, wanted):
    turn = 0
    for member in json.loads(run([coll, "list", "--json"]).stdout):
        if not member["emitted"] or not member["minRanks"] <= 2 <= member["maxRanks"]:
            continue
        if wanted and member["member"] not in wanted:
            continue
        types = [t for t in ("f32", "bf16") if t in member["dtypes"]] or ["f32"]
        turn += 1
        yield member["member"], [member["source"], "--algo", member["algorithm"], "-n", "2", "--dtype", types[turn % len(types)]]


def with_two_exchanged(ptx):
    """The first access to memory of the kernel comes before its wait for the kernels before."""
    block = r"\t// begin inline asm\n%s\n\t// end inline asm\n"
    entry = ptx.index(".entry")
    wait = re.compile(block % r"\s*griddepcontrol\.wait;").search(ptx, entry)
    access = re.compile(block % r"[^\n]*\b(?:ld|st)\.[^\n]*").search(ptx, wait.end())
    return ptx[:wait.start()] + access.group() + ptx[wait.end():access.start()] + wait.group() + ptx[access.end():]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("coll"), parser.add_argument("root"), parser.add_argument("folder")
    parser.add_argument("--members", default=""), parser.add_argument("--control", action="store_true")
    parser.add_argument("versions", nargs="*")
    options = parser.parse_intermixed_args()
    headers = os.path.join(options.root, "runtime", "device")
    bad = 0
    for version in options.versions or [None]:
        environment = dict(os.environ, COLL_CACHE_DIR="off")
        if version:
            library = fetched(version, options.folder)
            if not library:
                print("left out: NVRTC %s, which cannot be fetched" % version)
                continue
            environment["COLL_NVRTC_PATH"] = library
        info = json.loads(run([options.coll, "info", "--json"], env=environment).stdout)["nvrtc"]
        if not info or (version and not version.startswith(info["version"] + ".")):
            print("NVRTC %s: `coll info` has found %s" % (version, info))
            bad += 1
            continue
        kernels, accesses, found = 0, 0, 0
        for name, arguments in instances(options.coll, set(options.members.split(",")) - {""}):
            emit = [options.coll, "emit"] + arguments
            text = run(emit + ["--stage", "cuda"], env=environment)
            built = run(emit + ["--stage", "cubin", "--arch", "sm_90", "-o", os.devnull], env=environment)
            ptx = ptx_with_lines(info["path"], text.stdout, headers) if built.returncode == 0 else (text.stderr + built.stderr,)
            if isinstance(ptx, tuple):
                problems = [ptx[0].strip()]
            else:
                if options.control:
                    ptx = with_two_exchanged(ptx)
                problems = ptx_problems(ptx, text.stdout, headers)
                accesses += accesses_of(ptx)
            kernels += 1
            found += bool(problems)
            if not options.control:
                for problem in problems[:5]:
                    print("%s, NVRTC %s: %s" % (name, info["version"], problem))
        print("NVRTC %s: %d kernels, %d accesses, %d kernels out of order" % (info["version"], kernels, accesses, found), flush=True)
        bad += found if not options.control else found != kernels
    return 1 if bad else 0


sys.exit(main())
