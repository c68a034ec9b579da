"""Which rows of a column have the lowest numbers."""

cdef enum:
    SAMPLE = 1_024  # rows that tell where the k-th lowest number lies
    MARGIN = 5  # standard deviations by which they may be wrong


def lowest(scores, exempt, Py_ssize_t k):
    cdef array.array column = checked("scores", scores, "d")
    cdef array.array passed_by = checked("exempt", exempt, "B")
    cdef size_t at, rows = rows_of([column, passed_by])
    cdef Best best
    if k <= 0:
        return []
    if not start_best(&best, rows):
        raise MemoryError
    try:
        if not lowest_rows(&best, column.data.as_doubles, passed_by.data.as_uchars, k):
            raise MemoryError
        return [best.entries[at].slot for at in range(best.count)]
    finally:
        free(best.entries)


cdef bint lowest_rows(
    Best* best, const double* scores, const uint8_t* exempt, size_t k
) noexcept nogil:
    """Put the k lowest of the column in order; whether there was memory."""
    cdef double bound = likely_bound(scores, exempt, best.most, k)
    take_up_to(best, scores, exempt, bound)
    if best.count < k and bound < INFINITY:
        take_up_to(best, scores, exempt, INFINITY)
    if not sort_entries(best.entries, best.count):
        return False
    best.count = min(best.count, k)
    return True


cdef double likely_bound(
    const double* scores, const uint8_t* exempt, size_t rows, size_t k
) noexcept nogil:
    """A number that k rows, and not many more, are likely not to exceed."""
    cdef Entry sample[SAMPLE]
    cdef size_t at, count = 0, step = rows // SAMPLE
    cdef double expected
    if step < 2:
        return INFINITY
    for at in range(SAMPLE):
        if not exempt[at * step]:
            enter(&sample[count], -scores[at * step], 0.0, 0)
            count += 1
    expected = <double>k / <double>step
    expected += MARGIN * sqrt(expected) + MARGIN
    if expected >= <double>count or not sort_entries(sample, count):
        return INFINITY
    return -sample[<size_t>expected].level


cdef void take_up_to(
    Best* best, const double* scores, const uint8_t* exempt, double bound
) noexcept nogil:
    cdef size_t row
    best.count = 0
    for row in range(best.most):
        if scores[row] <= bound and not exempt[row]:
            # The order of entries is that of falling levels.
            enter(&best.entries[best.count], -scores[row], 0.0, <uint32_t>row)
            best.count += 1
