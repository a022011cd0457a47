#!/bin/sh
# Builds the kernels with AddressSanitizer and UBSan in a scratch folder, leaving the installed
# package alone, and runs the kernel tests on them, with every instruction set that the machine has
# and once with vectors of sixteen floats under AVX2. Arguments go to pytest.
#
#     PYTHON=.venv/bin/python tests/engine/run_sanitized.sh
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
python=${PYTHON:-python3}
case $python in */*) python=$(cd "$(dirname "$python")" && pwd)/$(basename "$python") ;; esac
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

cmake -S "$root" -B "$scratch/build" -DVARFOCUS_SANITIZE=ON -DVARFOCUS_TEST_WIDTHS=ON -DCMAKE_BUILD_TYPE=RelWithDebInfo \
    -DPython_EXECUTABLE="$python" -Dnanobind_DIR="$("$python" -m nanobind --cmake_dir)" \
    > "$scratch/log" 2>&1 || { cat "$scratch/log"; exit 1; }
cmake --build "$scratch/build" --parallel 2 >> "$scratch/log" 2>&1 || { cat "$scratch/log"; exit 1; }

# The package's sources beside the sanitized extension, ahead of anything installed.
cp -R "$root/src/varfocus" "$scratch/varfocus"
cp "$scratch"/build/_kernels* "$scratch/varfocus/engine/"

# Python itself leaks on purpose; its own allocator would hide overruns from the sanitizer.
cd "$root"
LD_PRELOAD="$(${CXX:-c++} -print-file-name=libasan.so) $(${CXX:-c++} -print-file-name=libstdc++.so)" \
ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 PYTHONMALLOC=malloc \
    "$python" -c "
import sys
# An editable installation would find its own extension first.
sys.meta_path[:] = [f for f in sys.meta_path if 'ScikitBuild' not in type(f).__name__]
sys.path.insert(0, '$scratch')
import varfocus.engine
assert varfocus.engine.kernels.__file__.startswith('$scratch'), varfocus.engine.kernels.__file__
import pytest
sys.exit(pytest.main(['-q', '-p', 'no:cacheprovider', 'tests/engine', *sys.argv[1:]]))
" "$@"
