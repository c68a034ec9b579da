"""How many of the words rows have, by counting rows one by one or 64 at a time."""

cdef extern from *:
    """
    #if defined(__GNUC__) || defined(__clang__)
    #define milkd_lowest_bit(value) __builtin_ctzll(value)
    #else
    static int milkd_lowest_bit(unsigned long long value) {
        int at = 0;
        while (!((value >> at) & 1)) at++;
        return at;
    }
    #endif
    """
    int lowest_bit "milkd_lowest_bit" (unsigned long long value) noexcept nogil

cdef enum:
    MOST_PLANES = 40  # 2 ** 32 words of up to 63 steps


# --- one by one ---------------------------------------------------------------------

# Rows and how often they were seen: `key` is the slot, `value` the count.
cdef bint tally(Table* table, const Rows* rows, const Wanted* wanted) noexcept nogil:
    """Count the words of each row that has any; whether there was memory."""
    cdef Posting* posting
    cdef const uint32_t* slots
    cdef uint32_t rank, i, at, slot
    if wanted.rows > 1 << 30 or not start_table(table, <uint32_t>wanted.rows):
        return False
    for rank in range(wanted.count):
        posting = &rows.postings[wanted.order[rank].slot]
        slots = slots_of(posting)
        for i in range(posting.count):
            slot = slots[i]
            at = home(table, spread(slot))
            while table.cells[at].value and table.cells[at].key != slot:
                at = (at + 1) & table.mask
            table.cells[at].key = slot
            table.cells[at].value += 1
    return True


# --- 64 at a time -------------------------------------------------------------------

# The counts of a block of rows as binary numbers: the first plane has the lowest bits.
cdef struct Planes:
    uint64_t most  # no count is higher
    uint32_t depth  # planes in use
    uint64_t bits[MOST_PLANES][BLOCK]


# A posting that is being counted.
cdef struct Counted:
    const uint64_t* bits  # NULL: read the rows
    const uint32_t* slots  # those that are still to be read
    const uint32_t* end
    uint32_t rank
    uint32_t steps  # what it adds to the count of a row
    uint32_t reach  # the planes in use when it has been added


cdef Counted* line_up(const Rows* rows, const Wanted* wanted) noexcept nogil:
    """The postings, those with bitmaps first, each of one step; NULL if there is no memory."""
    cdef Counted* counted = <Counted*>malloc(wanted.count * sizeof(Counted) + 1)
    cdef Posting* posting
    cdef uint32_t rank, first = 0, last = wanted.count, at
    if counted == NULL:
        return NULL
    for rank in range(wanted.count):
        posting = &rows.postings[wanted.order[rank].slot]
        if posting.bits == NULL:
            last -= 1
            at = last
        else:
            at = first
            first += 1
        counted[at].bits, counted[at].slots = posting.bits, slots_of(posting)
        counted[at].end = counted[at].slots + posting.count
        counted[at].rank, counted[at].steps = rank, 1
    return counted


cdef uint64_t set_reaches(Counted* counted, uint32_t lists) noexcept nogil:
    """Find out how far each one's adding goes; the steps of all of them together."""
    cdef uint64_t steps = 0
    cdef uint32_t at
    for at in range(lists):
        steps += counted[at].steps
        counted[at].reach = bit_length(steps)
    return steps


cdef uint32_t bit_length(uint64_t value) noexcept nogil:
    cdef uint32_t length = 0
    while value:
        value >>= 1
        length += 1
    return length


cdef void add_bits(
    Planes* planes, const uint64_t* bits, uint32_t power, uint32_t reach
) noexcept nogil:
    """Add 2 ** power to the count of each row that has its bit set."""
    cdef uint64_t carry[BLOCK]
    cdef uint32_t plane, at
    cdef uint64_t* sums
    cdef uint64_t before
    memcpy(carry, bits, sizeof(carry))
    for plane in range(power, reach):
        sums = planes.bits[plane]
        for at in range(BLOCK):
            before = sums[at]
            sums[at] = before ^ carry[at]
            carry[at] &= before


