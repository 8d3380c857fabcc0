"""Exchange: a store as a file of JSON lines, and back again.

First a header, then every record as it is, for whoever reads only those, then the journal, from
which alone a store is made again: each entry is written anew, with the time it was made, so that
the new store's past is the old one's. The last line vouches for all others.
"""

from .incoming import Source, load
from .lines import LONGEST_LINE
from .outgoing import Target, dump

__all__ = ["LONGEST_LINE", "Source", "Target", "dump", "load"]
