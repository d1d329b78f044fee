-- Ground truth: sessions, and messages at their places. Everything below "derived" can be rebuilt from it.

CREATE TABLE session (
  no        INTEGER PRIMARY KEY,     -- short stand-in for (tenant, id) in other keys
  tenant    TEXT    NOT NULL,
  id        BLOB    NOT NULL,
  declared  TEXT,                    -- what the client calls it
  title     TEXT,
  born      INTEGER NOT NULL,        -- µs since 1970
  seal      INTEGER NOT NULL,        -- hash of the row, checked when it is read
  UNIQUE (tenant, id)
) STRICT;

CREATE TABLE message (
  id        INTEGER PRIMARY KEY,     -- session << 32 | number within the session: a session's messages lie together
  session   INTEGER NOT NULL,
  depth     INTEGER NOT NULL,        -- messages before it on its path; negative: beside the path (see rows.rs)
  node      BLOB    NOT NULL,
  parent    INTEGER,                 -- number of the message it follows, or stands over
  branch    INTEGER NOT NULL,
  role      TEXT    NOT NULL,
  origin    INTEGER NOT NULL,
  at        INTEGER NOT NULL,        -- µs since 1970
  vocabulary INTEGER NOT NULL,
  tokens    INTEGER NOT NULL,
  unspaced  INTEGER NOT NULL,
  raw       TEXT    NOT NULL,        -- the exact JSON
  seal      INTEGER NOT NULL
) STRICT;

-- Finds a node, and makes it impossible to store one twice.
CREATE UNIQUE INDEX message_node ON message (session, depth, node);

-- Finds the messages of a branch among thousands of branches; the first one needs no help and pays nothing.
CREATE INDEX message_branch ON message (session, branch, depth) WHERE branch > 0;

-- Written only when a path forks; a branch's head is its deepest message.
CREATE TABLE branch (
  session   INTEGER NOT NULL,
  no        INTEGER NOT NULL,
  fork      INTEGER,                 -- number of the message it leaves another branch at; none: begins at the root
  PRIMARY KEY (session, no)
) STRICT, WITHOUT ROWID;

CREATE INDEX branch_fork ON branch (session, fork);

CREATE TABLE alias (
  tenant    TEXT    NOT NULL,
  session   BLOB    NOT NULL,
  depth     INTEGER NOT NULL,
  node      BLOB    NOT NULL,
  to_session BLOB   NOT NULL,
  to_depth  INTEGER NOT NULL,
  to_node   BLOB    NOT NULL,
  PRIMARY KEY (tenant, session, depth, node)
) STRICT, WITHOUT ROWID;

-- Derived.

CREATE TABLE record (
  tenant    TEXT    NOT NULL,
  session   BLOB    NOT NULL,        -- empty for a tenant's own
  kind      TEXT    NOT NULL,
  key       TEXT    NOT NULL,
  version   INTEGER NOT NULL,
  at        INTEGER NOT NULL,
  body      TEXT    NOT NULL,
  seal      INTEGER NOT NULL,
  PRIMARY KEY (tenant, session, kind, key)
) STRICT; -- not WITHOUT ROWID: long bodies in the key's own tree would be read for every comparison

-- Terms to messages; rowid is message.id, so a session is a range. Text is already cut into terms.
CREATE VIRTUAL TABLE word USING fts5 (
  terms,
  content = '',
  contentless_delete = 1,
  detail = none,
  tokenize = 'ascii'                 -- terms are cut and folded before they come here: only spaces part them
);

-- Messages not yet in the index: those of a session from a number on.
CREATE TABLE unindexed (
  session   INTEGER PRIMARY KEY,
  since     INTEGER NOT NULL
) STRICT;
