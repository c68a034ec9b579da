"""The best rows by what they share with some words and by their score.

A heap keeps the best so far.  Of the rows that come later, only those are looked at whose
count of words may bring them in.
"""

cdef enum:
    # Up to so many postings, and one more for so many rows, rows are counted one by one.
    FEW_POSTINGS = 200
    ROWS_A_POSTING = 256
    STEPS = 31  # of the largest weight
    PARTS = 8  # a block is gone through in, as long as any row may come in


# milkd.engine.ranking.Ranking, with the columns as they lie in memory.
cdef struct Order:
    const double* w
    const double* u
    const double* updated_at
    const double* importance
    const uint32_t* evidence
    const uint32_t* consumer
    const double* weights  # NULL: all alike
    double min_w
    double c
    double wall
    double u_now
    double importance_weight
    int64_t asked_by
    bint by_hits
    bint rest


cdef struct Top:
    const Rows* rows
    const Wanted* wanted
    const Order* order
    Best best
    uint8_t* present  # by place of a word; all 0 between rows


cdef inline bint passes(const Order* order, uint32_t slot) noexcept nogil:
    """Whether a row is strong enough and meant for the asker."""
    if not order.w[slot] >= order.min_w:
        return False
    if order.asked_by == -1 or order.consumer[slot] == 0:
        return True
    return order.consumer[slot] == order.asked_by


cdef inline double score_of(const Order* order, uint32_t slot) noexcept nogil:
    """The `order_score` of a row; this order of operations is the definition."""
    # EVIDENCE_WEIGHT and EVIDENCE_CAP of milkd.engine.ranking
    cdef double e = 0.05 * <double>(order.evidence[slot] if order.evidence[slot] < 4 else 4)
    cdef double fresh = order.u_now if order.updated_at[slot] > order.wall else order.u[slot]
    cdef double score = order.w[slot] * (1.0 + e) * (1.0 + order.c * fresh)
    return score * (1.0 + order.importance_weight * (order.importance[slot] - 0.5))


cdef inline void consider(Top* top, uint32_t slot, double level) noexcept nogil:
    """Let a row of that level in if it passes and is among the best."""
    cdef const Entry* worst = &top.best.entries[0]
    cdef bint is_in_need = not is_full(&top.best)
    cdef double score
    if not is_in_need and level < worst.level:
        return
    if passes(top.order, slot):
        score = score_of(top.order, slot)
        # Most rows are of the worst one's level and score less.
        if is_in_need or level > worst.level or score >= worst.score:
            offer(&top.best, level, score, slot)


cdef double weight_of(Top* top, uint32_t slot) noexcept nogil:
    """What the words that a row shares weigh; added in the order of the words, by definition."""
    cdef const Wanted* wanted = top.wanted
    cdef const uint32_t* words = top.rows.words[slot]
    cdef uint32_t at, rank
    cdef double weight = 0.0
    for at in range(top.rows.lengths[slot]):
        rank = rank_of(wanted, words[at])
        if rank:
            top.present[wanted.places[rank - 1]] = 1
    for at in range(wanted.total):
        if top.present[at]:
            weight += top.order.weights[at]
            top.present[at] = 0
    return weight


cdef bint is_few(const Rows* rows, const Wanted* wanted) noexcept nogil:
    return wanted.rows <= FEW_POSTINGS + rows.end // ROWS_A_POSTING


cdef bint find_top(Top* top) noexcept nogil:
    """Find the best rows; whether there was memory."""
    cdef const Order* order = top.order
    cdef bint weighs = order.weights != NULL and order.by_hits
    if order.rest and (not order.by_hits or (weighs and not can_be_counted(top))):
        go_through(top, True, True)
        return True
    if weighs and not can_be_counted(top):
        go_through(top, True, False)
    elif is_few(top.rows, top.wanted):
        if not take_counted(top, weighs):
            return False
    elif not take_blocks(top, weighs):
        return False
    # Those that share nothing are of level 0.
    if order.rest and (not is_full(&top.best) or top.best.entries[0].level <= 0.0):
        go_through(top, False, True)
    return True


cdef bint can_be_counted(const Top* top) noexcept nogil:
    """Whether weights are what whole steps can stand for: zero or more, and not endless."""
    cdef uint32_t rank
    cdef double weight
    for rank in range(top.wanted.count):
        weight = top.order.weights[top.wanted.places[rank]]
        if not 0.0 <= weight <= 1e300:
            return False
    return True


