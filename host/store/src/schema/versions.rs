//! What each version of the database adds to the one before. A version that was released is never
//! changed.

/// All of them, the first one first.
pub(super) const VERSIONS: [&str; 17] = [
    VERSION_1, VERSION_2, VERSION_3, VERSION_4, VERSION_5, VERSION_6, VERSION_7, VERSION_8, VERSION_9,
    VERSION_10, VERSION_11, VERSION_12, VERSION_13, VERSION_14, VERSION_15, VERSION_16, VERSION_17,
];

/// Times are milliseconds since 1970 UTC. `seq` is the order of arrival: Telegram starts its update
/// ids anew at a random number after a quiet week.
const VERSION_1: &str = "
CREATE TABLE inbox (
    seq         INTEGER PRIMARY KEY,
    channel     TEXT    NOT NULL,
    update_id   INTEGER NOT NULL,
    received_at INTEGER NOT NULL,
    album       TEXT,
    raw         TEXT    NOT NULL,
    turn        TEXT,
    done_at     INTEGER,
    UNIQUE (channel, update_id)
) STRICT;
CREATE INDEX inbox_open  ON inbox (channel, seq) WHERE done_at IS NULL;
CREATE INDEX inbox_done  ON inbox (seq)          WHERE done_at IS NOT NULL;
CREATE INDEX inbox_album ON inbox (channel, album) WHERE album IS NOT NULL;
CREATE INDEX inbox_turn  ON inbox (turn)         WHERE turn IS NOT NULL;

CREATE TABLE reply (
    seq         INTEGER PRIMARY KEY,
    turn        TEXT    NOT NULL UNIQUE,
    channel     TEXT    NOT NULL,
    target      TEXT    NOT NULL,
    created_at  INTEGER NOT NULL,
    finished_at INTEGER
) STRICT;
CREATE INDEX reply_open ON reply (channel, seq) WHERE finished_at IS NULL;

CREATE TABLE part (
    turn    TEXT    NOT NULL REFERENCES reply (turn) ON DELETE CASCADE,
    n       INTEGER NOT NULL,
    kind    TEXT    NOT NULL CHECK (kind IN ('text', 'voice', 'attachment')),
    body    TEXT    NOT NULL,
    state   TEXT    NOT NULL CHECK (state IN ('pending', 'sent', 'failed')),
    outcome TEXT,
    PRIMARY KEY (turn, n)
) STRICT;

CREATE TABLE stranger (
    channel TEXT    NOT NULL,
    sender  TEXT    NOT NULL,
    told_at INTEGER NOT NULL,
    PRIMARY KEY (channel, sender)
) STRICT;

CREATE TABLE journal (
    call_id          TEXT    PRIMARY KEY,
    turn             TEXT    NOT NULL,
    arguments_sha256 TEXT    NOT NULL,
    result           TEXT    NOT NULL,
    recorded_at      INTEGER NOT NULL
) STRICT;
CREATE INDEX journal_turn ON journal (turn);
";

const VERSION_2: &str = "
CREATE TABLE recent (
    channel      TEXT    NOT NULL,
    conversation TEXT    NOT NULL,
    sender       TEXT    NOT NULL,
    album        TEXT,
    files        TEXT    NOT NULL,
    noted_at     INTEGER NOT NULL,
    PRIMARY KEY (channel, conversation, sender)
) STRICT;
CREATE INDEX recent_noted ON recent (noted_at);

CREATE TABLE placeholder (
    turn    TEXT PRIMARY KEY,
    message TEXT
) STRICT;
";

const VERSION_3: &str = "
ALTER TABLE journal ADD COLUMN written_bytes INTEGER NOT NULL DEFAULT 0;
";

/// `line.seq` is the order of what was said; `day` counts days of UTC since 1970.
const VERSION_4: &str = "
CREATE TABLE line (
    seq     INTEGER PRIMARY KEY,
    session TEXT    NOT NULL,
    turn    TEXT    NOT NULL,
    n       INTEGER NOT NULL,
    body    TEXT    NOT NULL,
    said_at INTEGER NOT NULL,
    UNIQUE (turn, n)
) STRICT;
CREATE INDEX line_session ON line (session, seq);
CREATE INDEX line_said    ON line (said_at);

CREATE TABLE attempt (
    turn    TEXT    PRIMARY KEY,
    channel TEXT    NOT NULL,
    sender  TEXT    NOT NULL,
    count   INTEGER NOT NULL,
    last_at INTEGER NOT NULL
) STRICT;

CREATE TABLE usage (
    day           INTEGER NOT NULL,
    channel       TEXT    NOT NULL,
    sender        TEXT    NOT NULL,
    tokens        INTEGER NOT NULL DEFAULT 0,
    written_bytes INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (day, channel, sender)
) STRICT;
";

const VERSION_5: &str = "
CREATE TABLE approval (
    id         TEXT    PRIMARY KEY,
    call_id    TEXT    NOT NULL,
    sha256     TEXT    NOT NULL,
    place      TEXT    NOT NULL,
    message    TEXT,
    state      TEXT    NOT NULL CHECK (state IN ('asked', 'approved', 'denied', 'expired', 'withdrawn')),
    decided_by TEXT,
    asked_at   INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    UNIQUE (call_id, sha256)
) STRICT;

