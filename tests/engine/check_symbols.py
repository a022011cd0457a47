"""Tell whether object files of the kernels define symbols that other files may define as well.

    python tests/engine/check_symbols.py nm object …

The linker keeps one of several weak definitions of the same name. If one of them was compiled for
AVX, a machine without AVX could be made to run it. Only names inside the namespace of their own
instruction set are safe; `varfocus/engine/cpp/kernels/set.hpp` says how they are kept so.
"""

import re
import subprocess
import sys
from pathlib import Path

# A pointer to the handler of exceptions, DW.ref…, is data and the same in all files.
SHARED = re.compile(r"^[0-9a-f]* *[WVu] (?!DW\.ref\.)(.+)$")


def shared_symbols(nm: str, file: str) -> list[str]:
    """Return weak definitions that are not in the namespace of the file's instruction set."""
    own = re.search(r"kernels_(\w+)\.dir", file)
    if own is None:
        sys.exit(f"received {file}\nexpected an object file of a target kernels_<set>")
    listing = subprocess.run(
        [nm, "--defined-only", "--demangle", file], check=True, capture_output=True, text=True
    ).stdout
    found = (SHARED.match(line) for line in listing.splitlines())
    return [m[1] for m in found if m and f"varfocus::{own[1]}::" not in m[1]]


def main() -> None:
    """Check the files named on the command line."""
    nm, *files = sys.argv[1:]
    bad = [f"{Path(file).name}: {name}" for file in files for name in shared_symbols(nm, file)]
    if bad:
        sys.exit("Weak symbols that are not the instruction set's own:\n" + "\n".join(bad))
    print(f"{len(files)} object files share no symbols.")


if __name__ == "__main__":
    main()
