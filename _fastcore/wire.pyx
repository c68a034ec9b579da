# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, freethreading_compatible=True
"""A response in one pass from values to bytes, and the times in it, compiled.

What milkd.rpc.protocol gives for the same response is what this gives, if it gives
anything: whatever has to be changed before it is sent, or could be refused, is left to
that module; and so with the times and milkd.store.fields.  Directives count only on the
first line of the file.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.mem cimport PyMem_Free, PyMem_Malloc, PyMem_Realloc
from libc.math cimport modf, rint
from libc.string cimport memcpy

cdef extern from "Python.h":
    const char* PyUnicode_AsUTF8AndSize(object text, Py_ssize_t* size) except NULL
    long long PyLong_AsLongLongAndOverflow(object number, int* overflow) except? -1

ABI = 1

cdef enum:
    FIRST_ROOM = 1024  # bytes
    LONGEST_TIME = 27  # bytes, 0001-01-01T00:00:00.000001Z

cdef long long SECOND = 1_000_000  # microseconds
cdef long long DAY = 86_400 * SECOND


cdef struct Output:
    unsigned char* data
    Py_ssize_t used
    Py_ssize_t room


def response(unsigned long msgid, object result, int depth, Py_ssize_t items, Py_ssize_t limit):
    """The bytes of a response; None if it is not for this function to make.

    Args:
        msgid: Of the request.
        result: What is answered.
        depth: Lists and maps that may be within each other in it.
        items: Entries that one of them may have.
        limit: Bytes that the response may have.
    """
    cdef Output out
    out.data = <unsigned char*> PyMem_Malloc(FIRST_ROOM)
    if out.data == NULL:
        raise MemoryError
    out.used = 0
    out.room = FIRST_ROOM
    try:
        put_byte(&out, 0x94)
        put_byte(&out, 0x01)
        put_whole(&out, msgid)
        put_byte(&out, 0xC0)
        if not put(&out, result, depth, items) or out.used > limit:
            return None
        return PyBytes_FromStringAndSize(<char*> out.data, out.used)
    finally:
        PyMem_Free(out.data)


cdef bint put(Output* out, object value, int depth, Py_ssize_t items) except -1:
    """Append a value; false if it is not plain."""
    cdef type kind = type(value)
    cdef int overflow = 0
    cdef long long number
    if kind is str:
        return put_text(out, value)
    if kind is float:
        return put_float(out, value)
    if value is None or kind is bool:
        return put_byte(out, 0xC0 if value is None else 0xC3 if value is True else 0xC2)
    if kind is int:
        number = PyLong_AsLongLongAndOverflow(value, &overflow)
        if overflow:
            return False
        return put_whole(out, number) if number >= 0 else put_negative(out, number)
    if isinstance(value, str):  # an enum's member, for instance
        return put_text(out, value)
    if depth <= 0 or not (kind is dict or kind is list or kind is tuple) or len(value) > items:
        return False
    if kind is dict:
        return put_map(out, value, depth, items)
    if kind is list:
        return put_list(out, value, depth, items)
    return put_list(out, list(value), depth, items)


cdef bint put_map(Output* out, dict value, int depth, Py_ssize_t items) except -1:
    put_length(out, len(value), 0x80, 15, 0xDE)
    for key, item in value.items():
        if type(key) is not str or not put_text(out, key):
            return False
        if not put(out, item, depth - 1, items):
            return False
    return True


cdef bint put_list(Output* out, list value, int depth, Py_ssize_t items) except -1:
    put_length(out, len(value), 0x90, 15, 0xDC)
    for item in value:
        if not put(out, item, depth - 1, items):
            return False
    return True


cdef bint put_text(Output* out, object text) except -1:
    cdef Py_ssize_t size
    cdef const char* data
    try:
        data = PyUnicode_AsUTF8AndSize(text, &size)
    except UnicodeEncodeError:
        return False
    if 31 < size < 256:
        put_tagged(out, 0xD9, size, 1)
    else:
        put_length(out, size, 0xA0, 31, 0xDA)
    reserve(out, size)
    memcpy(out.data + out.used, data, size)
    out.used += size
    return True


cdef bint put_float(Output* out, double value) except -1:
    cdef unsigned long long bits
    if value - value != 0.0:
        return False
    memcpy(&bits, &value, 8)
    return put_tagged(out, 0xCB, bits, 8)


cdef bint put_whole(Output* out, unsigned long long number) except -1:
    if number < 0x80:
        return put_byte(out, <unsigned char> number)
    if number < 0x100:
        return put_tagged(out, 0xCC, number, 1)
    if number < 0x10000:
        return put_tagged(out, 0xCD, number, 2)
    if number < 0x100000000ULL:
        return put_tagged(out, 0xCE, number, 4)
    return put_tagged(out, 0xCF, number, 8)


cdef bint put_negative(Output* out, long long number) except -1:
    if number >= -0x20:
        return put_byte(out, <unsigned char> number)
    if number >= -0x80:
        return put_tagged(out, 0xD0, number, 1)
    if number >= -0x8000:
        return put_tagged(out, 0xD1, number, 2)
    if number >= -0x80000000LL:
        return put_tagged(out, 0xD2, number, 4)
    return put_tagged(out, 0xD3, number, 8)


cdef bint put_length(
    Output* out, Py_ssize_t length, unsigned char tag, Py_ssize_t short, unsigned char wide
) except -1:
    """Append the length of a text, list or map: in the tag, in two bytes or in four."""
    if length <= short:
        return put_byte(out, <unsigned char> (tag | length))
    if length < 0x10000:
        return put_tagged(out, wide, length, 2)
    return put_tagged(out, <unsigned char> (wide + 1), length, 4)


cdef bint put_byte(Output* out, unsigned char byte) except -1:
    return put_tagged(out, byte, 0, 0)


cdef bint put_tagged(
    Output* out, unsigned char tag, unsigned long long number, int width
) except -1:
    """Append a tag and a number of so many bytes, the highest first."""
    reserve(out, 9)
    out.data[out.used] = tag
    out.used += 1
    while width > 0:
        width -= 1
        out.data[out.used] = <unsigned char> (number >> (8 * width))
        out.used += 1
    return True


cdef int reserve(Output* out, Py_ssize_t more) except -1:
    """Make room for so many bytes."""
    cdef unsigned char* moved
    cdef Py_ssize_t room = out.room
    if out.used + more <= room:
        return 0
    while room < out.used + more:
        room *= 2
    moved = <unsigned char*> PyMem_Realloc(out.data, room)
    if moved == NULL:
        raise MemoryError
    out.data = moved
    out.room = room
    return 0


def time_text(double at):
    """RFC 3339 in UTC, to the microsecond; None outside the years 1 to 9998."""
    cdef char text[LONGEST_TIME]
    cdef double whole, part
    cdef long long moment, day, left
    cdef int size = 19
    if not -62_135_596_800.0 <= at < 253_370_764_800.0:
        return None
    part = modf(at, &whole)
    moment = <long long> whole * SECOND + <long long> rint(part * 1e6)  # ties to even
    day = moment // DAY - (moment % DAY < 0)
    left = moment - day * DAY
    write_date(text, day)
    text[10] = b"T"
    write_number(text + 11, left // (3_600 * SECOND), 2)
    text[13] = b":"
    write_number(text + 14, left // (60 * SECOND) % 60, 2)
    text[16] = b":"
    write_number(text + 17, left // SECOND % 60, 2)
    if left % SECOND:
        text[19] = b"."
        write_number(text + 20, left % SECOND, 6)
        size = 26
        while text[size - 1] == b"0":
            size -= 1
    text[size] = b"Z"
    return text[: size + 1].decode("ascii")


cdef void write_date(char* text, long long day) noexcept:
    """Write the date of a day since 1970-01-01, counted in cycles of 400 years from March on."""
    cdef long long from_march = day + 719_468
    cdef long long cycle = from_march // 146_097
    cdef long long in_cycle = from_march % 146_097
    cdef long long year = (
        in_cycle - in_cycle // 1_460 + in_cycle // 36_524 - in_cycle // 146_096
    ) // 365
    cdef long long in_year = in_cycle - (365 * year + year // 4 - year // 100)
    cdef long long month = (5 * in_year + 2) // 153
    write_number(text + 8, in_year - (153 * month + 2) // 5 + 1, 2)
    month = month + 3 if month < 10 else month - 9
    text[4] = text[7] = b"-"
    write_number(text + 5, month, 2)
    write_number(text, 400 * cycle + year + (month <= 2), 4)


cdef void write_number(char* text, long long number, int digits) noexcept:
    while digits > 0:
        digits -= 1
        text[digits] = <char> (48 + number % 10)
        number //= 10
