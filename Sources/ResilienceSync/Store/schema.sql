-- The queue's tables in SQLite. SQLite keeps the text of each statement, and opening compares it. A blank line follows
-- each statement; no statement contains a blank line.
--
-- AUTOINCREMENT: a position is never given twice, so a late answer can't remove a newer mutation.
-- death shows which mutation died first, because the wall clock may be set back. If CHECK listed the three states,
-- SQLite would make a temporary table for each row. The payload comes last, because SQLite would have to read through
-- it to reach a later column.
CREATE TABLE resilience_mutation (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    entity TEXT NOT NULL,
    kind TEXT NOT NULL,
    operation TEXT,
    idempotency_key TEXT NOT NULL,
    created_at REAL NOT NULL,
    queued_at REAL NOT NULL,
    attempted INTEGER NOT NULL DEFAULT 0,
    failures INTEGER NOT NULL DEFAULT 0,
    last_error TEXT,
    state INTEGER NOT NULL DEFAULT 0 CHECK (state BETWEEN 0 AND 2), -- pending, dead, dead and blocking its lane
    head INTEGER NOT NULL DEFAULT 0 CHECK (head IN (0, 1)),
    died_at REAL,
    overtaken INTEGER NOT NULL DEFAULT 0,
    death INTEGER NOT NULL DEFAULT 0,
    claims INTEGER NOT NULL DEFAULT 0,
    not_before REAL,
    urgent INTEGER NOT NULL DEFAULT 0,
    payload BLOB NOT NULL
);

CREATE TABLE resilience_setting (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL);

CREATE INDEX resilience_pending ON resilience_mutation (position, attempted) WHERE state = 0;

CREATE INDEX resilience_dead ON resilience_mutation (position) WHERE state > 0;

CREATE INDEX resilience_head ON resilience_mutation (position) WHERE head = 1;

CREATE INDEX resilience_lane ON resilience_mutation (entity, position) WHERE state = 0;

CREATE INDEX resilience_block ON resilience_mutation (entity) WHERE state = 2;

CREATE INDEX resilience_died ON resilience_mutation (state, died_at) WHERE state > 0;

CREATE INDEX resilience_death ON resilience_mutation (state, death) WHERE state > 0;

CREATE INDEX resilience_attempted ON resilience_mutation (entity, position) WHERE state = 0 AND attempted = 1;

CREATE INDEX resilience_not_overtaken ON resilience_mutation (entity) WHERE state > 0 AND overtaken = 0;

CREATE INDEX resilience_waiting ON resilience_mutation (not_before) WHERE not_before IS NOT NULL;

CREATE INDEX resilience_urgent ON resilience_mutation (position) WHERE head = 1 AND urgent > 0;

CREATE TABLE resilience_totals (
    pending INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    dead INTEGER NOT NULL,
    dead_bytes INTEGER NOT NULL
);

CREATE TRIGGER resilience_inserted AFTER INSERT ON resilience_mutation BEGIN
    UPDATE resilience_totals SET
        pending = pending + (NEW.state = 0),
        bytes = bytes + (NEW.state = 0) * length(NEW.payload),
        dead = dead + (NEW.state > 0),
        dead_bytes = dead_bytes + (NEW.state > 0) * length(NEW.payload);
END;

CREATE TRIGGER resilience_updated AFTER UPDATE OF state, payload ON resilience_mutation BEGIN
    UPDATE resilience_totals SET
        pending = pending + (NEW.state = 0) - (OLD.state = 0),
        bytes = bytes + (NEW.state = 0) * length(NEW.payload) - (OLD.state = 0) * length(OLD.payload),
        dead = dead + (NEW.state > 0) - (OLD.state > 0),
        dead_bytes =
            dead_bytes + (NEW.state > 0) * length(NEW.payload) - (OLD.state > 0) * length(OLD.payload);
END;

CREATE TRIGGER resilience_deleted AFTER DELETE ON resilience_mutation BEGIN
    UPDATE resilience_totals SET
        pending = pending - (OLD.state = 0),
        bytes = bytes - (OLD.state = 0) * length(OLD.payload),
        dead = dead - (OLD.state > 0),
        dead_bytes = dead_bytes - (OLD.state > 0) * length(OLD.payload);
END;
