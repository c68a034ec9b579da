"""Passes over columns; what they mean is written in milkd.engine._kernels_py."""

cdef array.array DOUBLES = column_type("d")


cdef array.array checked(str name, object column, str typecode):
    if not isinstance(column, column_type) or column.typecode != typecode:
        raise TypeError(f"{name}: expected array({typecode!r}), found {described(column)}")
    return column


cdef str described(object column):
    if isinstance(column, column_type):
        return f"array({column.typecode!r})"
    return type(column).__name__


cdef Py_ssize_t rows_of(list columns) except -1:
    cdef Py_ssize_t rows = len(columns[0])
    for column in columns:
        if len(column) != rows:
            raise ValueError(
                f"columns of {' and '.join([str(len(c)) for c in columns])} rows, "
                "all must have the same length"
            )
    return rows


def decay(w, exempt, double factor, double floor):
    cdef array.array weights = checked("w", w, "d")
    cdef array.array passed_by = checked("exempt", exempt, "B")
    cdef Py_ssize_t rows = rows_of([weights, passed_by])
    return decay_rows(weights.data.as_doubles, passed_by.data.as_uchars, rows, factor, floor)


cdef Py_ssize_t decay_rows(
    double* w, const unsigned char* exempt, Py_ssize_t rows, double factor, double floor
) noexcept nogil:
    cdef Py_ssize_t row, smaller = 0
    cdef double before
    for row in range(rows):
        before = w[row]
        if not exempt[row] and before > floor:
            w[row] = floor + (before - floor) * factor
            smaller += w[row] < before
    return smaller


def accrue(idle_s, used, double elapsed_s):
    cdef array.array idle = checked("idle_s", idle_s, "d")
    cdef array.array in_use = checked("used", used, "B")
    cdef Py_ssize_t rows = rows_of([idle, in_use])
    accrue_rows(idle.data.as_doubles, in_use.data.as_uchars, rows, elapsed_s)


cdef void accrue_rows(
    double* idle_s, const unsigned char* used, Py_ssize_t rows, double elapsed_s
) noexcept nogil:
    cdef Py_ssize_t row
    for row in range(rows):
        if not used[row]:
            idle_s[row] += elapsed_s


def rank_scores(w, evidence, u, double c):
    cdef array.array weights = checked("w", w, "d")
    cdef array.array counts = checked("evidence", evidence, "I")
    cdef array.array freshness = checked("u", u, "d")
    cdef Py_ssize_t rows = rows_of([weights, counts, freshness])
    cdef array.array scores = array.clone(DOUBLES, rows, zero=False)
    score_rows(
        scores.data.as_doubles,
        weights.data.as_doubles,
        counts.data.as_uints,
        freshness.data.as_doubles,
        rows,
        c,
    )
    return scores


cdef void score_rows(
    double* scores,
    const double* w,
    const unsigned int* evidence,
    const double* u,
    Py_ssize_t rows,
    double c,
) noexcept nogil:
    cdef Py_ssize_t row
    cdef double e
    for row in range(rows):
        # EVIDENCE_WEIGHT and EVIDENCE_CAP of milkd.engine.ranking
        e = 0.05 * (evidence[row] if evidence[row] < 4 else 4)
        scores[row] = w[row] * (1.0 + e) * (1.0 + c * u[row])


def at_most(w, exempt, double threshold):
    cdef array.array weights = checked("w", w, "d")
    cdef array.array passed_by = checked("exempt", exempt, "B")
    cdef Py_ssize_t row, rows = rows_of([weights, passed_by])
    cdef const double* values = weights.data.as_doubles
    cdef const unsigned char* skip = passed_by.data.as_uchars
    return [row for row in range(rows) if not skip[row] and values[row] <= threshold]


def at_least(values, exempt, double threshold):
    cdef array.array column = checked("values", values, "d")
    cdef array.array passed_by = checked("exempt", exempt, "B")
    cdef Py_ssize_t row, rows = rows_of([column, passed_by])
    cdef const double* numbers = column.data.as_doubles
    cdef const unsigned char* skip = passed_by.data.as_uchars
    return [row for row in range(rows) if not skip[row] and numbers[row] >= threshold]
