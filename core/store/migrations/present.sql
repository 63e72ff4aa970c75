CREATE TABLE schema_version (
    version_num VARCHAR(32) NOT NULL,
    CONSTRAINT schema_version_pkc PRIMARY KEY (version_num)
);

CREATE TABLE facts (
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (name)
);

CREATE TABLE conversations (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    session_id TEXT,
    generation BIGINT NOT NULL,
    fence BIGINT NOT NULL,
    agent TEXT,
    model TEXT,
    bot TEXT NOT NULL,
    chat TEXT NOT NULL,
    thread TEXT,
    kind TEXT NOT NULL,
    told TEXT,
    created_at BIGINT NOT NULL,
    UNIQUE (session_id)
);

CREATE TABLE keys (
    "key" TEXT NOT NULL,
    conversation_id BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY ("key"),
    FOREIGN KEY(conversation_id) REFERENCES conversations (id)
);

CREATE INDEX ix_keys_conversation_id ON keys (conversation_id);

CREATE TABLE sessions (
    id TEXT NOT NULL,
    conversation_id BIGINT NOT NULL,
    generation BIGINT NOT NULL,
    parent_id TEXT,
    parent_last_at BIGINT,
    reset_reason TEXT,
    started_at BIGINT NOT NULL,
    last_human_at BIGINT NOT NULL,
    touched_at BIGINT NOT NULL,
    ended_at BIGINT,
    end_reason TEXT,
    expires_at BIGINT,
    title TEXT,
    bot TEXT NOT NULL,
    kind TEXT NOT NULL,
    head BIGINT NOT NULL,
    model_head BIGINT NOT NULL,
    messages BIGINT NOT NULL,
    PRIMARY KEY (id),
    FOREIGN KEY(conversation_id) REFERENCES conversations (id)
);

CREATE INDEX sessions_by_conversation ON sessions (conversation_id, started_at);

CREATE INDEX sessions_by_expiry ON sessions (expires_at) WHERE expires_at IS NOT NULL;

CREATE INDEX sessions_by_touch ON sessions (touched_at, id);

CREATE TABLE participants (
    session_id TEXT NOT NULL,
    identity TEXT NOT NULL,
    PRIMARY KEY (session_id, identity),
    FOREIGN KEY(session_id) REFERENCES sessions (id)
);

CREATE INDEX participants_by_identity ON participants (identity, session_id);

CREATE TABLE turns (
    id TEXT NOT NULL,
    conversation_id BIGINT NOT NULL,
    session_id TEXT NOT NULL,
    state TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    author TEXT NOT NULL,
    thread TEXT,
    reply_to TEXT,
    bot TEXT NOT NULL,
    chat TEXT NOT NULL,
    kind TEXT NOT NULL,
    user_seq BIGINT NOT NULL,
    agent TEXT NOT NULL,
    usage TEXT,
    reference TEXT,
    opened_at BIGINT NOT NULL,
    closed_at BIGINT, retry TEXT,
    PRIMARY KEY (id),
    FOREIGN KEY(conversation_id) REFERENCES conversations (id),
    FOREIGN KEY(session_id) REFERENCES sessions (id)
);

CREATE INDEX turns_by_session ON turns (session_id, opened_at);

CREATE UNIQUE INDEX turns_one_running ON turns (conversation_id) WHERE state = 'running';

CREATE INDEX turns_open ON turns (conversation_id) WHERE state IN ('running', 'suspended');

CREATE TABLE consents (
    id TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    call TEXT NOT NULL,
    bot TEXT NOT NULL,
    chat TEXT NOT NULL,
    asker TEXT NOT NULL,
    state TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL, kind TEXT DEFAULT 'consent' NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT consents_state CHECK (state IN ('open','approved','denied','expired','closed')),
    FOREIGN KEY(turn_id) REFERENCES turns (id)
);

CREATE INDEX ix_consents_expires_at ON consents (expires_at);

