#!/bin/sh
# The hostile campaign, then the tests of the kernel, the validator, files and APIs, on a build with
# AddressSanitizer and UBSan: run.sh [N [SEED]].  Nothing outside a temporary directory is written.
set -eu

count=${1:-10000}
seed=${2:-0}
python=${PYTHON:-python}
tests=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# The outside project of the tests is built with them too.
options="-Dbuildtype=debugoptimized -Db_sanitize=address,undefined -Db_lundef=false"
export PROXSDCA_MESON_ARGS="$options"

"$python" -m pip install --quiet --no-build-isolation --no-deps --target "$tmp/site" \
    -Cbuild-dir="$tmp/build" $(for option in $options; do echo "-Csetup-args=$option"; done) \
    "$tests/.."

# -S: without site's .pth files no other proxsdca, installed for development, comes first.
sanitized() {
    PYTHONPATH="$tmp/site:$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')" \
    LD_PRELOAD="$(gcc -print-file-name=libasan.so):$(gcc -print-file-name=libubsan.so)" \
    ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1 \
    PYTHONMALLOC=malloc PYTHONDONTWRITEBYTECODE=1 "$python" -S "$@"
}

cd "$tests"
sanitized -c "import proxsdca; assert proxsdca.__file__.startswith('$tmp'), proxsdca.__file__"

# First that they see: an overflow of a signed number, and a read beyond the end.
sanitized -c 'import numpy as np
from proxsdca._core import checks, rows
checks.first_outside(np.zeros(1, np.int32), -(2**63))
rows.dense_rows(np.ones((2, 4096))).matvec(np.ones(1))' >"$tmp/control" 2>&1 || true
for seen in "runtime error: signed integer overflow" "ERROR: AddressSanitizer: heap-buffer-overflow"
do
    grep -q "$seen" "$tmp/control" || { cat "$tmp/control"; echo "not seen: $seen"; exit 1; }
done

status=0
sanitized test_hostile.py "$count" "$seed" >"$tmp/campaign" 2>&1 || status=$?
cat "$tmp/campaign"
# without what measures memory, most of which is the sanitizer's here
sanitized -m pytest -p no:cacheprovider test_kernel.py test_validate.py test_intercept.py \
    test_oracles.py test_structured.py test_own_losses.py test_own_regularizers.py \
    test_compiled_losses.py test_cython_api.py test_io.py test_second_order.py \
    test_vector.py --deselect test_io.py::test_memory >"$tmp/tests" 2>&1 || status=$?
cat "$tmp/tests"
if grep -q -e "runtime error: " -e "ERROR: AddressSanitizer" "$tmp/campaign" "$tmp/tests"; then
    status=1
else
    echo "no report"
fi
exit "$status"
