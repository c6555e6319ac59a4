# Ctrl-C during long passes: signals are looked at after so many entries.

from cpython.exc cimport PyErr_CheckSignals

cdef enum:
    PATIENCE = 2_000_000        # entries read between two looks; a few hundredths of a second


cdef inline int poll() except -1 nogil:
    with gil:
        PyErr_CheckSignals()
    return 0
