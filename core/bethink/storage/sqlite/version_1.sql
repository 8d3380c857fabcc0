CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE records (
    row INTEGER PRIMARY KEY,      -- journal position that made the current indexed form
    ordinal INTEGER NOT NULL,     -- journal position of its first form: insertion order
    revision INTEGER NOT NULL,    -- journal position of its last change
    id TEXT NOT NULL UNIQUE,
    namespace TEXT NOT NULL,
    content TEXT NOT NULL,
    created_at REAL NOT NULL,
    occurred_at REAL NOT NULL,
    updated_at REAL NOT NULL,
    key TEXT,
    value TEXT,
    thread TEXT,
    author TEXT,
    category TEXT,
    tags TEXT NOT NULL,
    importance REAL NOT NULL,
    confidence REAL NOT NULL,
    source TEXT,
    metadata TEXT NOT NULL,
    expires_at REAL,
    superseded_by TEXT,
    last_accessed_at REAL,
    access_count INTEGER NOT NULL,
    outcome REAL NOT NULL,
    state TEXT NOT NULL,
    code BLOB                     -- authentication code, when the store has a key
);
CREATE INDEX records_scope ON records (namespace, state, ordinal);
CREATE INDEX records_patched ON records (namespace, revision, ordinal, state)
    WHERE revision <> row;
CREATE UNIQUE INDEX records_key ON records (namespace, key)
    WHERE state = 'live' AND key IS NOT NULL;
CREATE INDEX records_expiring ON records (expires_at, namespace)
    WHERE state = 'live' AND expires_at IS NOT NULL;
CREATE INDEX records_held ON records (namespace, key) WHERE state <> 'live' AND key IS NOT NULL;

CREATE TABLE departures (         -- where a record was before it changed its namespace or key
    namespace TEXT NOT NULL, key TEXT, id TEXT NOT NULL
);
CREATE INDEX departures_place ON departures (namespace, key, id);
CREATE TRIGGER records_left AFTER UPDATE OF namespace, key ON records
    WHEN old.namespace <> new.namespace OR old.key IS NOT new.key
    BEGIN INSERT INTO departures VALUES (old.namespace, old.key, old.id); END;

CREATE TABLE accesses (           -- what each journaled touch left
    ordinal INTEGER NOT NULL,     -- of the record
    seq INTEGER NOT NULL,
    count INTEGER NOT NULL,
    last REAL NOT NULL,
    PRIMARY KEY (ordinal, seq)
) WITHOUT ROWID;

CREATE TABLE links (
    source TEXT NOT NULL,         -- a record's id
    kind TEXT NOT NULL,
    target TEXT NOT NULL,         -- another's
    since INTEGER NOT NULL,       -- the entry that made the link
    until INTEGER                 -- the entry that took it back
);
CREATE UNIQUE INDEX links_held ON links (source, kind, target) WHERE until IS NULL;
CREATE INDEX links_source ON links (source);
CREATE INDEX links_target ON links (target);

CREATE TABLE vectors (row INTEGER PRIMARY KEY, vector BLOB NOT NULL, code BLOB);
CREATE TABLE named_vectors (
    row INTEGER NOT NULL,         -- the record's, or its last one before it got another vector
    name TEXT NOT NULL,
    since INTEGER NOT NULL,       -- the row that the vector was given with
    vector BLOB NOT NULL,
    code BLOB,
    PRIMARY KEY (row, name)
);

CREATE TABLE journal (
    seq INTEGER PRIMARY KEY,
    at REAL NOT NULL,
    action TEXT NOT NULL,
    id TEXT,
    namespace TEXT,
    was INTEGER,                  -- the record's row before
    row INTEGER,                  -- and after
    digest BLOB NOT NULL,         -- of salt and changes; stays when they are erased
    link BLOB NOT NULL,           -- chains this entry to the one before
    salt BLOB,
    changes TEXT,
    code BLOB
);
CREATE INDEX journal_id ON journal (id, seq) WHERE id IS NOT NULL AND action <> 'store';

CREATE TABLE clock_steps (
    seq INTEGER PRIMARY KEY       -- of an entry whose time is before that of the one before it
);
CREATE TABLE snapshots (name TEXT PRIMARY KEY, seq INTEGER NOT NULL, at REAL NOT NULL)
    WITHOUT ROWID;

CREATE TABLE segments (
    number INTEGER PRIMARY KEY,
    format INTEGER NOT NULL,
    namespace TEXT NOT NULL,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    count INTEGER NOT NULL,
    head INTEGER NOT NULL,
    checksum INTEGER NOT NULL,    -- of all the others
    data BLOB NOT NULL
);
CREATE INDEX segments_namespace ON segments (namespace, first);