cdef void add_two(
    Planes* planes, const uint64_t* one, const uint64_t* other, uint32_t reach
) noexcept nogil:
    """Add 1 for each of two bits: a third of the work is saved."""
    cdef uint64_t carry[BLOCK]
    cdef uint32_t plane, at
    cdef uint64_t* sums = planes.bits[0]
    cdef uint64_t before, both
    for at in range(BLOCK):
        before, both = sums[at], one[at] ^ other[at]
        sums[at] = before ^ both
        carry[at] = (one[at] & other[at]) | (before & both)
    for plane in range(1, reach):
        sums = planes.bits[plane]
        for at in range(BLOCK):
            before = sums[at]
            sums[at] = before ^ carry[at]
            carry[at] &= before


cdef void add_rows(Planes* planes, Counted* counted, uint32_t start) noexcept nogil:
    """Add the steps of a posting to its rows in a block, one by one."""
    cdef const uint32_t* slots = counted.slots
    cdef uint32_t at, power, steps
    cdef uint64_t bit, carry, before
    while slots < counted.end and slots[0] - start < BLOCK_ROWS:
        at, bit = (slots[0] - start) >> 6, <uint64_t>1 << (slots[0] & 63)
        power, steps, carry = 0, counted.steps, 0
        while steps or carry:
            before = planes.bits[power][at]
            # A full adder of one row: what is there, what is added, what is carried.
            if steps & 1:
                planes.bits[power][at] = before ^ bit ^ carry
                carry = bit & (before | carry)
            else:
                planes.bits[power][at] = before ^ carry
                carry &= before
            steps >>= 1
            power += 1
        slots += 1
    counted.slots = slots


cdef void count_block(
    Planes* planes, Counted* counted, uint32_t lists, uint32_t start
) noexcept nogil:
    """Count the rows from `start` on."""
    cdef size_t word = start >> 6
    cdef uint32_t at = 0, power, plane
    for plane in range(planes.depth):
        memset(planes.bits[plane], 0, sizeof(planes.bits[plane]))
    while at < lists and counted[at].bits != NULL:
        if is_pair(counted, at, lists):
            at += 2
            add_two(
                planes,
                counted[at - 2].bits + word,
                counted[at - 1].bits + word,
                counted[at - 1].reach,
            )
            continue
        for power in range(bit_length(counted[at].steps)):
            if (counted[at].steps >> power) & 1:
                add_bits(planes, counted[at].bits + word, power, counted[at].reach)
        at += 1
    while at < lists:
        add_rows(planes, &counted[at], start)
        at += 1


cdef inline bint is_pair(const Counted* counted, uint32_t at, uint32_t lists) noexcept nogil:
    """Whether this one and the next have bitmaps and count one step each."""
    if at + 1 >= lists or counted[at + 1].bits == NULL:
        return False
    return counted[at].steps == 1 and counted[at + 1].steps == 1


cdef void compare(
    const Planes* planes, uint64_t number, uint64_t* equal, uint64_t* more
) noexcept nogil:
    """Give the rows of a block whose count is that number, and those whose count is higher."""
    cdef const uint64_t* bits
    cdef uint32_t plane = planes.depth, at
    memset(more, 0, BLOCK * sizeof(uint64_t))
    memset(equal, 0xFF, BLOCK * sizeof(uint64_t))
    while plane > 0:
        plane -= 1
        bits = planes.bits[plane]
        if (number >> plane) & 1:
            for at in range(BLOCK):
                equal[at] &= bits[at]
        else:
            for at in range(BLOCK):
                more[at] |= equal[at] & bits[at]
                equal[at] &= ~bits[at]


cdef inline uint64_t count_of(const Planes* planes, uint32_t at, int bit) noexcept nogil:
    """The count of one row of a block."""
    cdef uint64_t count = 0
    cdef uint32_t plane
    for plane in range(planes.depth):
        count |= ((planes.bits[plane][at] >> bit) & 1) << plane
    return count
