"""One call: from a folder of photographs to depth, confidence and an all-in-focus picture.

python examples/one_call.py shots/ out/
"""

import sys

import varfocus

result = varfocus.reconstruct(varfocus.read_stack(sys.argv[1]))
result.save(sys.argv[2])
print(f"depth from {result.depth.min():.2f} to {result.depth.max():.2f} {result.unit}")