CREATE INDEX ix_consents_turn_id ON consents (turn_id);

CREATE TABLE entries (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL,
    seq BIGINT NOT NULL,
    kind TEXT NOT NULL,
    text TEXT NOT NULL,
    data TEXT,
    turn_id TEXT,
    sender TEXT,
    at BIGINT NOT NULL,
    CONSTRAINT entries_kind CHECK (kind IN ('user','assistant','tool_call','tool_result','notice','rewind','compaction','clear')),
    FOREIGN KEY(session_id) REFERENCES sessions (id),
    UNIQUE (session_id, seq)
);

CREATE TABLE attachments (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL,
    entry_id BIGINT,
    digest TEXT NOT NULL,
    name TEXT NOT NULL,
    media_type TEXT NOT NULL,
    size BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    FOREIGN KEY(entry_id) REFERENCES entries (id),
    FOREIGN KEY(session_id) REFERENCES sessions (id)
);

CREATE INDEX ix_attachments_digest ON attachments (digest);

CREATE INDEX ix_attachments_entry_id ON attachments (entry_id);

CREATE INDEX ix_attachments_session_id ON attachments (session_id);

CREATE TABLE inbox (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    account TEXT NOT NULL,
    dedupe TEXT NOT NULL,
    message TEXT,
    conversation_id BIGINT,
    lane TEXT NOT NULL,
    command TEXT,
    state TEXT NOT NULL,
    fate TEXT,
    detail TEXT,
    turn_id TEXT,
    bot TEXT NOT NULL,
    chat TEXT NOT NULL,
    thread TEXT,
    kind TEXT NOT NULL,
    identity TEXT,
    name TEXT,
    role TEXT,
    text TEXT NOT NULL,
    more_likely INTEGER NOT NULL,
    sent_at BIGINT NOT NULL,
    received_at BIGINT NOT NULL,
    done_at BIGINT, tools TEXT, enclosed TEXT, reads INTEGER DEFAULT '0' NOT NULL,
    CONSTRAINT inbox_fate CHECK ((state = 'done') = (fate IS NOT NULL)),
    FOREIGN KEY(conversation_id) REFERENCES conversations (id),
    UNIQUE (account, dedupe)
);

CREATE INDEX inbox_by_turn ON inbox (turn_id) WHERE turn_id IS NOT NULL;

CREATE INDEX inbox_done ON inbox (done_at) WHERE done_at IS NOT NULL;

CREATE INDEX inbox_pending ON inbox (conversation_id, id) WHERE state = 'pending';

CREATE INDEX inbox_undone ON inbox (id) WHERE state != 'done';

CREATE TABLE idempotency (
    scope TEXT NOT NULL,
    "key" TEXT NOT NULL,
    digest TEXT NOT NULL,
    row_id BIGINT,
    answer TEXT,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (scope, "key"),
    FOREIGN KEY(row_id) REFERENCES inbox (id)
);

CREATE INDEX ix_idempotency_expires_at ON idempotency (expires_at);

CREATE INDEX ix_idempotency_row_id ON idempotency (row_id);

CREATE TABLE deliveries (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    conversation_id BIGINT,
    turn_id TEXT,
    role TEXT NOT NULL,
    part INTEGER NOT NULL,
    bot TEXT NOT NULL,
    chat TEXT NOT NULL,
    thread TEXT,
    reply_to TEXT,
    kind TEXT NOT NULL,
    text TEXT NOT NULL,
    state TEXT NOT NULL,
    message TEXT,
    attempts INTEGER NOT NULL,
    not_before BIGINT,
    error TEXT,
    created_at BIGINT NOT NULL,
    done_at BIGINT, buttons TEXT, files TEXT, alone TEXT,
    CONSTRAINT deliveries_role CHECK (role IN ('preview','reply','notice','unknown_notice')),
    CONSTRAINT deliveries_state CHECK (state IN ('queued','sending','sent','failed','unknown')),
    FOREIGN KEY(conversation_id) REFERENCES conversations (id)
);

