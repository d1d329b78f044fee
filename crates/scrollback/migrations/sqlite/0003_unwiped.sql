-- A row while copies of what was erased may be left in the file: from then on until the file is written anew.

CREATE TABLE unwiped (since INTEGER NOT NULL);
