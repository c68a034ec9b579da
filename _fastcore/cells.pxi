"""A hash table from 32-bit keys to numbers; several values may have one key."""

cdef enum:
    LEAST_CELLS = 16


# `value` is the number and one more; 0 is an empty cell.
cdef struct Cell:
    uint32_t key
    uint32_t value


# At most half of the cells are used, so a search meets an empty one soon.
cdef struct Table:
    Cell* cells
    uint32_t mask
    uint32_t used
    int shift


cdef bint start_table(Table* table, uint32_t values) noexcept nogil:
    """Make room for so many values; whether there was memory."""
    cdef uint64_t size = LEAST_CELLS
    table.shift = 28
    while size < 2 * <uint64_t>values:
        size *= 2
        table.shift -= 1
    table.mask = <uint32_t>(size - 1)
    table.used = 0
    table.cells = <Cell*>calloc(size, sizeof(Cell))
    return table.cells != NULL


cdef inline uint32_t home(const Table* table, uint32_t key) noexcept nogil:
    """Where a search for a key begins: its upper bits, which vary most."""
    return key >> table.shift


cdef inline uint32_t spread(uint32_t number) noexcept nogil:
    """A key for a small number, another one for each."""
    return number * <uint32_t>2654435769  # 2 ** 32 / golden ratio (Knuth, vol. 3, 6.4)


cdef bint make_room_in(Table* table, uint32_t more) noexcept nogil:
    """Make sure that so many values can be put; whether there was memory."""
    cdef Table larger
    cdef uint32_t at
    if 2 * (<uint64_t>table.used + more) <= table.mask:
        return True
    if table.used + more > 1 << 30 or not start_table(&larger, 2 * (table.used + more)):
        return False
    for at in range(table.mask + 1):
        if table.cells[at].value:
            put(&larger, table.cells[at].key, table.cells[at].value - 1)
    free(table.cells)
    table[0] = larger
    return True


cdef void put(Table* table, uint32_t key, uint32_t number) noexcept nogil:
    """Enter a value for which there is room."""
    cdef uint32_t at = home(table, key)
    while table.cells[at].value:
        at = (at + 1) & table.mask
    table.cells[at].key, table.cells[at].value = key, number + 1
    table.used += 1


cdef void take_out(Table* table, uint32_t key, uint32_t number) noexcept nogil:
    """Remove a value that is there; those behind it move up, so that no gap hides them."""
    cdef Cell* cells = table.cells
    cdef uint32_t gap = home(table, key), at, mask = table.mask
    while cells[gap].value != number + 1:
        gap = (gap + 1) & mask
    at = gap
    while True:
        at = (at + 1) & mask
        if not cells[at].value:
            break
        # As far from its home as from the gap, or farther: the gap is on its way.
        if ((at - home(table, cells[at].key)) & mask) >= ((at - gap) & mask):
            cells[gap] = cells[at]
            gap = at
    cells[gap].value = 0
    table.used -= 1
