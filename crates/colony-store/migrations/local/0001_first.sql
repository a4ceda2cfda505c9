-- A site's orchestrator: its rows, its log, and the nodes it gave identities.

CREATE TABLE site_row (
    name TEXT PRIMARY KEY,
    body TEXT NOT NULL
);

CREATE TABLE event (
    incarnation BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    at_ms BIGINT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (incarnation, seq)
);

CREATE TABLE node (
    name TEXT PRIMARY KEY,
    body TEXT NOT NULL
);

CREATE TABLE used (
    scope TEXT NOT NULL,
    id TEXT NOT NULL,
    at_ms BIGINT NOT NULL,
    PRIMARY KEY (scope, id)
);

CREATE TABLE note (
    name TEXT PRIMARY KEY,
    body TEXT NOT NULL
);
