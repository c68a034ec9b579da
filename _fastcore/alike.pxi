"""The rows most like a set of words, without looking at the others.

A row as similar as a threshold shares at least threshold * n of n words, so it is in a
posting of one of the rarest n - threshold * n + 1.  A row is found in the posting of the
rarest word that it shares.
"""

cdef enum:
    # Up to so many rows, and one more for so many rows by words, rows are read one by one.
    # Length and signature refuse most of them, unless even little similarity is enough.
    FEW_ROWS = 256
    ROWS_A_READING = 64
    ROWS_A_COMPARISON = 4_096
    # Up to so many counts, rows are taken in count by count.
    FEW_LEVELS = 32

cdef double SLACK = 1e-6  # guards bounds against rounding: a row too many costs time, not truth


cdef struct Search:
    const Rows* rows
    const Wanted* wanted
    double threshold
    double part  # of the words of both, what a row must share at least
    uint64_t few  # more rows than this are counted by blocks
    Best* best  # NULL: all that are similar enough are wanted
    Entry* found
    size_t count
    size_t room


cdef void start_search(
    Search* search, const Rows* rows, double threshold, Best* best
) noexcept nogil:
    memset(search, 0, sizeof(Search))
    search.rows, search.best = rows, best
    raise_threshold(search, threshold)


cdef void set_words(Search* search, const Wanted* wanted) noexcept nogil:
    cdef uint32_t share = ROWS_A_READING if search.threshold >= 0.5 else ROWS_A_COMPARISON
    search.wanted = wanted
    search.few = FEW_ROWS + search.rows.end * wanted.count // share


cdef void raise_threshold(Search* search, double threshold) noexcept nogil:
    search.threshold = threshold
    search.part = threshold / (1.0 + threshold) if threshold > 0.0 else 0.0


cdef inline bint may_be_alike(const Search* search, uint32_t slot) noexcept nogil:
    """Whether its length and its signature allow that a row is similar enough."""
    cdef const Wanted* wanted = search.wanted
    cdef uint32_t length = search.rows.lengths[slot]
    cdef double least = search.part * (<double>wanted.total + <double>length) - SLACK
    if <double>length < least:
        return False
    return <double>(bits_in(search.rows.signatures[slot] & wanted.signature) + wanted.lost) >= least


cdef inline double similarity(const Search* search, uint32_t slot, uint32_t shared) noexcept nogil:
    cdef uint64_t every = <uint64_t>search.wanted.total + search.rows.lengths[slot] - shared
    return <double>shared / <double>every


cdef bint is_enough(const Search* search, uint32_t shared) noexcept nogil:
    """Whether a row that shares so many may be similar enough, however short it is."""
    return shared > 0 and <double>shared / <double>search.wanted.total >= search.threshold


cdef bint search_for(Search* search) noexcept nogil:
    """Find what is asked for; whether there was memory."""
    cdef const Wanted* wanted = search.wanted
    cdef Posting* posting
    cdef uint32_t rank = 0
    cdef uint64_t read = 0
    while rank < wanted.count and is_enough(search, wanted.count - rank):
        posting = &search.rows.postings[wanted.order[rank].slot]
        read += posting.count
        # The first postings may have raised the threshold: only now it shows what is left.
        if read > search.few and rows_to_read(search, rank) > search.few:
            search.count = 0
            if search.best != NULL:
                search.best.count = 0
            return search_blocks(search)
        if not search_posting(search, posting, rank):
            return False
        rank += 1
    return True


cdef bint search_posting(Search* search, Posting* posting, uint32_t rank) noexcept nogil:
    """Take in the rows of a posting that share no rarer word."""
    cdef const uint32_t* slots = slots_of(posting)
    cdef const uint32_t* lengths = search.rows.lengths
    cdef uint32_t at, slot, shared, rarest, longest
    # They share no more than this word and those behind it, so they must be short.
    longest = <uint32_t>min(longest_row(search, <double>(search.wanted.count - rank)), 4e9)
    for at in range(posting.count):
        slot = slots[at]
        if lengths[slot] <= longest and may_be_alike(search, slot):
            shared = shared_by(search.wanted, search.rows, slot, &rarest)
            if rarest == rank and not take(search, slot, shared):
                return False
    return True


