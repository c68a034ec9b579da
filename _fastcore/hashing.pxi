"""Hashing that nobody can foresee: SipHash-1-3 (Aumasson and Bernstein, 2012).

Words come from whoever may write to the store.  With a hash known to them they could
choose words that all fall into one place and make every search slow.
"""

cdef uint64_t SECRET[2]
SECRET[0] = int.from_bytes(os.urandom(8), "little")
SECRET[1] = int.from_bytes(os.urandom(8), "little")


cdef inline uint64_t rotated(uint64_t value, int bits) noexcept nogil:
    return (value << bits) | (value >> (64 - bits))


cdef inline void sip_round(uint64_t* v) noexcept nogil:
    v[0] += v[1]
    v[2] += v[3]
    v[1] = rotated(v[1], 13) ^ v[0]
    v[3] = rotated(v[3], 16) ^ v[2]
    v[0] = rotated(v[0], 32)
    v[2] += v[1]
    v[0] += v[3]
    v[1] = rotated(v[1], 17) ^ v[2]
    v[3] = rotated(v[3], 21) ^ v[0]
    v[2] = rotated(v[2], 32)


cdef uint32_t hash_of(const uint8_t* bytes, size_t length) noexcept nogil:
    """The upper half of the 64 bits."""
    cdef uint64_t v[4]
    cdef uint64_t block
    cdef size_t at, rest = length & 7
    v[0] = SECRET[0] ^ <uint64_t>0x736F6D6570736575
    v[1] = SECRET[1] ^ <uint64_t>0x646F72616E646F6D
    v[2] = SECRET[0] ^ <uint64_t>0x6C7967656E657261
    v[3] = SECRET[1] ^ <uint64_t>0x7465646279746573
    for at in range(length >> 3):
        memcpy(&block, bytes + 8 * at, 8)
        v[3] ^= block
        sip_round(v)
        v[0] ^= block
    block = <uint64_t>length << 56
    bytes += length - rest
    for at in range(rest):
        block |= <uint64_t>bytes[at] << (8 * at)
    v[3] ^= block
    sip_round(v)
    v[0] ^= block
    v[2] ^= 0xFF
    sip_round(v)
    sip_round(v)
    sip_round(v)
    return <uint32_t>((v[0] ^ v[1] ^ v[2] ^ v[3]) >> 32)
