"""The distinct words of a text, each of them referred to."""

cdef enum:
    FEW_WORDS = 14  # so many words need no memory of their own


# Words and indexes need the vocabulary to the last; cycles go through it and are broken there.
@cython.no_gc_clear
@cython.freelist(8)
cdef class Words:
    """The distinct words of a text, read by one vocabulary."""

    cdef Vocabulary vocabulary
    cdef uint32_t count
    cdef uint32_t room
    cdef bint in_order
    cdef uint32_t* numbers
    cdef uint32_t few[FEW_WORDS]

    def __dealloc__(self):
        cdef uint32_t at
        for at in range(self.count):
            self.vocabulary.release(self.numbers[at])
        if self.numbers != self.few:
            free(self.numbers)

    def __len__(self):
        return self.count

    def strings(self):
        """The words themselves."""
        cdef uint32_t at
        return frozenset([self.vocabulary.string(self.numbers[at]) for at in range(self.count)])

    cdef int make_room(self) except -1:
        """Make sure that one more word can be appended."""
        cdef uint32_t* numbers
        cdef uint32_t room = 2 * self.room
        if self.count < self.room:
            return 0
        if self.numbers == self.few:
            numbers = <uint32_t*>malloc(room * sizeof(uint32_t))
            if numbers != NULL:
                memcpy(numbers, self.few, sizeof(self.few))
        else:
            numbers = <uint32_t*>realloc(self.numbers, room * sizeof(uint32_t))
        if numbers == NULL:
            raise MemoryError
        self.numbers, self.room = numbers, room
        return 0

    cdef inline void append(self, uint32_t number) noexcept:
        """Add a word for which there is room, and refer to it."""
        self.numbers[self.count] = number
        self.count += 1
        self.vocabulary.words[number].references += 1

    cdef int put_in_order(self) except -1:
        """Order the words as their strings are."""
        cdef Spelt* spelt
        cdef uint32_t at
        if self.in_order:
            return 0
        spelt = <Spelt*>malloc((self.count + 1) * sizeof(Spelt))
        if spelt == NULL:
            raise MemoryError
        for at in range(self.count):
            spelt[at].number = self.numbers[at]
            spelt[at].length = self.vocabulary.words[self.numbers[at]].length
            spelt[at].bytes = bytes_of(&self.vocabulary.words[self.numbers[at]])
        qsort(spelt, self.count, sizeof(Spelt), in_order_of_strings)
        for at in range(self.count):
            self.numbers[at] = spelt[at].number
        free(spelt)
        self.in_order = True
        return 0


cdef struct Spelt:
    const uint8_t* bytes
    uint32_t length
    uint32_t number


cdef int in_order_of_strings(const void* one, const void* other) noexcept nogil:
    cdef const Spelt* left = <const Spelt*>one
    cdef const Spelt* right = <const Spelt*>other
    cdef int found = memcmp(left.bytes, right.bytes, min(left.length, right.length))
    if found != 0:
        return found
    return (left.length > right.length) - (left.length < right.length)


cdef Words new_words(Vocabulary vocabulary):
    cdef Words words = Words.__new__(Words)
    words.vocabulary = vocabulary
    words.numbers = words.few
    words.room = FEW_WORDS
    return words
