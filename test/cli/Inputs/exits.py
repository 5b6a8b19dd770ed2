"""exits.py CODE COMMAND...: runs the command and succeeds if it exits with exactly this code."""
import subprocess
import sys

code = subprocess.call(sys.argv[2:])
if code != int(sys.argv[1]):
    sys.exit("exit code %d, expected %s" % (code, sys.argv[1]))
