"""readme_lists.py COLL ROOT: prints what README.md leaves out of the environment variables and verbs that there are."""
import re
import subprocess
import sys

coll, root = sys.argv[1:]
with open(root + "/README.md") as file:
    readme = file.read()
with open(root + "/runtime/platform/Env.def") as file:
    for name, value, text in re.findall(r'^COLL_ENV\(\w+, "(\w+)", "(.*?)", "(.*?)"\)', file.read(), re.M):
        if "| `%s` | %s | %s |" % (name, value.replace("|", "\\|"), text) not in readme:
            print("no row for", name, value, text)
verbs = re.findall(r"^  (\w+) .*", subprocess.check_output([coll, "--help"], text=True), re.M)
for verb in verbs:
    if not re.search(r"`(coll )?%s\b" % verb, readme):
        print("no verb", verb)
