"""Read focus stacks: a folder, a pattern, a list of files, or one file that holds a stack.

Files are recognised by their content, properties are known before any pixel is decoded, and
whatever is wrong with a file becomes an error of `varfocus.errors` that names it.
"""

from varfocus.io import lens
from varfocus.io.frames import FileFrame
from varfocus.io.read import read_stack

__all__ = ["FileFrame", "lens", "read_stack"]
