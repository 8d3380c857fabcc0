"""The names of Weave, each from bethink: for the tests of its memory alone."""
