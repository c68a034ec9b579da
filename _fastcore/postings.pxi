"""The rows of an index and, word by word, which of them have it.

Rows are slots.  A word of the vocabulary has a posting in each index of which some row
has it; rows name their words by the numbers of postings.
"""

cdef enum:
    BLOCK = 64  # rows are counted by so many times 64
    BLOCK_ROWS = 4096
    # A word of more rows than this, and of more than one row in so many, has a bitmap.
    LEAST_FREQUENT = 64
    ONE_ROW_IN = 64

cdef uint32_t ABSENT = 0xFFFFFFFF  # the length of a row that is not there


cdef union Slots:
    uint32_t few[2]
    uint32_t* many


# The rows of one word, ascending.
cdef struct Posting:
    uint32_t word
    uint32_t count
    uint32_t room  # 0: the rows are inside
    bint is_kept  # an edit under way has the word: not to be freed
    Slots slots
    uint64_t* bits  # the same rows as a bitmap, or NULL


cdef struct Rows:
    Posting* postings
    uint32_t used
    uint32_t posting_room
    uint32_t free_posting  # the first of those that are free, chained by `word`
    Table by_word
    # By slot:
    uint32_t** words  # the postings of a row's words
    uint32_t* lengths  # how many, or ABSENT
    uint64_t* signatures  # a bit for each word; words may share one
    size_t room
    size_t end  # one more than the last slot in use
    size_t count
    size_t frequent


cdef inline uint32_t* slots_of(Posting* posting) noexcept nogil:
    return posting.slots.many if posting.room else posting.slots.few


cdef inline uint64_t signature_bit(uint32_t posting) noexcept nogil:
    return <uint64_t>1 << (spread(posting) >> 26)


cdef inline bint has_row(const Rows* rows, size_t slot) noexcept nogil:
    return slot < rows.end and rows.lengths[slot] != ABSENT


cdef inline size_t words_of_bits(size_t room) noexcept nogil:
    return (room + BLOCK_ROWS - 1) // BLOCK_ROWS * BLOCK


cdef inline uint32_t posting_of(const Rows* rows, uint32_t word) noexcept nogil:
    """The number of a word's posting, or NOBODY."""
    cdef uint32_t key = spread(word)
    cdef uint32_t at = home(&rows.by_word, key)
    while rows.by_word.cells[at].value:
        if rows.by_word.cells[at].key == key:
            return rows.by_word.cells[at].value - 1
        at = (at + 1) & rows.by_word.mask
    return NOBODY


cdef bint start_rows(Rows* rows) noexcept nogil:
    memset(rows, 0, sizeof(Rows))
    rows.free_posting = NOBODY
    rows.frequent = LEAST_FREQUENT
    return start_table(&rows.by_word, 0)


cdef void end_rows(Rows* rows) noexcept nogil:
    cdef size_t at
    for at in range(rows.used):
        if rows.postings[at].count:
            free(rows.postings[at].bits)
            if rows.postings[at].room:
                free(rows.postings[at].slots.many)
    for at in range(rows.end):
        free(rows.words[at])
    free(rows.postings)
    free(rows.by_word.cells)
    free(rows.words)
    free(rows.lengths)
    free(rows.signatures)


cdef bint make_room_for_slot(Rows* rows, size_t slot) noexcept nogil:
    """Make sure that a slot can be filed; whether there was memory."""
    cdef size_t at, room = rows.room + rows.room // 2
    if slot < rows.room:
        return True
    room = max(max(room, slot + 1), <size_t>16)
    words = <uint32_t**>realloc(rows.words, room * sizeof(uint32_t*))
    if words == NULL:
        return False
    rows.words = words
    lengths = <uint32_t*>realloc(rows.lengths, room * sizeof(uint32_t))
    if lengths == NULL:
        return False
    rows.lengths = lengths
    signatures = <uint64_t*>realloc(rows.signatures, room * sizeof(uint64_t))
    if signatures == NULL:
        return False
    rows.signatures = signatures
    if not fit_bitmaps(rows, room):
        return False
    for at in range(rows.room, room):
        rows.words[at], rows.lengths[at], rows.signatures[at] = NULL, ABSENT, 0
    rows.room = room
    return True


