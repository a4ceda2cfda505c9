-- One text for SQLite and Postgres. Documents are TEXT: they are only read
-- whole, and what was hashed must come back as it was written.

-- One row. Whoever stores events takes its positions here first, inside the
-- transaction, so that positions become visible in order.
CREATE TABLE event_head (
    id BIGINT PRIMARY KEY CHECK (id = 1),
    epoch TEXT NOT NULL,
    position BIGINT NOT NULL,
    changes BIGINT NOT NULL
);

CREATE TABLE event (
    position BIGINT PRIMARY KEY,
    site TEXT,
    incarnation BIGINT,
    seq BIGINT,
    at_ms BIGINT NOT NULL,
    kind TEXT NOT NULL,
    deployment TEXT,
    node TEXT,
    actor TEXT NOT NULL,
    hash TEXT,
    body TEXT NOT NULL,
    UNIQUE (site, incarnation, seq)
);
CREATE INDEX event_of_site ON event (site, position);
CREATE INDEX event_of_deployment ON event (deployment, position);
CREATE INDEX event_of_node ON event (node, position);

CREATE TABLE fleet_row (
    site TEXT NOT NULL,
    name TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (site, name)
);

-- Commits that are to be made, in the order they were accepted.
CREATE TABLE git_change (
    id TEXT PRIMARY KEY,
    number BIGINT NOT NULL,
    body TEXT NOT NULL
);

CREATE TABLE registry (
    name TEXT PRIMARY KEY,
    body TEXT NOT NULL
);

CREATE TABLE package (
    application TEXT NOT NULL,
    version TEXT NOT NULL,
    name TEXT NOT NULL,
    registry TEXT NOT NULL,
    path TEXT NOT NULL,
    digest TEXT NOT NULL,
    at_ms BIGINT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (application, version)
);

CREATE TABLE operator_token (
    name TEXT PRIMARY KEY,
    hash TEXT NOT NULL UNIQUE,
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