cdef void go_through(Top* top, bint having, bint lacking) noexcept nogil:
    """Look at all rows: those that have any of the words, those that have none, or both."""
    cdef uint32_t shared, rarest
    cdef size_t slot
    cdef double level
    for slot in range(top.rows.end):
        if top.rows.lengths[slot] == ABSENT or not passes(top.order, <uint32_t>slot):
            continue
        shared = 0
        if top.order.by_hits or not (having and lacking):
            if top.rows.signatures[slot] & top.wanted.signature:
                shared = shared_by(top.wanted, top.rows, slot, &rarest)
        if not (having if shared else lacking):
            continue
        level = 0.0
        if shared and top.order.by_hits:
            level = weight_of(top, <uint32_t>slot) if top.order.weights != NULL else shared
        consider(top, <uint32_t>slot, level)


cdef bint take_counted(Top* top, bint weighs) noexcept nogil:
    """Look at the rows of few postings; whether there was memory."""
    cdef Table table
    cdef uint32_t at, slot
    cdef double level
    if not tally(&table, top.rows, top.wanted):
        return False
    for at in range(table.mask + 1):
        if table.cells[at].value:
            slot = table.cells[at].key
            level = table.cells[at].value if top.order.by_hits else 0.0
            consider(top, slot, weight_of(top, slot) if weighs else level)
    free(table.cells)
    return True


cdef bint take_blocks(Top* top, bint weighs) noexcept nogil:
    """Look at the rows of many postings, block by block; whether there was memory."""
    cdef Planes planes
    cdef double step = step_of(top) if weighs else 0.0
    cdef size_t start
    cdef Counted* counted = line_up(top.rows, top.wanted)
    if counted == NULL:
        return False
    if weighs:
        take_steps(top, counted, step)
    planes.most = set_reaches(counted, top.wanted.count)
    planes.depth = bit_length(planes.most)
    for start from 0 <= start < top.rows.end by BLOCK_ROWS:
        count_block(&planes, counted, top.wanted.count, <uint32_t>start)
        take_block(top, &planes, <uint32_t>start, step)
    free(counted)
    return True


cdef double step_of(const Top* top) noexcept nogil:
    """What a step weighs."""
    cdef double most = 0.0
    cdef uint32_t rank
    for rank in range(top.wanted.count):
        most = max(most, top.order.weights[top.wanted.places[rank]])
    # Where weights are next to nothing, a step of nothing could not be counted in.
    return most / STEPS if most > 1e-280 else 1.0


cdef void take_steps(const Top* top, Counted* counted, double step) noexcept nogil:
    """Let postings count for so many steps as are not less than they weigh."""
    cdef uint32_t at
    cdef double weight
    for at in range(top.wanted.count):
        weight = top.order.weights[top.wanted.places[counted[at].rank]]
        counted[at].steps += <uint32_t>(weight / step)


cdef void take_block(Top* top, const Planes* planes, uint32_t start, double step) noexcept nogil:
    """Look at the rows of a block, those of high counts first as long as all may come in."""
    cdef uint64_t done[BLOCK]
    cdef uint64_t equal[BLOCK]
    cdef uint64_t more[BLOCK]
    cdef uint64_t least, above = planes.most + 1
    cdef uint32_t at
    memset(done, 0, sizeof(done))
    while True:
        least = least_count(top, step)
        if above <= least:
            break
        if not is_full(&top.best) and top.order.by_hits:
            least = max(least, above - min(above, planes.most // PARTS + 1))
        compare(planes, least, equal, more)
        for at in range(BLOCK):
            if more[at] & ~done[at]:
                take_word(top, planes, at, more[at] & ~done[at], start, step)
            if equal[at]:
                take_equal(top, equal[at], start + 64 * at, step, <double>least)
            done[at] = equal[at] | more[at]
        above = least


cdef uint64_t least_count(const Top* top, double step) noexcept nogil:
    """How many steps a row must have to come in."""
    cdef double level
    if not is_full(&top.best) or not top.order.by_hits:
        return 1
    level = top.best.entries[0].level
    if step > 0.0:
        # A row of n steps weighs at most n * step, but for rounding.
        level = level / step * (1.0 - 1e-9)
    return max(<uint64_t>1, <uint64_t>level)


cdef void take_word(
    Top* top, const Planes* planes, uint32_t at, uint64_t found, uint32_t start, double step
) noexcept nogil:
    """Look at those of 64 rows whose bits are set."""
    cdef int bit
    while found:
        bit = lowest_bit(found)
        found &= found - 1
        take_equal(
            top, <uint64_t>1 << bit, start + 64 * at, step, <double>count_of(planes, at, bit)
        )


cdef inline void take_equal(
    Top* top, uint64_t found, uint32_t start, double step, double count
) noexcept nogil:
    """Look at those of 64 rows, all of one count, whose bits are set."""
    cdef uint32_t slot
    cdef double level = count if top.order.by_hits else 0.0
    while found:
        slot = start + lowest_bit(found)
        found &= found - 1
        consider(top, slot, weight_of(top, slot) if step > 0.0 else level)