cdef bint fit_bitmaps(Rows* rows, size_t room) noexcept nogil:
    """Make the bitmaps reach so many slots; drop those that no longer pay."""
    cdef size_t before = words_of_bits(rows.room), after = words_of_bits(room)
    cdef Posting* posting
    cdef uint32_t at
    if after == before:
        return True
    rows.frequent = max(<size_t>LEAST_FREQUENT, room // ONE_ROW_IN)
    for at in range(rows.used):
        posting = &rows.postings[at]
        if posting.count == 0 or posting.bits == NULL:
            continue
        if posting.count < rows.frequent // 4:
            free(posting.bits)
            posting.bits = NULL
            continue
        bits = <uint64_t*>realloc(posting.bits, after * sizeof(uint64_t))
        if bits == NULL:
            return False
        memset(bits + before, 0, (after - before) * sizeof(uint64_t))
        posting.bits = bits
    return True


cdef uint32_t get_posting(Rows* rows, uint32_t word) noexcept nogil:
    """The posting of a word, made if there is none; NOBODY if there is no memory."""
    cdef uint32_t number = posting_of(rows, word), room
    cdef Posting* posting
    if number != NOBODY:
        return number
    if not make_room_in(&rows.by_word, 1):
        return NOBODY
    if rows.free_posting != NOBODY:
        number = rows.free_posting
        rows.free_posting = rows.postings[number].word
    else:
        if rows.used == rows.posting_room:
            room = max(<uint32_t>16, rows.used + rows.used // 2)
            postings = <Posting*>realloc(rows.postings, room * sizeof(Posting))
            if postings == NULL:
                return NOBODY
            rows.postings, rows.posting_room = postings, room
        number = rows.used
        rows.used += 1
    posting = &rows.postings[number]
    memset(posting, 0, sizeof(Posting))
    posting.word = word
    put(&rows.by_word, spread(word), number)
    return number


cdef void drop_posting(Rows* rows, uint32_t number) noexcept nogil:
    """Free what no row has any more."""
    cdef Posting* posting = &rows.postings[number]
    take_out(&rows.by_word, spread(posting.word), number)
    free(posting.bits)
    if posting.room:
        free(posting.slots.many)
    posting.bits, posting.room = NULL, 0
    posting.word, rows.free_posting = rows.free_posting, number


cdef bint make_room_for_row(Posting* posting) noexcept nogil:
    """Make sure that one more row can be entered; whether there was memory."""
    cdef uint32_t room
    cdef uint32_t* many
    if posting.count < (posting.room if posting.room else 2):
        return True
    if not posting.room:
        many = <uint32_t*>malloc(4 * sizeof(uint32_t))
        if many == NULL:
            return False
        memcpy(many, posting.slots.few, sizeof(posting.slots.few))
        posting.slots.many, posting.room = many, 4
        return True
    room = posting.room + posting.room // 2
    many = <uint32_t*>realloc(posting.slots.many, room * sizeof(uint32_t))
    if many == NULL:
        return False
    posting.slots.many, posting.room = many, room
    return True


cdef uint32_t place_of(const uint32_t* slots, uint32_t count, uint32_t slot) noexcept nogil:
    """Where a slot is, or would be."""
    cdef uint32_t start = 0, middle
    while start < count:
        middle = start + (count - start) // 2
        if slots[middle] < slot:
            start = middle + 1
        else:
            count = middle
    return start


cdef bint has_slot(Posting* posting, uint32_t slot) noexcept nogil:
    cdef uint32_t at = place_of(slots_of(posting), posting.count, slot)
    return at < posting.count and slots_of(posting)[at] == slot


cdef void enter_row(Rows* rows, Posting* posting, uint32_t slot) noexcept nogil:
    """Add a row for which there is room."""
    cdef uint32_t* slots = slots_of(posting)
    cdef uint32_t count = posting.count, at = count
    if count and slot < slots[count - 1]:
        at = place_of(slots, count, slot)
        memmove(slots + at + 1, slots + at, (count - at) * sizeof(uint32_t))
    slots[at] = slot
    posting.count = count + 1
    if posting.bits != NULL:
        posting.bits[slot >> 6] |= <uint64_t>1 << (slot & 63)
    elif posting.count > rows.frequent:
        make_bitmap(rows, posting)


cdef void make_bitmap(Rows* rows, Posting* posting) noexcept nogil:
    """Keep the rows as a bitmap too; without memory for it they are found without."""
    cdef uint32_t* slots = slots_of(posting)
    cdef uint32_t at
    posting.bits = <uint64_t*>calloc(words_of_bits(rows.room), sizeof(uint64_t))
    if posting.bits != NULL:
        for at in range(posting.count):
            posting.bits[slots[at] >> 6] |= <uint64_t>1 << (slots[at] & 63)


cdef void leave_row(Posting* posting, uint32_t slot) noexcept nogil:
    """Take a row out that is there."""
    cdef uint32_t* slots = slots_of(posting)
    cdef uint32_t at = place_of(slots, posting.count, slot)
    posting.count -= 1
    memmove(slots + at, slots + at + 1, (posting.count - at) * sizeof(uint32_t))
    if posting.bits != NULL:
        posting.bits[slot >> 6] &= ~(<uint64_t>1 << (slot & 63))
    if posting.room > 8 and posting.count < posting.room // 4:
        slots = <uint32_t*>realloc(posting.slots.many, posting.room // 2 * sizeof(uint32_t))
        if slots != NULL:
            posting.slots.many, posting.room = slots, posting.room // 2
