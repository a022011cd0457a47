"""A worker process that says what it is told; run by tests of `varfocus.workers`."""

from __future__ import annotations

import sys
import time

from varfocus.workers.child import Line


def main() -> None:
    line = Line()
    sys.stdout.write("printed, not said\n")
    sys.stdout.flush()
    while True:
        message = line.receive()
        match message if isinstance(message, str) else None:
            case "die":
                sys.exit(3)
            case "hang":
                time.sleep(600)
            case "grow":
                held = b"x" * 300_000_000
                time.sleep(600)
                del held
            case "count two":
                others = list[object]()
                while len(others) < 2:
                    others += line.waiting()
                line.send(others)
            case _:
                line.send(message)


if __name__ == "__main__":
    main()
