"""``python -m varfocus``."""

import sys

from varfocus.cli import main

sys.exit(main())
