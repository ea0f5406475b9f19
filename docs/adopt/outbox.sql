-- The outbox, and what its relay keeps.
-- Made from the code by `make contracts`; a test fails when it is stale. To be run once, as the owner of the tables.

CREATE TABLE outbox (
  xid xid8 DEFAULT pg_current_xact_id() NOT NULL,
  id BIGINT GENERATED ALWAYS AS IDENTITY (CACHE 1),
  event_id UUID NOT NULL,
  aggregate_type TEXT NOT NULL,
  aggregate_id TEXT NOT NULL,
  aggregate_version INTEGER NOT NULL CHECK (aggregate_version >= 1),
  lane SMALLINT GENERATED ALWAYS AS (get_byte(decode(md5(aggregate_id), 'hex'), 0) % 16) STORED NOT NULL,
  destination TEXT NOT NULL CHECK (destination IN ('event', 'command')),
  type TEXT NOT NULL,
  source TEXT NOT NULL,
  dataschema TEXT NOT NULL,
  payload BYTEA NOT NULL,
  traceparent TEXT,
  occurred_at TIMESTAMP WITH TIME ZONE DEFAULT clock_timestamp() NOT NULL,
  PRIMARY KEY (id),
  UNIQUE (aggregate_type, aggregate_id, aggregate_version),
  UNIQUE (event_id)
);

CREATE INDEX outbox_xid_id ON outbox (xid, id);

COMMENT ON TABLE outbox IS 'effectively-once outbox 1, for code from 1 on';

CREATE TABLE outbox_purged (
  destination TEXT NOT NULL,
  up_to_id BIGINT NOT NULL,
  up_to_at TIMESTAMP WITH TIME ZONE NOT NULL,
  PRIMARY KEY (destination)
);

CREATE TABLE relay_member (
  destination TEXT NOT NULL,
  name TEXT NOT NULL,
  alive_until TIMESTAMP WITH TIME ZONE NOT NULL,
  PRIMARY KEY (destination, name)
);

CREATE TABLE relay_position (
  position_id BIGINT GENERATED ALWAYS AS IDENTITY,
  destination TEXT NOT NULL,
  owner TEXT,
  epoch BIGINT DEFAULT '0' NOT NULL,
  lease_until TIMESTAMP WITH TIME ZONE,
  system_identifier TEXT,
  timeline INTEGER,
  stalls INTEGER DEFAULT '0' NOT NULL,
  suspect_id BIGINT,
  suspect_tries INTEGER DEFAULT '0' NOT NULL,
  done pg_snapshot DEFAULT '1:1:' NOT NULL,
  floor_id BIGINT DEFAULT '0' NOT NULL,
  target pg_snapshot,
  target_floor BIGINT,
  after_id BIGINT DEFAULT '0' NOT NULL,
  PRIMARY KEY (position_id)
)
 WITH (fillfactor = 50);

CREATE TABLE outbox_parked (
  outbox_id BIGINT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('parked', 'held', 'redriving', 'discarded')),
  attempts INTEGER NOT NULL,
  last_error TEXT NOT NULL,
  parked_at TIMESTAMP WITH TIME ZONE DEFAULT clock_timestamp() NOT NULL,
  destination TEXT NOT NULL,
  lane SMALLINT NOT NULL,
  aggregate_type TEXT NOT NULL,
  aggregate_id TEXT NOT NULL,
  tries INTEGER DEFAULT '0' NOT NULL,
  discarded_reason TEXT,
  discarded_at TIMESTAMP WITH TIME ZONE,
  PRIMARY KEY (outbox_id),
  FOREIGN KEY(outbox_id) REFERENCES outbox (id)
);

CREATE INDEX outbox_parked_live ON outbox_parked (destination, aggregate_type, aggregate_id, outbox_id) WHERE state <> 'discarded';

CREATE TABLE relay_lane (
  destination TEXT NOT NULL,
  lane SMALLINT NOT NULL,
  position_id BIGINT NOT NULL,
  PRIMARY KEY (destination, lane),
  FOREIGN KEY(position_id) REFERENCES relay_position (position_id)
);

CREATE INDEX ix_relay_lane_position_id ON relay_lane (position_id);

WITH position AS (
  INSERT INTO relay_position (destination) VALUES ('event'), ('command') RETURNING position_id, destination)
INSERT INTO relay_lane (destination, lane, position_id)
SELECT destination, lane, position_id FROM position CROSS JOIN generate_series(0, 15) AS lane;
