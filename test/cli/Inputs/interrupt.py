"""Runs a command whose compiler does not end, sends it a signal, and says what it leaves in its temporary folder.

usage: interrupt.py FOLDER SIGNAL COMMAND...
"""
import os
import pathlib
import signal
import subprocess
import sys
import time

folder, name, *command = sys.argv[1:]
number = getattr(signal, name)
folder = pathlib.Path(folder)
folder.mkdir(parents=True, exist_ok=True)
compiler = folder / "compiler"
compiler.write_text("#!/bin/sh\necho $$ > %s\nexec sleep 60\n" % (folder / "started"))
compiler.chmod(0o755)
temporary = folder / "tmp"
temporary.mkdir(exist_ok=True)
started = folder / "started"
started.unlink(missing_ok=True)

child = subprocess.Popen(command, env={**os.environ, "CXX": str(compiler), "TMPDIR": str(temporary)},
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                         preexec_fn=lambda: signal.signal(number, signal.SIG_DFL))  # a job in the background ignores some
deadline = time.monotonic() + 60
while not (started.exists() and started.read_text().endswith("\n")) and time.monotonic() < deadline:
    time.sleep(0.01)
print("while compiling:", len(list(temporary.iterdir())), "folder")
child.send_signal(number)
print("ended by", signal.Signals(-child.wait(timeout=60)).name)
print("left:", *(str(p.relative_to(temporary)) for p in temporary.rglob("*")))

# The compiler is nobody's child now, and gone as soon as it has ended.
worker = pathlib.Path("/proc/%d" % int(started.read_text()))
while worker.exists() and "Z" not in (worker / "stat").read_text().split() and time.monotonic() < deadline:
    time.sleep(0.01)
print("the compiler", "runs on" if time.monotonic() >= deadline else "has ended")
