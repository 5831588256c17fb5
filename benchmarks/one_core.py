"""Import this module first to restrict a benchmark to one thread.

Processor seconds are summed over all threads, so threads without a speed-up would count several times. Variables that
are already set are kept.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
