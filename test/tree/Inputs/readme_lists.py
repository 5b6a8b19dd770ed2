"""readme_lists.py COLL ROOT: fails if README.md leaves out an environment variable or a verb."""
import re
import subprocess
import sys

coll, root = sys.argv[1:]
with open(root + "/README.md") as file:
    readme = file.read()
missing = []
with open(root + "/runtime/platform/Env.def") as file:
    for name, value, text in re.findall(r'^COLL_ENV\(\w+, "(\w+)", "(.*?)", "(.*?)"\)', file.read(), re.M):
        if "| `%s` | %s | %s |" % (name, value.replace("|", "\\|"), text) not in readme:
            missing.append(name)
verbs = re.findall(r"^  (\w+) .*", subprocess.check_output([coll, "--help"], text=True), re.M)
for verb in verbs:
    if not re.search(r"`(coll )?%s\b" % verb, readme):
        missing.append(verb)
if missing:
    sys.exit("not as it is, or not there, in README.md: " + ", ".join(missing))
