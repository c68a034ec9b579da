"""From words to rows; what it means is written in milkd.engine._index_py."""

cdef enum:
    # What reads more than this takes longer than some 100 us: other threads go on meanwhile.
    LONG_SEARCH = 20_000  # rows
    LONG_COUNT = 1_500_000  # rows, counted in blocks for each word


@cython.no_gc_clear
cdef class TokenIndex:
    """The rows of one scope by the words of a vocabulary."""

    cdef Vocabulary vocabulary
    cdef Rows rows
    cdef int searches  # under way in other threads

    def __cinit__(self, Vocabulary vocabulary not None):
        self.vocabulary = vocabulary
        if not start_rows(&self.rows):
            raise MemoryError

    def __dealloc__(self):
        cdef uint32_t at
        for at in range(self.rows.used):
            if self.rows.postings[at].count:
                self.vocabulary.release(self.rows.postings[at].word)
        end_rows(&self.rows)

    def __len__(self):
        return self.rows.count

    def __contains__(self, slot):
        return self.place(slot) >= 0

    def add(self, uint32_t slot, Words words not None):
        """File a row under its words, instead of what it was filed under before."""
        cdef uint32_t* row
        self.check(words)
        if has_row(&self.rows, slot) and self.is_filed_under(slot, words):
            return
        self.begin_change()
        row = self.prepare(slot, words)
        if has_row(&self.rows, slot):
            self.take_away(slot)
        self.fill(slot, row, words.count)

    def remove(self, slot):
        """Take a row out; one that is not there is no error."""
        cdef int64_t place = self.place(slot)
        if place >= 0:
            self.begin_change()
            self.take_away(<uint32_t>place)

    def strings(self, slot):
        """The words under which a row is filed."""
        cdef Words words = new_words(self.vocabulary)
        cdef int64_t place = self.place(slot)
        cdef uint32_t at
        if place < 0:
            raise KeyError(slot)
        for at in range(self.rows.lengths[place]):
            words.make_room()
            words.append(self.rows.postings[self.rows.words[place][at]].word)
        return words.strings()

    def shared(self, slot, Words words not None):
        """How many of the words a row has; 0 for one that is not there."""
        cdef Wanted wanted
        cdef int64_t place = self.place(slot)
        cdef uint32_t found, rarest
        self.check(words)
        if place < 0:
            return 0
        self.look_up(&wanted, words)
        found = shared_by(&wanted, &self.rows, place, &rarest)
        end_wanted(&wanted)
        return found

    def hits(self, Words words not None):
        """How many of the words each row has, for rows that have any."""
        cdef Wanted wanted
        cdef Table table
        cdef uint32_t at
        cdef bint done
        cdef dict found = {}
        self.check(words)
        self.look_up(&wanted, words)
        done = tally(&table, &self.rows, &wanted)
        end_wanted(&wanted)
        if not done:
            raise MemoryError
        try:
            for at in range(table.mask + 1):
                if table.cells[at].value:
                    found[table.cells[at].key] = table.cells[at].value
        finally:
            free(table.cells)
        return found

    def frequencies(self, Words words not None):
        """How many rows have each word, in the order of the words."""
        cdef uint32_t at, number
        cdef list found = []
        self.check(words)
        words.put_in_order()
        for at in range(words.count):
            number = posting_of(&self.rows, words.numbers[at])
            found.append(0 if number == NOBODY else self.rows.postings[number].count)
        return found

    def alike(self, Words words not None, double threshold):
        """(similarity, slot) of every row at least that similar, the most similar first."""
        cdef Search search
        start_search(&search, &self.rows, threshold, NULL)
        try:
            self.search(&search, words)
            return pairs_of(search.found, search.count)
        finally:
            free(search.found)

    def most_alike(self, Words words not None, double threshold):
        """The first of `alike`, if there is one."""
        cdef Search search
        cdef Entry first
        cdef Best best
        best.entries, best.count, best.most = &first, 0, 1
        start_search(&search, &self.rows, threshold, &best)
        self.search(&search, words)
        return (first.level, first.slot) if best.count else None

    def nearest(self, Words words not None, Py_ssize_t k):
        """(similarity, slot) of the k most similar rows that share a word; in that order."""
        cdef Search search
        cdef Best best
        self.check(words)
        if k <= 0 or self.rows.count == 0:
            return []
        if not start_best(&best, min(<size_t>k, self.rows.count)):
            raise MemoryError
        try:
            start_search(&search, &self.rows, 0.0, &best)
            self.search(&search, words)
            return pairs_of(best.entries, best.count)
        finally:
            free(best.entries)

    def top(self, Words words not None, Py_ssize_t k, ranking not None):
        """(hits, score, slot) of the k best rows, the best first."""
        cdef Order order
        cdef Columns columns
        self.check(words)
        words.put_in_order()
        read_numbers(&order, ranking)
        # Nothing that runs Python code may come between this and the search.
        hold_columns(&columns, &order, ranking, self.rows.end, words.count)
        try:
            return self.best_of(words, min(<size_t>max(k, 0), self.rows.count), &order)
        finally:
            let_go(&columns)

    cdef list best_of(self, Words words, size_t most, const Order* order):
        cdef Wanted wanted
        cdef Top top
        cdef bint done = False
        if most == 0:
            return []
        self.look_up(&wanted, words)
        top.rows, top.wanted, top.order = &self.rows, &wanted, order
        top.present = <uint8_t*>calloc(words.count + 1, 1)
        try:
            if not start_best(&top.best, most) or top.present == NULL:
                raise MemoryError
            if is_long(&top):
                self.searches += 1
                with nogil:
                    done = find_top(&top) and sort_entries(top.best.entries, top.best.count)
                self.searches -= 1
            else:
                done = find_top(&top) and sort_entries(top.best.entries, top.best.count)
            if not done:
                raise MemoryError
            return triples_of(&top)
        finally:
            free(top.best.entries)
            free(top.present)
            end_wanted(&wanted)

    cdef int64_t place(self, slot) except -2:
        """A slot as a number; -1 if there is no such row."""
        if not isinstance(slot, int) or not 0 <= slot < self.rows.end:
            return -1
        return slot if has_row(&self.rows, slot) else -1

    cdef int check(self, Words words) except -1:
        if words.vocabulary is not self.vocabulary:
            raise ValueError("words of another vocabulary than the index has")
        return 0

    cdef int begin_change(self) except -1:
        """Refuse to change what another thread is reading."""
        if self.searches:
            raise RuntimeError("index is being searched by another thread")
        return 0

    cdef int look_up(self, Wanted* wanted, Words words) except -1:
        if not start_wanted(wanted, &self.rows, words):
            raise MemoryError
        return 0

    cdef int search(self, Search* search, Words words) except -1:
        """Do a search; what was found is in order."""
        cdef Wanted wanted
        cdef bint done
        self.check(words)
        self.look_up(&wanted, words)
        set_words(search, &wanted)
        if is_long_count(&self.rows, &wanted) and rows_to_read(search, 0) > LONG_SEARCH:
            self.searches += 1
            with nogil:
                done = search_for(search) and sort_found(search)
            self.searches -= 1
        else:
            done = search_for(search) and sort_found(search)
        end_wanted(&wanted)
        if not done:
            raise MemoryError
        return 0

    cdef bint is_filed_under(self, uint32_t slot, Words words) noexcept:
        """Whether a row has these words and no others."""
        cdef uint32_t at, number
        if self.rows.lengths[slot] != words.count:
            return False
        for at in range(words.count):
            number = posting_of(&self.rows, words.numbers[at])
            if number == NOBODY or not has_slot(&self.rows.postings[number], slot):
                return False
        return True

    cdef uint32_t* prepare(self, uint32_t slot, Words words) except NULL:
        """Get all memory that a row needs, so that nothing can fail when it is filed."""
        cdef uint32_t at, number
        cdef uint32_t* row = <uint32_t*>malloc((words.count + 1) * sizeof(uint32_t))
        cdef Posting* posting
        if row == NULL or not make_room_for_slot(&self.rows, slot):
            free(row)
            raise MemoryError
        for at in range(words.count):
            number = get_posting(&self.rows, words.numbers[at])
            if number != NOBODY:
                posting = &self.rows.postings[number]
                if posting.count == 0:
                    self.vocabulary.words[posting.word].references += 1
                posting.is_kept = True
                row[at] = number
            if number == NOBODY or not make_room_for_row(posting):
                self.undo(row, at if number == NOBODY else at + 1)
                free(row)
                raise MemoryError
        return row

    cdef void undo(self, const uint32_t* row, uint32_t count) noexcept:
        """Drop the postings that were made for a row."""
        cdef uint32_t at
        for at in range(count):
            self.rows.postings[row[at]].is_kept = False
            self.drop_if_empty(row[at])

    cdef void drop_if_empty(self, uint32_t number) noexcept:
        cdef uint32_t word = self.rows.postings[number].word
        if not self.rows.postings[number].count and not self.rows.postings[number].is_kept:
            drop_posting(&self.rows, number)
            self.vocabulary.release(word)

    cdef void fill(self, uint32_t slot, uint32_t* row, uint32_t count) noexcept:
        """File a row that was prepared and is not there."""
        cdef uint32_t at
        cdef uint64_t signature = 0
        for at in range(count):
            enter_row(&self.rows, &self.rows.postings[row[at]], slot)
            self.rows.postings[row[at]].is_kept = False
            signature |= signature_bit(row[at])
        self.rows.words[slot], self.rows.lengths[slot] = row, count
        self.rows.signatures[slot] = signature
        self.rows.count += 1
        self.rows.end = max(self.rows.end, <size_t>slot + 1)

    cdef void take_away(self, uint32_t slot) noexcept:
        """Remove a row that is there."""
        cdef uint32_t* row = self.rows.words[slot]
        cdef uint32_t at
        for at in range(self.rows.lengths[slot]):
            leave_row(&self.rows.postings[row[at]], slot)
            self.drop_if_empty(row[at])
        free(row)
        self.rows.words[slot], self.rows.lengths[slot] = NULL, ABSENT
        self.rows.signatures[slot] = 0
        self.rows.count -= 1
        while self.rows.end and self.rows.lengths[self.rows.end - 1] == ABSENT:
            self.rows.end -= 1


cdef bint is_long_count(const Rows* rows, const Wanted* wanted) noexcept nogil:
    return rows.end * wanted.count > LONG_COUNT


cdef bint is_long(const Top* top) noexcept nogil:
    """Whether the best rows may take so long that others had better go on meanwhile."""
    if top.order.rest or not top.order.by_hits:
        return top.rows.end > LONG_SEARCH
    return is_long_count(top.rows, top.wanted) or top.wanted.rows > LONG_COUNT // 16
