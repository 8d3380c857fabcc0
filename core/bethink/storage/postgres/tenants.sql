-- The tenant of a connection is the setting bethink.tenant; without the setting nothing is seen.

CREATE OR REPLACE FUNCTION {schema}.tenant_sees(name TEXT) RETURNS BOOLEAN LANGUAGE sql STABLE AS $$
    SELECT name COLLATE "C" = current_setting('bethink.tenant', TRUE)
        OR (name COLLATE "C" > current_setting('bethink.tenant', TRUE) || '/'
            AND name COLLATE "C" < current_setting('bethink.tenant', TRUE) || '0')
$$;

-- Positions and times of the whole journal, without any text: every entry is chained to the last.
CREATE OR REPLACE FUNCTION {schema}.last_entry(
    OUT seq BIGINT, OUT link BYTEA, OUT at DOUBLE PRECISION
) RETURNS SETOF RECORD
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
    SELECT seq, link, at FROM {schema}.journal ORDER BY seq DESC LIMIT 1
$$;
CREATE OR REPLACE FUNCTION {schema}.time_of(entry BIGINT) RETURNS SETOF DOUBLE PRECISION
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
    SELECT at FROM {schema}.journal WHERE seq = entry
$$;

-- An erased text may be in a saved index of more than the tenant.
CREATE OR REPLACE FUNCTION {schema}.drop_wider_segments() RETURNS VOID
    LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog AS $$
    DELETE FROM {schema}.segments WHERE namespace LIKE '%*'
        AND (namespace = '*' OR
            starts_with(current_setting('bethink.tenant'), left(namespace, -1)))
$$;
