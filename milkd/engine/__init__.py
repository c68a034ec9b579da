"""The memory model: pure rules over values and columns.  No I/O, no clock, no randomness."""
