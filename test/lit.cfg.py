# What all lit folders share: how tests look, what they may call, and what this machine offers them (README.md).
import json
import os
import subprocess
import sys

import lit.formats

config.name = "coll"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".coll", ".test"]
config.excludes = ["Inputs", "unit", "README.md"]
config.test_source_root = os.path.dirname(__file__)

config.environment["PATH"] = os.pathsep.join([config.llvm_tools, os.environ.get("PATH", "")])
# A cache of their own: what a test sees must not depend on what ran before the suite.
config.environment["COLL_CACHE_DIR"] = os.path.join(config.test_exec_root, "cache")
for name in ("LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "CXX", "HOME",
             "COLL_CUDA_PATH", "COLL_NVRTC_PATH", "COLL_NCCL_PATH"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

# `test/run.sh --full`: what CI has no time for as well.
config.full = os.environ.get("COLL_TEST_FULL") == "1"
if config.full:
    config.available_features.add("full")

config.update_golden = lit_config.params.get("update-golden") == "1"
golden = "tee %s.golden > %t.golden" if config.update_golden else "diff -u %s.golden -"
config.substitutions.append(("%golden", golden))
config.substitutions.append(("%coll", config.coll))
config.substitutions.append(("%source-root", config.source_root))
config.substitutions.append(("%cxx", config.cxx))
config.substitutions.append(("%python", sys.executable))


# The tool itself says what it finds here, so a test is left out exactly where the tool would lack what it needs.
info = json.loads(subprocess.run([config.coll, "info", "--json"], capture_output=True, check=True).stdout)
config.nvrtc_archs = info["nvrtc"]["archs"] if info["nvrtc"] else []
if info["nvrtc"]:
    config.available_features.add("nvrtc")
    if 70 not in config.nvrtc_archs:
        config.available_features.add("nvrtc-without-sm_70")
if info["nccl"]:
    config.available_features.add("nccl")
if info["cxx"]:
    config.available_features.add("cxx")
for count in (1, 2, 4, 8):
    if len(info["gpus"]) >= count:
        config.available_features.add("gpu-%d" % count)
