"""Texts as the indexes see them; what it means is written in milkd.engine._words_py.

A word is a number as long as some row or some `Words` has it: rows and `Words` count as
references.  Of the last one's going its number is free for another word, so that a
store that sees new numbers every day does not grow for ever.
"""

cdef enum:
    INSIDE = 16  # a word up to so many bytes needs no memory of its own


cdef uint32_t NOBODY = 0xFFFFFFFF  # the number of no word and of no posting


cdef union Spelling:
    uint8_t inside[16]
    uint8_t* outside


# The bytes are UTF-8, halves of surrogate pairs included: their order is that of the strings.
# `born` counts all words ever; a term is known by its number and its birth, since it may go
# before the token and its number be given away.
cdef struct Word:
    uint32_t length
    uint32_t references
    Spelling spelling
    uint32_t key
    uint32_t term
    uint64_t born
    uint64_t term_born


cdef uint8_t LOWER[256]  # the letter or digit a byte stands for; 0 for what separates words
for _byte in range(256):
    _char = chr(_byte).lower()
    LOWER[_byte] = ord(_char) if _byte < 128 and _char.isalnum() else 0
del _byte, _char


cdef inline const uint8_t* bytes_of(const Word* word) noexcept nogil:
    if word.length <= INSIDE:
        return &word.spelling.inside[0]
    return word.spelling.outside


