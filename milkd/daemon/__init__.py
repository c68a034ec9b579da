"""The Trio daemon: one process that owns a store and serves its clients."""