cdef bint search_blocks(Search* search) noexcept nogil:
    """Count for all rows at once which words they share."""
    cdef Planes planes
    cdef size_t start
    cdef bint done = True
    cdef Counted* counted = line_up(search.rows, search.wanted)
    if counted == NULL:
        return False
    planes.most = set_reaches(counted, search.wanted.count)
    planes.depth = bit_length(planes.most)
    start = 0
    while done and start < search.rows.end:
        count_block(&planes, counted, search.wanted.count, <uint32_t>start)
        done = search_block(search, &planes, <uint32_t>start)
        start += BLOCK_ROWS
    free(counted)
    return done


cdef bint search_block(Search* search, const Planes* planes, uint32_t start) noexcept nogil:
    """Take rows in, those of high counts first; whether there was memory."""
    cdef uint64_t done[BLOCK]
    cdef uint64_t equal[BLOCK]
    cdef uint64_t more[BLOCK]
    cdef uint32_t least, above = <uint32_t>planes.most + 1, at
    memset(done, 0, sizeof(done))
    while above > 1 and is_enough(search, above - 1):
        least = above - 1
        # Count by count as long as what comes first helps to refuse what comes later.
        if search.best == NULL or is_full(search.best) or planes.most > FEW_LEVELS:
            while least > 1 and is_enough(search, least - 1):
                least -= 1
        compare(planes, least, equal, more)
        for at in range(BLOCK):
            if more[at] & ~done[at]:
                if not take_more(search, planes, at, more[at] & ~done[at], start):
                    return False
            if equal[at] and not take_equals(search, equal[at], start + 64 * at, least):
                return False
            done[at] = equal[at] | more[at]
        above = least
    return True


cdef bint take_more(
    Search* search, const Planes* planes, uint32_t at, uint64_t found, uint32_t start
) noexcept nogil:
    """Take in those of 64 rows whose bits are set."""
    cdef int bit
    while found:
        bit = lowest_bit(found)
        found &= found - 1
        if not take(search, start + 64 * at + bit, <uint32_t>count_of(planes, at, bit)):
            return False
    return True


cdef bint take_equals(
    Search* search, uint64_t found, uint32_t start, uint32_t shared
) noexcept nogil:
    """Take in those of 64 rows whose bits are set and which share so many words."""
    cdef double longest = longest_row(search, <double>shared)
    cdef uint32_t slot
    while found:
        slot = start + lowest_bit(found)
        found &= found - 1
        if <double>search.rows.lengths[slot] <= longest and not take(search, slot, shared):
            return False
    return True


cdef inline double longest_row(const Search* search, double shared) noexcept nogil:
    """Of more words, a row that shares so many is less similar than the threshold."""
    if search.threshold <= 0.0:
        return INFINITY
    return shared / search.threshold + shared - search.wanted.total + SLACK


cdef inline bint take(Search* search, uint32_t slot, uint32_t shared) noexcept nogil:
    """Take a row in if it is similar enough; whether there was memory."""
    cdef double similar = similarity(search, slot, shared)
    if not similar >= search.threshold:
        return True
    if search.best == NULL:
        return keep(search, similar, slot)
    offer(search.best, similar, 0.0, slot)
    if is_full(search.best) and search.best.entries[0].level > search.threshold:
        raise_threshold(search, search.best.entries[0].level)
    return True


cdef bint keep(Search* search, double similar, uint32_t slot) noexcept nogil:
    cdef size_t room = max(<size_t>16, 2 * search.room)
    cdef Entry* found
    if search.count == search.room:
        found = <Entry*>realloc(search.found, room * sizeof(Entry))
        if found == NULL:
            return False
        search.found, search.room = found, room
    enter(&search.found[search.count], similar, 0.0, slot)
    search.count += 1
    return True


cdef uint64_t rows_to_read(const Search* search, uint32_t rank) noexcept nogil:
    """How many rows the postings have that must be read from a rank on."""
    cdef const Wanted* wanted = search.wanted
    cdef uint64_t rows = 0
    while rank < wanted.count and is_enough(search, wanted.count - rank):
        rows += search.rows.postings[wanted.order[rank].slot].count
        rank += 1
    return rows


cdef bint sort_found(Search* search) noexcept nogil:
    """Put in order what was found; whether there was memory."""
    if search.best == NULL:
        return sort_entries(search.found, search.count)
    return sort_entries(search.best.entries, search.best.count)
