-- Sessions are listed by when something was last said in them: to the minute, so that few messages pay for it.

ALTER TABLE session ADD COLUMN minute INTEGER NOT NULL DEFAULT 0;

UPDATE session SET minute = ifnull(
  (SELECT max(at) FROM message WHERE id BETWEEN session.no << 32 AND session.no << 32 | 4294967295), born) / 60000000;

CREATE INDEX session_minute ON session (tenant, minute, no);
