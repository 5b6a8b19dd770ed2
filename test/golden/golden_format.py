"""The lit format of test/golden: two tests for every instance of the standard library.

`golden/NAME` compares the CUDA text with the file NAME beside this one, or rewrites that with `-Dupdate-golden=1`.
`golden/nvrtc/NAME` compiles the instance, in a full run for every architecture that it and the NVRTC found here both
allow. Else for sm_90, and with bf16 for the lowest too, and with 2 ranks and bf16 for the newest and another by turns: the
texts for f32, and those for 8 ranks, hardly differ. The other element types and operators, of which there is no golden
text, are always compiled, for sm_90, and for the lowest in a full run.
A file that no instance has is a failure too, so that nothing stale stays.
"""
import difflib
import json
import os
import subprocess

import lit.Test
import lit.formats

RANKS = (2, 8)
DTYPES = ("f32", "bf16")
HERE = os.path.dirname(os.path.abspath(__file__))


def run(*command):
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)


def instances(coll):
    """(name of the golden file, arguments of `coll emit`) of all that the standard library can emit."""
    listed = run(coll, "list", "--json")
    if listed.returncode != 0:
        raise RuntimeError("coll list failed: " + listed.stderr)
    for member in json.loads(listed.stdout):
        for ranks in RANKS:
            for dtype in DTYPES:
                if not member["emitted"] or not member["minRanks"] <= ranks <= member["maxRanks"]:
                    continue
                if dtype not in member["dtypes"]:
                    continue
                name = "%s.n%d.%s" % (member["member"], ranks, dtype)
                arguments = [member["source"], "--algo", member["algorithm"], "-n", str(ranks), "--dtype", dtype]
                if member["ops"]:
                    name += ".sum"
                    arguments += ["--op", "sum"]
                yield name + ".cu", arguments


def otherTypes(coll):
    """(name, arguments) of two ranks with the types and operators that the goldens do not have, paired by turns, so that
    each meets many members; where nothing is reduced a type of each width is enough."""
    for number, member in enumerate(m for m in json.loads(run(coll, "list", "--json").stdout) if m["emitted"]):
        types = [t for t in member["dtypes"] if t not in DTYPES]
        if not member["ops"]:
            types = [t for t in ("f64", "u8") if t in types]
        if not types or not member["minRanks"] <= 2 <= member["maxRanks"]:
            continue
        dtype = types[number % len(types)]
        name = "%s.n2.%s" % (member["member"], dtype)
        arguments = [member["source"], "--algo", member["algorithm"], "-n", "2", "--dtype", dtype]
        ops = [op for op in member["ops"] if op != "avg" or dtype[0] == "f"]
        if ops:
            op = ops[(number + number // len(types)) % len(ops)]
            name += "." + op
            arguments += ["--op", op]
        yield name + ".cu", arguments


class GoldenFormat(lit.formats.TestFormat):
    def getTestsInDirectory(self, suite, path_in_suite, lit_config, config):
        if path_in_suite != ("golden",):
            return
        self.instances = dict(instances(config.coll))
        stale = [name for name in os.listdir(HERE) if name.endswith(".cu")]
        for name in sorted(set(self.instances).union(stale)):
            yield lit.Test.Test(suite, path_in_suite + (name,), config)
        self.others = dict(otherTypes(config.coll))
        for name in sorted(self.instances) + sorted(self.others):
            yield lit.Test.Test(suite, path_in_suite + ("nvrtc", name), config)

    def execute(self, test, lit_config):
        arguments = self.instances.get(test.path_in_suite[-1]) or self.others.get(test.path_in_suite[-1])
        if "nvrtc" in test.path_in_suite:
            return self.compileAll(test, arguments, lit_config)
        if lit_config.noExecute:
            return lit.Test.PASS, ""
        return self.compare(test, arguments)

    def compare(self, test, arguments):
        name = test.path_in_suite[-1]
        golden = os.path.join(HERE, name)
        update = test.config.update_golden
        if arguments is None:
            if update:
                os.remove(golden)
                return lit.Test.PASS, ""
            return lit.Test.FAIL, "no instance of the standard library is called so; remove the file"
        emitted = run(test.config.coll, "emit", *arguments)
        if emitted.returncode != 0 or emitted.stderr:
            return lit.Test.FAIL, "coll emit %s: exit %d\n%s" % (" ".join(arguments), emitted.returncode, emitted.stderr)
        if update:
            with open(golden, "w") as file:
                file.write(emitted.stdout)
            return lit.Test.PASS, ""
        before = ""
        if os.path.exists(golden):
            with open(golden) as file:
                before = file.read()
        if before == emitted.stdout:
            return lit.Test.PASS, ""
        lines = difflib.unified_diff(before.splitlines(), emitted.stdout.splitlines(), name, "coll emit", lineterm="")
        return lit.Test.FAIL, "\n".join(lines)

    def compileAll(self, test, arguments, lit_config):
        if "nvrtc" not in test.config.available_features:
            return lit.Test.UNSUPPORTED, "needs NVRTC"
        if lit_config.noExecute:
            return lit.Test.PASS, ""
        manifest = run(test.config.coll, "emit", *arguments, "--stage", "manifest")
        if manifest.returncode != 0:
            return lit.Test.FAIL, manifest.stderr
        lowest = json.loads(manifest.stdout)["minArch"]
        archs = [arch for arch in test.config.nvrtc_archs if arch >= lowest]
        name = test.path_in_suite[-1]
        if archs and (name not in self.instances or not test.config.full):
            archs = sorted(self.chosen(name, archs, test.config.full).intersection(archs))
        for arch in archs:
            built = run(test.config.coll, "emit", *arguments, "--stage", "cubin", "--arch", "sm_%d" % arch,
                        "-o", os.devnull)
            if built.returncode != 0:
                return lit.Test.FAIL, "sm_%d: exit %d\n%s" % (arch, built.returncode, built.stderr)
        return (lit.Test.PASS, "") if archs else (lit.Test.FAIL, "NVRTC knows no architecture of this kernel")

    def chosen(self, name, archs, full):
        """The architectures to compile for; sm_90 or, where the kernel has none, the lowest is always among them."""
        chosen = {90} if 90 in archs else {archs[0]}
        if full if name not in self.instances else ".bf16" in name:
            chosen.add(archs[0])
        if name in self.instances and ".n2." in name and ".bf16" in name:
            chosen |= {archs[-1], archs[sorted(self.instances).index(name) % len(archs)]}
        return chosen
