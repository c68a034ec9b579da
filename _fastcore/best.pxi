"""Entries in their order, and the best few of many."""


cdef struct Entry:
    double level
    double score
    uint32_t slot


# A heap whose root is the worst of the entries, as soon as there are as many as are wanted.
cdef struct Best:
    Entry* entries
    size_t count
    size_t most


cdef inline bint comes_before(const Entry* one, const Entry* other) noexcept nogil:
    """The higher level first, then the higher score, then the lower slot."""
    if one.level != other.level:
        return one.level > other.level
    if one.score != other.score:
        return one.score > other.score
    return one.slot < other.slot


cdef inline void enter(Entry* entry, double level, double score, uint32_t slot) noexcept nogil:
    entry.level, entry.score, entry.slot = level, score, slot


cdef bint start_best(Best* best, size_t most) noexcept nogil:
    best.count = 0
    best.most = most
    best.entries = <Entry*>malloc((most + 1) * sizeof(Entry))
    return best.entries != NULL


cdef inline bint is_full(const Best* best) noexcept nogil:
    return best.count == best.most


cdef void offer(Best* best, double level, double score, uint32_t slot) noexcept nogil:
    """Keep an entry if it is among the best so far."""
    cdef Entry entry
    enter(&entry, level, score, slot)
    if best.count < best.most:
        best.entries[best.count] = entry
        best.count += 1
        if best.count == best.most:
            make_heap(best)
    elif comes_before(&entry, &best.entries[0]):
        sink(best, 0, entry)


cdef void make_heap(Best* best) noexcept nogil:
    cdef size_t at = best.count // 2
    while at > 0:
        at -= 1
        sink(best, at, best.entries[at])


cdef void sink(Best* best, size_t at, Entry entry) noexcept nogil:
    """Put an entry where `at` is, or below."""
    cdef Entry* entries = best.entries
    cdef size_t child
    while True:
        child = 2 * at + 1
        if child >= best.count:
            break
        if child + 1 < best.count and comes_before(&entries[child], &entries[child + 1]):
            child += 1
        if not comes_before(&entry, &entries[child]):
            break
        entries[at] = entries[child]
        at = child
    entries[at] = entry


cdef bint sort_entries(Entry* entries, size_t count) noexcept nogil:
    """Sort them by merging, quickly where they are in order already; whether there was memory."""
    cdef size_t width = 16, start
    cdef Entry* source = entries
    cdef Entry* target
    cdef Entry* other
    for start from 0 <= start < count by 16:
        insertion_sort(entries + start, min(width, count - start))
    if count <= width:
        return True
    other = <Entry*>malloc(count * sizeof(Entry))
    if other == NULL:
        return False
    target = other
    while width < count:
        merge_pairs(source, target, count, width)
        source, target = target, source
        width *= 2
    if source != entries:
        memcpy(entries, source, count * sizeof(Entry))
    free(other)
    return True


cdef void insertion_sort(Entry* entries, size_t count) noexcept nogil:
    cdef size_t at, hole
    cdef Entry entry
    for at in range(1, count):
        entry, hole = entries[at], at
        while hole > 0 and comes_before(&entry, &entries[hole - 1]):
            entries[hole] = entries[hole - 1]
            hole -= 1
        entries[hole] = entry


cdef void merge_pairs(
    const Entry* source, Entry* target, size_t count, size_t width
) noexcept nogil:
    """Merge each two neighbouring runs of a width into one."""
    cdef size_t start = 0, left, right, middle, end, at
    while start < count:
        middle, end = min(start + width, count), min(start + 2 * width, count)
        if middle == end or not comes_before(&source[middle], &source[middle - 1]):
            memcpy(target + start, source + start, (end - start) * sizeof(Entry))
        else:
            left, right = start, middle
            for at in range(start, end):
                if left < middle and (
                    right == end or not comes_before(&source[right], &source[left])
                ):
                    target[at] = source[left]
                    left += 1
                else:
                    target[at] = source[right]
                    right += 1
        start = end


cdef list pairs_of(const Entry* entries, size_t count):
    """Give [(level, slot)]."""
    cdef list pairs = PyList_New(count)
    cdef size_t at
    cdef object level = None
    for at in range(count):
        # Equal numbers come together and can be one object.
        if at == 0 or entries[at].level != entries[at - 1].level:
            level = PyFloat_FromDouble(entries[at].level)
        pair = (level, PyLong_FromUnsignedLong(entries[at].slot))
        Py_INCREF(pair)
        PyList_SET_ITEM(pairs, at, pair)
    return pairs