CREATE TABLE approved_path (
    channel     TEXT    NOT NULL,
    sender      TEXT    NOT NULL,
    tool        TEXT    NOT NULL,
    path        TEXT    NOT NULL,
    approved_at INTEGER NOT NULL,
    PRIMARY KEY (channel, sender, tool, path)
) STRICT;
";

const VERSION_6: &str = "
ALTER TABLE journal ADD COLUMN attachments TEXT NOT NULL DEFAULT '[]';

CREATE TABLE outgoing (
    turn   TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    PRIMARY KEY (turn, sha256)
) STRICT;
";

/// `inbox.request` is the `seq` of the update to whose turn this one is said; `inbox.joined` the
/// number of the line with which that turn took it up. `recent.turn` is the turn that noted it.
const VERSION_7: &str = "
ALTER TABLE inbox ADD COLUMN session TEXT;
ALTER TABLE inbox ADD COLUMN sender  TEXT;
ALTER TABLE inbox ADD COLUMN request INTEGER;
ALTER TABLE inbox ADD COLUMN joined  INTEGER;
CREATE INDEX inbox_session ON inbox (session, seq) WHERE done_at IS NULL;
CREATE INDEX inbox_request ON inbox (request)      WHERE request IS NOT NULL;

ALTER TABLE recent ADD COLUMN turn TEXT;

ALTER TABLE journal ADD COLUMN delivery TEXT;

CREATE TABLE delivery (
    call_id      TEXT    PRIMARY KEY,
    request      TEXT    NOT NULL,
    files        TEXT    NOT NULL,
    delivered_at INTEGER NOT NULL
) STRICT;
CREATE INDEX delivery_request ON delivery (request);
";

/// A part may be text with styles.
const VERSION_8: &str = "
CREATE TABLE part_of_any_kind (
    turn    TEXT    NOT NULL REFERENCES reply (turn) ON DELETE CASCADE,
    n       INTEGER NOT NULL,
    kind    TEXT    NOT NULL CHECK (kind IN ('text', 'rich', 'voice', 'attachment')),
    body    TEXT    NOT NULL,
    state   TEXT    NOT NULL CHECK (state IN ('pending', 'sent', 'failed')),
    outcome TEXT,
    PRIMARY KEY (turn, n)
) STRICT;
INSERT INTO part_of_any_kind SELECT turn, n, kind, body, state, outcome FROM part;
DROP TABLE part;
ALTER TABLE part_of_any_kind RENAME TO part;
";

/// `inbox.message` names what a person sent, however often it is edited; `moved` where a group goes
/// on.
const VERSION_9: &str = "
ALTER TABLE inbox ADD COLUMN message TEXT;
CREATE INDEX inbox_message ON inbox (channel, message) WHERE message IS NOT NULL AND done_at IS NULL;

CREATE TABLE moved (
    channel  TEXT    NOT NULL,
    place    TEXT    NOT NULL,
    goes_on  TEXT    NOT NULL,
    noted_at INTEGER NOT NULL,
    PRIMARY KEY (channel, place)
) STRICT;
";

/// `stranger.times` counts how often they were told.
const VERSION_10: &str = "
ALTER TABLE stranger ADD COLUMN times INTEGER NOT NULL DEFAULT 1;
";

/// `attempt.begun_at` is when the turn began to run, `attempt.spent` what it has cost in tokens
/// without a line to show for it.
const VERSION_11: &str = "
ALTER TABLE attempt ADD COLUMN begun_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE attempt ADD COLUMN spent    INTEGER NOT NULL DEFAULT 0;
UPDATE attempt SET begun_at = last_at;
";

/// `stream.number` is the last event that was taken; `behind` whether what was said before it began
/// may still have to be asked for. `place.last` is the update before which nothing has to be; with
/// a minus as long as the place cannot be asked.
const VERSION_12: &str = "
CREATE TABLE stream (
    channel TEXT    PRIMARY KEY,
    session TEXT    NOT NULL,
    address TEXT    NOT NULL,
    number  INTEGER NOT NULL,
    behind  INTEGER NOT NULL
) STRICT;

CREATE TABLE place (
    channel  TEXT    NOT NULL,
    place    TEXT    NOT NULL,
    last     INTEGER NOT NULL,
    noted_at INTEGER NOT NULL,
    PRIMARY KEY (channel, place)
) STRICT;
";

/// `run.began_with` and the outputs and errors are JSON that is the workflows' own.
const VERSION_13: &str = "
CREATE TABLE run (
    run         TEXT    PRIMARY KEY,
    workflow    TEXT    NOT NULL,
    channel     TEXT    NOT NULL,
    sender      TEXT    NOT NULL,
    began_with  TEXT    NOT NULL,
    file_sha256 TEXT    NOT NULL,
    state       TEXT    NOT NULL CHECK (state IN ('running', 'done', 'failed', 'cancelled')),
    output      TEXT,
    error       TEXT,
    began_at    INTEGER NOT NULL,
    ended_at    INTEGER
) STRICT;
CREATE INDEX run_open  ON run (state)    WHERE ended_at IS NULL;
CREATE INDEX run_ended ON run (ended_at) WHERE ended_at IS NOT NULL;

