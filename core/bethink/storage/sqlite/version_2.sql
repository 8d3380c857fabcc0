CREATE TABLE erased (             -- the erased records whose tombstones a compacting took away
    digest INTEGER PRIMARY KEY    -- the first eight bytes of the SHA-256 of the id, as a number
);
