"""What milkd.engine.ranking.Ranking says, as the search reads it, and what it finds."""

# Columns that can't be resized as long as they are held.
cdef struct Columns:
    Py_buffer held[7]
    int count


cdef int read_numbers(Order* order, ranking) except -1:
    order.min_w, order.asked_by = ranking.min_w, ranking.asked_by
    order.c, order.wall, order.u_now = ranking.c, ranking.wall, ranking.u_now
    order.importance_weight = ranking.importance_weight
    order.by_hits, order.rest = ranking.by_hits, ranking.rest
    return 0


cdef int hold_columns(
    Columns* columns, Order* order, ranking, size_t rows, size_t words
) except -1:
    """Check the columns and hold them.

    Raises:
        TypeError: One is not an array of its typecode.
        ValueError: One is shorter than the rows, or the weights are not one for each word.
    """
    columns.count = 0
    try:
        order.w = <const double*>held_column(columns, ranking, "w", "d", rows)
        order.evidence = <const uint32_t*>held_column(columns, ranking, "evidence", "I", rows)
        order.u = <const double*>held_column(columns, ranking, "u", "d", rows)
        order.updated_at = <const double*>held_column(columns, ranking, "updated_at", "d", rows)
        order.importance = <const double*>held_column(columns, ranking, "importance", "d", rows)
        order.consumer = <const uint32_t*>held_column(columns, ranking, "consumer", "I", rows)
        order.weights = NULL
        if ranking.weights is not None:
            order.weights = <const double*>held_column(columns, ranking, "weights", "d", 0)
            if len(ranking.weights) != words:
                raise ValueError(f"weights: {len(ranking.weights)} of them, for {words} words")
    except:
        let_go(columns)
        raise
    return 0


cdef void* held_column(
    Columns* columns, ranking, str name, str typecode, size_t rows
) except NULL:
    cdef array.array column = checked(name, getattr(ranking, name), typecode)
    cdef Py_buffer* held = &columns.held[columns.count]
    if <size_t>len(column) < rows:
        raise ValueError(f"{name}: column of {len(column)} rows, the index has {rows}")
    PyObject_GetBuffer(column, held, PyBUF_SIMPLE)
    columns.count += 1
    return held.buf


cdef void let_go(Columns* columns) noexcept:
    cdef int at
    for at in range(columns.count):
        PyBuffer_Release(&columns.held[at])


cdef list triples_of(Top* top):
    """Give [(hits, score, slot)]."""
    cdef list triples = []
    cdef Entry* entry
    cdef size_t at
    cdef uint32_t rarest
    # Making objects may set off whatever is to be done when others end: read the index first.
    for at in range(top.best.count):
        entry = &top.best.entries[at]
        entry.level = shared_by(top.wanted, top.rows, entry.slot, &rarest)
    for at in range(top.best.count):
        entry = &top.best.entries[at]
        triples.append((<uint32_t>entry.level, entry.score, entry.slot))
    return triples
