# What all lit folders share: how tests look, what they may call, and what this machine offers them (README.md).
import ctypes
import os
import shutil

import lit.formats

config.name = "coll"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".coll", ".test"]
config.excludes = ["Inputs", "unit", "README.md"]
config.test_source_root = os.path.dirname(__file__)

config.environment["PATH"] = os.pathsep.join([config.llvm_tools, os.environ.get("PATH", "")])
# A cache of their own: what a test sees must not depend on what ran before the suite.
config.environment["COLL_CACHE_DIR"] = os.path.join(config.test_exec_root, "cache")
for name in ("LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_VISIBLE_DEVICES", "CXX", "HOME",
             "COLL_CUDA", "COLL_NVRTC", "COLL_NCCL"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

config.update_golden = lit_config.params.get("update-golden") == "1"
golden = "tee %s.golden > %t.golden" if config.update_golden else "diff -u %s.golden -"
# Longer names first: lit replaces plain text.
config.substitutions.append(("%golden", golden))
config.substitutions.append(("%coll", config.coll))
config.substitutions.append(("%source-root", config.source_root))


def open_library(*names):
    """The first of these shared libraries that opens here, or None."""
    for name in names:
        if name:
            try:
                return ctypes.CDLL(name)
            except OSError:
                pass
    return None


def gpus():
    driver = open_library("libcuda.so.1")
    count = ctypes.c_int(0)
    if driver is None or driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return 0
    return count.value


if open_library(os.environ.get("COLL_NVRTC"), "libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12",
                "/usr/local/cuda/lib64/libnvrtc.so"):
    config.available_features.add("nvrtc")
if open_library(os.environ.get("COLL_NCCL"), "libnccl.so.2"):
    config.available_features.add("nccl")
for count in (1, 2, 4, 8):
    if gpus() >= count:
        config.available_features.add("gpu-%d" % count)
if shutil.which(os.environ.get("CXX", "c++")):
    config.available_features.add("cxx")
