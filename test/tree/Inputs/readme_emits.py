"""readme_emits.py COLL ROOT FOLDER [--update]: the CUDA block of README.md is what `coll emit` makes of its .coll block.

The command is the one that the README gives. With --update the block is rewritten.
"""
import os
import re
import subprocess
import sys

coll, root, folder = sys.argv[1:4]
name = root + "/README.md"
with open(name) as file:
    readme = file.read()
source = re.search(r"```coll\n(.*?)```", readme, re.S)
cuda = re.search(r"```cuda\n(.*?)```", readme, re.S)
command = re.search(r"`coll (emit (\S+\.coll) [^`]*)`", readme)

with open(folder + "/" + command.group(2), "w") as file:
    file.write(source.group(1))
emitted = subprocess.run([os.path.abspath(coll)] + command.group(1).split(), cwd=folder, stdout=subprocess.PIPE, text=True,
                         check=True).stdout
if sys.argv[4:] == ["--update"]:
    with open(name, "w") as file:
        file.write(readme[:cuda.start(1)] + emitted + readme[cuda.end(1):])
elif emitted != cuda.group(1):
    sys.exit("README.md shows other CUDA than `coll %s` prints" % command.group(1))
