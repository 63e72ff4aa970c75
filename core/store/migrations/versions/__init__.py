"""One module per schema version, in order. A version that was released is never changed."""
