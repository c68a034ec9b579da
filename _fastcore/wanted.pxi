"""The words of a question as an index knows them, and what a row shares with them."""


# One piece of memory holds the arrays.  Nothing of the vocabulary is in it: a long search
# goes on while another thread may read texts.
cdef struct Wanted:
    uint32_t total  # words asked for
    uint32_t count  # those that some row has
    uint32_t mask
    int shift
    uint32_t lost  # words that share their bit of the signature with another
    uint64_t signature
    uint64_t rows  # of all postings together
    Entry* order  # the postings, the rarest first: `slot` is the number
    Cell* cells  # by posting: its rank in `order`
    uint32_t* places  # by rank: the place of the word among those asked for


cdef bint start_wanted(Wanted* wanted, const Rows* rows, Words words) noexcept:
    """Look words up; whether there was memory."""
    cdef uint32_t at, number, size = 32
    cdef size_t needed
    wanted.shift = 27
    while size < 4 * <uint64_t>words.count:
        size *= 2
        wanted.shift -= 1
    wanted.mask = size - 1
    needed = size * sizeof(Cell) + words.count * (sizeof(Entry) + sizeof(uint32_t))
    wanted.cells = <Cell*>malloc(needed)
    if wanted.cells == NULL:
        return False
    wanted.order = <Entry*>(wanted.cells + size)
    wanted.places = <uint32_t*>(wanted.order + words.count)
    wanted.total, wanted.count = words.count, 0
    for at in range(words.count):
        number = posting_of(rows, words.numbers[at])
        if number != NOBODY:
            wanted.order[wanted.count].level = -<double>rows.postings[number].count
            wanted.order[wanted.count].score = -<double>at
            wanted.order[wanted.count].slot = number
            wanted.count += 1
    if not sort_entries(wanted.order, wanted.count):
        free(wanted.cells)
        return False
    fill_cells(wanted, rows)
    return True


cdef void fill_cells(Wanted* wanted, const Rows* rows) noexcept nogil:
    cdef uint32_t rank, number, at, distinct
    memset(wanted.cells, 0, (<size_t>wanted.mask + 1) * sizeof(Cell))
    wanted.signature = wanted.rows = 0
    for rank in range(wanted.count):
        number = wanted.order[rank].slot
        wanted.places[rank] = <uint32_t>-wanted.order[rank].score
        wanted.rows += rows.postings[number].count
        wanted.signature |= signature_bit(number)
        at = spread(number) >> wanted.shift
        while wanted.cells[at].value:
            at = (at + 1) & wanted.mask
        wanted.cells[at].key, wanted.cells[at].value = number, rank + 1
    distinct = bits_in(wanted.signature)
    wanted.lost = wanted.count - distinct


cdef void end_wanted(Wanted* wanted) noexcept nogil:
    free(wanted.cells)


cdef inline uint32_t rank_of(const Wanted* wanted, uint32_t number) noexcept nogil:
    """The rank of a posting, and one more; 0 if it is not wanted."""
    cdef uint32_t at = spread(number) >> wanted.shift
    while wanted.cells[at].value:
        if wanted.cells[at].key == number:
            return wanted.cells[at].value
        at = (at + 1) & wanted.mask
    return 0


cdef inline uint32_t shared_by(
    const Wanted* wanted, const Rows* rows, size_t slot, uint32_t* rarest
) noexcept nogil:
    """How many of the words a row has, and the rank of the rarest of them."""
    cdef const uint32_t* words = rows.words[slot]
    cdef uint32_t at, rank, shared = 0
    rarest[0] = NOBODY
    for at in range(rows.lengths[slot]):
        rank = rank_of(wanted, words[at])
        if rank:
            shared += 1
            if rank - 1 < rarest[0]:
                rarest[0] = rank - 1
    return shared


cdef inline uint32_t bits_in(uint64_t value) noexcept nogil:
    """How many bits are set; the compiler's own function calls a library on old processors."""
    value -= (value >> 1) & <uint64_t>0x5555555555555555
    value = (value & <uint64_t>0x3333333333333333) + ((value >> 2) & <uint64_t>0x3333333333333333)
    value = (value + (value >> 4)) & <uint64_t>0x0F0F0F0F0F0F0F0F
    return <uint32_t>((value * <uint64_t>0x0101010101010101) >> 56)
