"""What the writers of random programs have in common: the tool's command, and seeds that are tried beside each other."""
import concurrent.futures
import pathlib
import subprocess


def coll(tool, *arguments):
    return subprocess.run([tool, *arguments], capture_output=True, text=True, timeout=300)


def run(one, folder, count, first):
    """Prints what became of the programs of so many seeds. `one(folder, seed)` has what it was and a finding, or None."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    seeds = range(int(first), int(first) + int(count))
    totals, findings = {}, []
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for state, finding in pool.map(lambda seed: one(folder, seed), seeds):
            totals[state] = totals.get(state, 0) + 1
            if finding:
                findings.append(finding)
    print("\n".join(findings))
    print(", ".join("%s: %d" % item for item in sorted(totals.items())))
    print("%d programs, %d findings" % (len(seeds), len(findings)))
    return 1 if findings else 0
