CREATE TABLE {schema}.erased (digest BIGINT PRIMARY KEY);
