"""Fails and prints each folder of the tree that holds files and has no README.md."""
import os
import sys

root = sys.argv[1]
missing = []
for folder, subfolders, files in os.walk(root):
    # Not ours to describe: hidden folders, build trees, input of single tests, and include paths, which the folder
    # above them describes.
    subfolders[:] = [name for name in subfolders
                     if not name.startswith((".", "build", "__")) and name not in ("Inputs", "include", "coll")]
    if files and "README.md" not in files:
        missing.append(os.path.relpath(folder, root))
if missing:
    sys.exit("no README.md in " + ", ".join(missing))
