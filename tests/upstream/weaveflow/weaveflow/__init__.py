"""The names of Weaveflow, each from bethink: for the tests of its memory alone."""
