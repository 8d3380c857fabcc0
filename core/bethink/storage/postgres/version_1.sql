CREATE TABLE {schema}.bethink (version INTEGER NOT NULL);
INSERT INTO {schema}.bethink VALUES (0);

CREATE TABLE {schema}.facts (name TEXT COLLATE "C" PRIMARY KEY, value TEXT NOT NULL);

CREATE TABLE {schema}.records (
    row BIGINT PRIMARY KEY,
    ordinal BIGINT NOT NULL,
    revision BIGINT NOT NULL,
    id TEXT COLLATE "C" NOT NULL UNIQUE,
    namespace TEXT COLLATE "C" NOT NULL,
    content TEXT COLLATE "C" NOT NULL,
    created_at DOUBLE PRECISION NOT NULL,
    occurred_at DOUBLE PRECISION NOT NULL,
    updated_at DOUBLE PRECISION NOT NULL,
    key TEXT COLLATE "C",
    value TEXT COLLATE "C",
    thread TEXT COLLATE "C",
    author TEXT COLLATE "C",
    category TEXT COLLATE "C",
    tags TEXT COLLATE "C" NOT NULL,
    importance DOUBLE PRECISION NOT NULL,
    confidence DOUBLE PRECISION NOT NULL,
    source TEXT COLLATE "C",
    metadata TEXT COLLATE "C" NOT NULL,
    expires_at DOUBLE PRECISION,
    superseded_by TEXT COLLATE "C",
    last_accessed_at DOUBLE PRECISION,
    access_count BIGINT NOT NULL,
    outcome DOUBLE PRECISION NOT NULL,
    state TEXT COLLATE "C" NOT NULL,
    code BYTEA
) WITH (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02);
CREATE INDEX records_scope ON {schema}.records (namespace, state, ordinal);
CREATE INDEX records_rows ON {schema}.records (namespace, row) WHERE state = 'live';
CREATE INDEX records_patched ON {schema}.records (namespace, revision, ordinal, state)
    WHERE revision <> row;
CREATE UNIQUE INDEX records_key ON {schema}.records (namespace, key)
    WHERE state = 'live' AND key IS NOT NULL;
CREATE INDEX records_expiring ON {schema}.records (expires_at, namespace)
    WHERE state = 'live' AND expires_at IS NOT NULL;
CREATE INDEX records_held ON {schema}.records (namespace, key)
    WHERE state <> 'live' AND key IS NOT NULL;
CREATE INDEX records_ordinal ON {schema}.records (ordinal);

CREATE TABLE {schema}.departures (
    namespace TEXT COLLATE "C" NOT NULL, key TEXT COLLATE "C", id TEXT COLLATE "C" NOT NULL
);
CREATE INDEX departures_place ON {schema}.departures (namespace, key, id);
CREATE FUNCTION {schema}.record_left() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO {schema}.departures VALUES (old.namespace, old.key, old.id);
    RETURN NULL;
END $$;
CREATE TRIGGER records_left AFTER UPDATE OF namespace, key ON {schema}.records FOR EACH ROW
    WHEN (old.namespace <> new.namespace OR old.key IS DISTINCT FROM new.key)
    EXECUTE FUNCTION {schema}.record_left();

CREATE TABLE {schema}.accesses (
    ordinal BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    count BIGINT NOT NULL,
    last DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (ordinal, seq)
);

CREATE TABLE {schema}.links (
    source TEXT COLLATE "C" NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    target TEXT COLLATE "C" NOT NULL,
    since BIGINT NOT NULL,
    until BIGINT
);
CREATE UNIQUE INDEX links_held ON {schema}.links (source, kind, target) WHERE until IS NULL;
CREATE INDEX links_source ON {schema}.links (source);
CREATE INDEX links_target ON {schema}.links (target);

CREATE TABLE {schema}.vectors (
    row BIGINT PRIMARY KEY, vector BYTEA STORAGE EXTERNAL NOT NULL, code BYTEA
);
CREATE TABLE {schema}.named_vectors (
    row BIGINT NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    since BIGINT NOT NULL,
    vector BYTEA STORAGE EXTERNAL NOT NULL,
    code BYTEA,
    PRIMARY KEY (row, name)
);

CREATE TABLE {schema}.journal (
    seq BIGINT PRIMARY KEY,
    at DOUBLE PRECISION NOT NULL,
    action TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C",
    namespace TEXT COLLATE "C",
    was BIGINT,
    row BIGINT,
    digest BYTEA NOT NULL,
    link BYTEA NOT NULL,
    salt BYTEA,
    changes TEXT COLLATE "C",
    code BYTEA
);
CREATE INDEX journal_id ON {schema}.journal (id, seq) WHERE id IS NOT NULL AND action <> 'store';

CREATE TABLE {schema}.clock_steps (seq BIGINT PRIMARY KEY);
CREATE TABLE {schema}.snapshots (
    name TEXT COLLATE "C" PRIMARY KEY, seq BIGINT NOT NULL, at DOUBLE PRECISION NOT NULL
);

CREATE TABLE {schema}.segments (
    number BIGINT PRIMARY KEY,
    format INTEGER NOT NULL,
    namespace TEXT COLLATE "C" NOT NULL,
    first BIGINT NOT NULL,
    last BIGINT NOT NULL,
    count BIGINT NOT NULL,
    head BIGINT NOT NULL,
    checksum BIGINT NOT NULL,
    data BYTEA STORAGE EXTERNAL NOT NULL
);
CREATE INDEX segments_namespace ON {schema}.segments (namespace, first);

-- For people and other programs, who only read.
CREATE VIEW {schema}.memories AS
    SELECT id, namespace, content, key, value, thread, author, category, tags, metadata, importance,
        confidence, outcome, source, access_count, to_timestamp(created_at) AS created_at,
        to_timestamp(occurred_at) AS occurred_at, to_timestamp(updated_at) AS updated_at,
        to_timestamp(expires_at) AS expires_at, to_timestamp(last_accessed_at) AS last_accessed_at
    FROM {schema}.records WHERE state = 'live';
CREATE VIEW {schema}.history AS
    SELECT seq, to_timestamp(at) AS at, action, id, namespace, changes FROM {schema}.journal;
