-- Ground truth: sessions, and messages at their places. Everything below "derived" can be rebuilt from it.
--
-- Every primary key begins with tenant and session, so that all of a session lies together and the tables can be distributed
-- by either. Text that people or programs name things by is escaped (see rows.rs): PostgreSQL's text holds no U+0000.

CREATE SEQUENCE writer;              -- numbers the processes that write, each for as long as it runs

CREATE TABLE session (
  tenant    text COLLATE "C" NOT NULL,
  session   bytea    NOT NULL,
  declared  text COLLATE "C",        -- what the client calls it
  title     text COLLATE "C",
  born      bigint   NOT NULL,       -- µs since 1970
  arrived   bigint   NOT NULL,       -- when the row was written, by the database's clock: the order in which sessions came
  minute    bigint   NOT NULL,       -- when something was last said, to the minute, so that few messages move it in its index
  messages  integer  NOT NULL,       -- how many there are, and so the number of the next
  branches  integer  NOT NULL,
  version   bigint   NOT NULL,       -- counts every change of the session and its records
  writer    bigint   NOT NULL,       -- who changed it last
  stint     bigint   NOT NULL,       -- the version with which that writer's unbroken run of changes began
  seal      bigint   NOT NULL,       -- hash of the row as far as it never changes by itself, checked when it is read
  PRIMARY KEY (tenant, session)
) WITH (fillfactor = 80);            -- room for the new version of a row beside the old one

CREATE INDEX session_minute ON session (tenant, minute DESC, arrived DESC);

CREATE TABLE message (
  tenant    text COLLATE "C" NOT NULL,
  session   bytea    NOT NULL,
  no        integer  NOT NULL,       -- number within the session, without gaps
  depth     integer  NOT NULL,       -- messages before it on its path; negative: beside the path (see store/row.rs)
  branch    integer  NOT NULL,
  parent    integer,                 -- number of the message it follows, or stands over
  at        bigint   NOT NULL,       -- µs since 1970
  seal      bigint   NOT NULL,
  tokens    integer  NOT NULL,
  unspaced  integer  NOT NULL,
  origin    smallint NOT NULL,
  vocabulary smallint NOT NULL,
  node      bytea    NOT NULL,
  role      text COLLATE "C" NOT NULL,
  raw       text COLLATE "C" NOT NULL, -- the exact JSON; jsonb would reorder it
  PRIMARY KEY (tenant, session, no)
);

-- Finds a node without reading its row, and makes it impossible to store one twice.
CREATE UNIQUE INDEX message_node ON message (tenant, session, depth, node) INCLUDE (no, branch);

-- Finds the messages of a branch among thousands of branches; the first one needs no help and pays nothing.
CREATE INDEX message_branch ON message (tenant, session, branch, depth) WHERE branch > 0;

-- Written only when a path forks; a branch's head is its deepest message.
CREATE TABLE branch (
  tenant    text COLLATE "C" NOT NULL,
  session   bytea    NOT NULL,
  no        integer  NOT NULL,
  fork      integer  NOT NULL,       -- number of the message it leaves another branch at; -1: begins at the root
  PRIMARY KEY (tenant, session, no)
);

CREATE INDEX branch_fork ON branch (tenant, session, fork, no);

CREATE TABLE alias (
  tenant    text COLLATE "C" NOT NULL,
  session   bytea    NOT NULL,
  depth     integer  NOT NULL,
  node      bytea    NOT NULL,
  to_session bytea   NOT NULL,
  to_depth  integer  NOT NULL,
  to_node   bytea    NOT NULL,
  PRIMARY KEY (tenant, session, depth, node)
);

CREATE INDEX alias_to ON alias (tenant, to_session);

-- Derived.

CREATE TABLE record (
  tenant    text COLLATE "C" NOT NULL,
  session   bytea    NOT NULL,       -- empty for a tenant's own
  kind      text COLLATE "C" NOT NULL,
  key       text COLLATE "C" NOT NULL,
  version   bigint   NOT NULL,
  at        bigint   NOT NULL,
  body      text COLLATE "C" NOT NULL,
  seal      bigint   NOT NULL,
  PRIMARY KEY (tenant, session, kind, key)
);

-- Terms to messages. Text is already cut into terms; one with very many has several parts, as a vector holds a megabyte.
CREATE TABLE word (
  tenant    text COLLATE "C" NOT NULL,
  session   bytea    NOT NULL,
  no        integer  NOT NULL,
  part      smallint NOT NULL,
  arrived   bigint   NOT NULL,       -- the session's: results come newest first without a look at it
  terms     tsvector NOT NULL,       -- with marks of tenant and session, so that the index alone finds a session's messages
  PRIMARY KEY (tenant, session, no, part)
);

CREATE INDEX word_terms ON word USING gin (terms);
