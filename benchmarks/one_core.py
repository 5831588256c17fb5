"""Importing this, before anything else, gives a benchmark one core: libraries that start threads start none.

Seconds of the processor are those of all threads. With two of them, a product that takes as long as before counts
twice. Whoever has set one of these variables has their say.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