CREATE INDEX deliveries_by_turn ON deliveries (turn_id) WHERE turn_id IS NOT NULL;

CREATE INDEX deliveries_done ON deliveries (done_at) WHERE done_at IS NOT NULL;

CREATE INDEX deliveries_said ON deliveries (done_at) WHERE state = 'sent' AND text != '';

CREATE INDEX deliveries_unknown ON deliveries (bot, chat) WHERE state = 'unknown';

CREATE INDEX deliveries_unsent ON deliveries (bot, chat, id) WHERE state IN ('queued', 'sending');

CREATE INDEX deliveries_unsent_in ON deliveries (conversation_id) WHERE state IN ('queued', 'sending');

CREATE TABLE people (
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT people_role CHECK (role IN ('owner','user','guest','blocked'))
);

CREATE TABLE identities (
    identity TEXT NOT NULL,
    person_id TEXT NOT NULL,
    name TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (identity),
    FOREIGN KEY(person_id) REFERENCES people (id)
);

CREATE INDEX ix_identities_person_id ON identities (person_id);

CREATE TABLE pairings (
    code TEXT NOT NULL,
    identity TEXT NOT NULL,
    name TEXT NOT NULL,
    bot TEXT NOT NULL,
    chat TEXT NOT NULL,
    kind TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (code),
    UNIQUE (identity)
);

CREATE INDEX ix_pairings_expires_at ON pairings (expires_at);

CREATE TABLE never (
    id BIGINT NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT never_any CHECK (id <> id)
);

CREATE TABLE deletions (
    session_id TEXT NOT NULL,
    guard BIGINT DEFAULT '0' NOT NULL,
    PRIMARY KEY (session_id),
    FOREIGN KEY(guard) REFERENCES never (id) DEFERRABLE INITIALLY DEFERRED
);

CREATE TRIGGER entries_not_changed BEFORE UPDATE ON entries
    BEGIN SELECT RAISE(ABORT, 'entries are never changed'); END;

CREATE TRIGGER entries_not_deleted BEFORE DELETE ON entries
    WHEN NOT EXISTS (SELECT 1 FROM deletions WHERE session_id = OLD.session_id)
    BEGIN SELECT RAISE(ABORT, 'entries are deleted with their session only'); END;

CREATE TRIGGER entries_not_replaced BEFORE INSERT ON entries
    WHEN EXISTS (SELECT 1 FROM entries WHERE session_id = NEW.session_id AND seq = NEW.seq)
        OR EXISTS (SELECT 1 FROM entries WHERE id = NEW.id)
    BEGIN SELECT RAISE(ABORT, 'entries are never changed'); END;

CREATE VIRTUAL TABLE entries_search USING fts5(text, content='', contentless_delete=1, tokenize='trigram');

CREATE INDEX turns_by_author ON turns (author, opened_at);

CREATE TABLE buttons (
    id TEXT NOT NULL,
    question TEXT NOT NULL,
    bot TEXT NOT NULL,
    chat TEXT NOT NULL,
    identity TEXT NOT NULL,
    conversation_id BIGINT,
    action TEXT NOT NULL,
    target TEXT NOT NULL,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (id),
    FOREIGN KEY(conversation_id) REFERENCES conversations (id)
);

CREATE INDEX ix_buttons_question ON buttons (question);

CREATE INDEX ix_buttons_conversation_id ON buttons (conversation_id);

CREATE INDEX ix_buttons_expires_at ON buttons (expires_at);

CREATE TABLE moves (
    bot TEXT NOT NULL,
    was TEXT NOT NULL,
    chat TEXT NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (bot, was)
);

CREATE INDEX moves_by_chat ON moves (bot, chat);

CREATE INDEX deliveries_lost ON deliveries (conversation_id) WHERE state = 'failed' AND role = 'reply';