CREATE TABLE run_task (
    run    TEXT    NOT NULL REFERENCES run (run) ON DELETE CASCADE,
    n      INTEGER NOT NULL,
    id     TEXT    NOT NULL,
    state  TEXT    NOT NULL CHECK (state IN ('pending', 'running', 'done', 'failed', 'cancelled')),
    output TEXT,
    error  TEXT,
    PRIMARY KEY (run, n)
) STRICT;
";

/// `run.owner` is who carries it out; `answers` whether its end is told to `answer_to`,
/// `answered_at` since when it is. A task that runs and has `waits_until` waits: for the reply to
/// what the task `waits_of` of its run has sent, or for a decision. `run_message.messages` are the
/// platform's ids.
const VERSION_14: &str = "
ALTER TABLE run ADD COLUMN owner          TEXT NOT NULL DEFAULT 'cli';
ALTER TABLE run ADD COLUMN answer_channel TEXT;
ALTER TABLE run ADD COLUMN answer_to      TEXT;
ALTER TABLE run ADD COLUMN answers        INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN answered_at    INTEGER;

ALTER TABLE run_task ADD COLUMN waits_for   TEXT;
ALTER TABLE run_task ADD COLUMN waits_of    INTEGER;
ALTER TABLE run_task ADD COLUMN waits_until INTEGER;
ALTER TABLE run_task ADD COLUMN patience    INTEGER;

CREATE TABLE run_message (
    run       TEXT    NOT NULL REFERENCES run (run) ON DELETE CASCADE,
    n         INTEGER NOT NULL,
    channel   TEXT    NOT NULL,
    recipient TEXT    NOT NULL,
    turn      TEXT    NOT NULL UNIQUE,
    texts     TEXT    NOT NULL,
    messages  TEXT,
    state     TEXT    NOT NULL CHECK (state IN ('open', 'unawaited', 'replied', 'timed_out')),
    answer    TEXT,
    album     TEXT,
    PRIMARY KEY (run, n)
) STRICT;
CREATE INDEX run_message_to ON run_message (channel, recipient);

CREATE TABLE run_schedule (
    workflow  TEXT    PRIMARY KEY,
    looked_at INTEGER NOT NULL
) STRICT;
";

/// `run.turn` is the turn that may add to a run which a turn began; `run_message.files` what the
/// reply's files are fetched by, `replied_at` when the last part of it came.
const VERSION_15: &str = "
ALTER TABLE run         ADD COLUMN turn       TEXT;
ALTER TABLE run_message ADD COLUMN files      TEXT;
ALTER TABLE run_message ADD COLUMN replied_at INTEGER;
";

/// `attempt.transcript` is what was heard in the message of the turn; `spoken_to` who is answered
/// by voice; `approval.has_choices` whether the message that shows it may have choices still.
const VERSION_16: &str = "
ALTER TABLE attempt ADD COLUMN transcript TEXT;

CREATE TABLE spoken_to (
    session TEXT    NOT NULL,
    sender  TEXT    NOT NULL,
    since   INTEGER NOT NULL,
    PRIMARY KEY (session, sender)
) STRICT;

ALTER TABLE approval ADD COLUMN channel     TEXT;
ALTER TABLE approval ADD COLUMN has_choices INTEGER NOT NULL DEFAULT 1;
CREATE INDEX approval_choices ON approval (channel) WHERE has_choices = 1 AND state <> 'asked';
";

/// `run.due_at` is when a run has something to do, unless somebody replies before: the end of what
/// it waits for, and 0 where it does not wait. The indexes find what there is to do, however many
/// runs wait; the one that goes could serve no query. `unnoted` is whether the end of a run is
/// still to be written into the audit, `ended_by` who ended it.
const VERSION_17: &str = "
DROP INDEX run_open;
ALTER TABLE run ADD COLUMN ended_by TEXT;
ALTER TABLE run ADD COLUMN unnoted  INTEGER NOT NULL DEFAULT 0;
CREATE INDEX run_unnoted ON run (ended_at) WHERE unnoted = 1;
ALTER TABLE run ADD COLUMN due_at INTEGER NOT NULL DEFAULT 0;
CREATE INDEX run_due        ON run (owner, due_at)   WHERE state = 'running';
CREATE INDEX run_age        ON run (owner, began_at) WHERE state = 'running';
CREATE INDEX run_unanswered ON run (ended_at)
    WHERE ended_at IS NOT NULL AND answers = 1 AND answered_at IS NULL AND answer_to IS NOT NULL;

UPDATE run SET due_at = coalesce((
    SELECT min(iif(message.state = 'open', task.waits_until, 0)) FROM run_task AS task
    LEFT JOIN run_message AS message ON message.run = task.run AND message.n = task.waits_of
    WHERE task.run = run.run AND task.state = 'running' AND task.waits_until IS NOT NULL), 0)
WHERE state = 'running';
";