cdef class Vocabulary:
    """Reads texts for the indexes of one memory.

    Args:
        read: Gives the distinct tokens of a text; asked about what is not ASCII only.
        stem: Gives the term of a token, remembering it; None: each is its own.
    """

    cdef object read
    cdef object stem
    cdef Table table
    cdef Word* words
    cdef uint8_t* marks  # by word: 1 while a text that has it is being read
    cdef uint32_t used  # words that were ever there at the same time
    cdef uint32_t room
    cdef uint32_t free_word  # the first of the numbers that are free, chained by `term`
    cdef uint32_t stops  # the first words are those that count for nothing
    cdef uint64_t births
    cdef uint8_t* scratch
    cdef size_t scratch_room

    def __cinit__(self, read, stem):
        cdef uint32_t number
        self.read, self.stem = read, stem
        self.free_word = NOBODY
        if not start_table(&self.table, 64):
            raise MemoryError
        for word in sorted(STOP_WORDS):
            number = self.number_of(word)
            self.words[number].references = 1
        self.stops = self.used

    def __dealloc__(self):
        cdef uint32_t at
        for at in range(self.used):
            if self.words[at].references and self.words[at].length > INSIDE:
                free(self.words[at].spelling.outside)
        free(self.words)
        free(self.marks)
        free(self.table.cells)
        free(self.scratch)

    def features(self, str text not None):
        """The words by which duplicates are judged; never none (`text.features`)."""
        cdef Words words = self.tokens_of(text) if is_ascii(text) else self.tokens([text])
        if words.count == 0:
            words.append(self.number_of("\0" + fold(text).strip()))
        return words

    def terms(self, texts):
        """The words by which something of these texts is found."""
        cdef Words words = self.tokens(list(texts))
        return words if self.stem is None else self.stems(words)

    cdef Words tokens_of(self, str text):
        """The distinct tokens of an ASCII text."""
        cdef Words words = new_words(self)
        try:
            self.take_ascii(text, words)
        finally:
            self.unmark(words)
        return words

    cdef Words tokens(self, list texts):
        """The distinct tokens of some texts."""
        cdef Words words = new_words(self)
        cdef list found = []
        for text in texts:
            # Nothing else may be read while words are marked, so Python reads first.
            found.append(text if is_ascii(text) else self.read(text))
        try:
            for each in found:
                if isinstance(each, str):
                    self.take_ascii(each, words)
                else:
                    for string in each:
                        words.make_room()
                        self.take(self.number_of(string), words)
        finally:
            self.unmark(words)
        return words

    cdef int take_ascii(self, str text, Words words) except -1:
        """Add the tokens of a text: runs of letters and digits."""
        cdef const uint8_t* source = <const uint8_t*>PyUnicode_1BYTE_DATA(text)
        cdef size_t length = PyUnicode_GET_LENGTH(text), at = 0, start
        cdef uint8_t* lower
        cdef uint8_t letter
        self.make_scratch(length)
        lower = self.scratch
        while at < length:
            letter = LOWER[source[at]]
            start = at
            # The text ends with a zero, which separates.
            while letter:
                lower[at] = letter
                at += 1
                letter = LOWER[source[at]]
            if at > start:
                words.make_room()
                self.take(self.number_of_bytes(lower + start, at - start), words)
            at += 1
        return 0

    cdef inline void take(self, uint32_t number, Words words) noexcept:
        """Add a token, for which there is room, unless it is there already or counts nothing."""
        if number >= self.stops and not self.marks[number]:
            self.marks[number] = 1
            words.append(number)

    cdef void unmark(self, Words words) noexcept:
        cdef uint32_t at
        for at in range(words.count):
            self.marks[words.numbers[at]] = 0

    cdef Words stems(self, Words tokens):
        """The distinct terms of some tokens."""
        cdef Words found = new_words(self)
        cdef Words terms = new_words(self)
        cdef uint32_t at
        for at in range(tokens.count):
            found.make_room()
            found.append(self.term_of(tokens.numbers[at]))
        try:
            for at in range(found.count):
                terms.make_room()
                if not self.marks[found.numbers[at]]:
                    self.marks[found.numbers[at]] = 1
                    terms.append(found.numbers[at])
        finally:
            self.unmark(terms)
        return terms

    cdef int64_t term_of(self, uint32_t token) except -1:
        """The stem of a token, asked for once as long as both are there."""
        cdef uint32_t term = self.words[token].term
        if self.words[token].term_born:
            if self.words[term].references and self.words[term].born == self.words[token].term_born:
                return term
        term = self.number_of(self.stem(self.string(token)))
        self.words[token].term = term
        self.words[token].term_born = self.words[term].born
        return term

    cdef str string(self, uint32_t number):
        cdef const Word* word = &self.words[number]
        return PyUnicode_DecodeUTF8(<const char*>bytes_of(word), word.length, "surrogatepass")

    cdef int64_t number_of(self, str string) except -1:
        """The number of a word, which is made if there is none."""
        cdef bytes encoded = string.encode("utf-8", "surrogatepass")
        return self.number_of_bytes(<const uint8_t*><const char*>encoded, len(encoded))

    cdef int64_t number_of_bytes(self, const uint8_t* spelling, size_t length) except -1:
        cdef uint32_t key = hash_of(spelling, length)
        cdef uint32_t at = home(&self.table, key)
        cdef const Cell* cell
        cdef const Word* word
        while True:
            cell = &self.table.cells[at]
            if not cell.value:
                return self.give_birth(spelling, length, key)
            if cell.key == key:
                word = &self.words[cell.value - 1]
                if word.length == length and memcmp(bytes_of(word), spelling, length) == 0:
                    return cell.value - 1
            at = (at + 1) & self.table.mask

    cdef int64_t give_birth(self, const uint8_t* spelling, size_t length, uint32_t key) except -1:
        """Enter a word, to which nobody refers yet."""
        cdef uint32_t number
        cdef uint8_t* copy
        cdef Word* word
        if length > NOBODY:
            raise OverflowError("word of 4 GiB or more")
        self.make_room()
        if length > INSIDE:
            copy = <uint8_t*>malloc(length)
            if copy == NULL:
                raise MemoryError
        if self.free_word != NOBODY:
            number = self.free_word
            self.free_word = self.words[number].term
        else:
            number = self.used
            self.used += 1
        word = &self.words[number]
        if length > INSIDE:
            word.spelling.outside = copy
        else:
            copy = word.spelling.inside
        memcpy(copy, spelling, length)
        self.births += 1
        word.length, word.key, word.references = <uint32_t>length, key, 0
        word.born, word.term_born = self.births, 0
        put(&self.table, key, number)
        return number

    cdef void release(self, uint32_t number) noexcept:
        """Count a reference less; the last one takes the word with it."""
        cdef Word* word = &self.words[number]
        word.references -= 1
        if word.references:
            return
        take_out(&self.table, word.key, number)
        if word.length > INSIDE:
            free(word.spelling.outside)
        word.term, self.free_word = self.free_word, number

    cdef int make_room(self) except -1:
        """Make sure that one more word can be entered."""
        cdef uint32_t room = 2 * self.room if self.room else 256
        if not make_room_in(&self.table, 1):
            raise MemoryError
        if self.free_word != NOBODY or self.used < self.room:
            return 0
        words = <Word*>realloc(self.words, room * sizeof(Word))
        if words == NULL:
            raise MemoryError
        self.words = words
        marks = <uint8_t*>realloc(self.marks, room)
        if marks == NULL:
            raise MemoryError
        self.marks = marks
        memset(marks + self.room, 0, room - self.room)
        self.room = room
        return 0

    cdef int make_scratch(self, size_t length) except -1:
        cdef uint8_t* scratch
        if length > self.scratch_room:
            scratch = <uint8_t*>realloc(self.scratch, length)
            if scratch == NULL:
                raise MemoryError
            self.scratch, self.scratch_room = scratch, length
        return 0


cdef inline bint is_ascii(text) except -1:
    if not isinstance(text, str):
        raise TypeError(f"expected a text, found {type(text).__name__}")
    return PyUnicode_IS_ASCII(text)
