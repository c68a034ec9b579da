# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, freethreading_compatible=True
"""The column passes and the indexes of milkd.engine, compiled.

The references say what each name means: `_kernels_py`, `_words_py` and `_index_py`.
This module returns the same values to the last bit, from the same operations in
the same order.  Directives count only on the first line of the file.

Columns belong to the caller and are written in place.  One table, one vocabulary
and the indexes over it belong to one thread.  The passes keep the interpreter
lock, because an array could be resized by another thread as soon as it were
released; a long search of an index releases it and holds what it reads.
"""

from cpython cimport array
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.float cimport PyFloat_FromDouble
from cpython.list cimport PyList_New, PyList_SET_ITEM
from cpython.long cimport PyLong_FromUnsignedLong
from cpython.ref cimport Py_INCREF
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.math cimport INFINITY, sqrt
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, qsort, realloc
from libc.string cimport memcmp, memcpy, memmove, memset

import os
from array import array as column_type

from milkd.engine.text import STOP_WORDS, fold

cimport cython

cdef extern from "Python.h":
    bint PyUnicode_IS_ASCII(object)
    void* PyUnicode_1BYTE_DATA(object)
    Py_ssize_t PyUnicode_GET_LENGTH(object)

ABI = 2

include "columns.pxi"
include "best.pxi"
include "lowest.pxi"
include "cells.pxi"
include "hashing.pxi"
include "vocabulary.pxi"
include "words.pxi"
include "postings.pxi"
include "wanted.pxi"
include "alike.pxi"
include "counting.pxi"
include "top.pxi"
include "ranking.pxi"
include "index.pxi"
