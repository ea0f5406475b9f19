-- The inbox in daily partitions, its parking lot, and the notes of its retention.
-- Made from the code by `make contracts`; a test fails when it is stale. To be run once, as the owner of the tables.

CREATE TABLE inbox (
  consumer TEXT NOT NULL,
  event_id UUID NOT NULL,
  topic TEXT NOT NULL,
  partition INTEGER NOT NULL,
  "offset" BIGINT NOT NULL,
  member TEXT NOT NULL,
  generation INTEGER NOT NULL,
  aggregate_id TEXT NOT NULL,
  aggregate_version INTEGER NOT NULL,
  applied_at TIMESTAMP WITH TIME ZONE DEFAULT clock_timestamp() NOT NULL,
  PRIMARY KEY (consumer, event_id)
)
 PARTITION BY RANGE (event_id);

COMMENT ON TABLE inbox IS 'effectively-once inbox 2, for code from 1 on';

CREATE TABLE inbox_default PARTITION OF inbox DEFAULT;

CREATE FUNCTION inbox_first_id(day date) RETURNS uuid LANGUAGE sql IMMUTABLE SET search_path = pg_catalog AS $$
  SELECT (lpad(to_hex((extract(epoch FROM day::timestamp) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid $$;

CREATE FUNCTION inbox_make_days(first date, last date) RETURNS integer LANGUAGE plpgsql SECURITY DEFINER
SET search_path = public, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
  missing date[] := ARRAY(SELECT day::date FROM generate_series(first, last, interval '1 day') AS day
                          WHERE to_regclass('inbox_' || to_char(day, 'YYYYMMDD')) IS NULL);
  day date;
  part text;
BEGIN
  IF cardinality(missing) = 0 THEN RETURN 0; END IF;
  IF cardinality(missing) > 400 THEN RAISE EXCEPTION 'more than 400 days at once: %', cardinality(missing); END IF;
  LOCK TABLE inbox IN ACCESS EXCLUSIVE MODE;
  FOREACH day IN ARRAY missing LOOP
    part := 'inbox_' || to_char(day, 'YYYYMMDD');
    CONTINUE WHEN to_regclass(part) IS NOT NULL;  -- made by another while we waited
    EXECUTE format('CREATE TABLE %I (LIKE inbox INCLUDING ALL)', part);
    EXECUTE format('WITH moved AS (DELETE FROM inbox_default WHERE event_id >= %L AND event_id < %L RETURNING *)
                    INSERT INTO %I SELECT * FROM moved', inbox_first_id(day), inbox_first_id(day + 1), part);
    EXECUTE format('ALTER TABLE inbox ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
                   part, inbox_first_id(day), inbox_first_id(day + 1));
  END LOOP;
  RETURN cardinality(missing);
END $$;

CREATE OR REPLACE FUNCTION inbox_drop_days(before date) RETURNS TABLE (days integer, rows bigint) LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
  part text;
BEGIN
  IF before >= (now() AT TIME ZONE 'UTC')::date THEN
    RAISE EXCEPTION 'the inbox of today and later cannot be dropped: %', before;
  END IF;
  days := 0;
  FOR part IN SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
              WHERE i.inhparent = 'inbox'::regclass AND c.relname ~ '^inbox_[0-9]{8}$'
                AND to_date(right(c.relname, 8), 'YYYYMMDD') < before ORDER BY 1 LOOP
    EXECUTE format('DROP TABLE %I', part);
    days := days + 1;
  END LOOP;
  DELETE FROM inbox_default WHERE ctid = ANY (ARRAY (
    SELECT ctid FROM inbox_default
    WHERE get_byte(uuid_send(event_id), 6) >> 4 = 7 AND get_byte(uuid_send(event_id), 8) >> 6 = 2 AND event_id < inbox_first_id(before) LIMIT 5000));
  GET DIAGNOSTICS rows = ROW_COUNT;
  RETURN NEXT;
END $$;

REVOKE ALL ON FUNCTION inbox_make_days(date, date), inbox_drop_days(date) FROM PUBLIC;

SELECT inbox_make_days((now() AT TIME ZONE 'UTC')::date - 1, (now() AT TIME ZONE 'UTC')::date + 7);

CREATE TABLE inbox_attempts (
  consumer TEXT NOT NULL,
  topic TEXT NOT NULL,
  partition INTEGER NOT NULL,
  "offset" BIGINT NOT NULL,
  attempts INTEGER NOT NULL,
  last_error TEXT NOT NULL,
  last_at TIMESTAMP WITH TIME ZONE DEFAULT clock_timestamp() NOT NULL,
  PRIMARY KEY (consumer, topic, partition, "offset")
);

CREATE TABLE inbox_begun (
  consumer TEXT NOT NULL,
  topic TEXT NOT NULL,
  partition INTEGER NOT NULL,
  first_offset BIGINT NOT NULL,
  last_offset BIGINT NOT NULL,
  times INTEGER NOT NULL,
  begun_at TIMESTAMP WITH TIME ZONE DEFAULT clock_timestamp() NOT NULL,
  PRIMARY KEY (consumer, topic, partition)
);

CREATE TABLE inbox_parked (
  id BIGINT GENERATED ALWAYS AS IDENTITY,
  consumer TEXT NOT NULL,
  topic TEXT NOT NULL,
  partition INTEGER NOT NULL,
  "offset" BIGINT NOT NULL,
  key BYTEA,
  headers JSON NOT NULL,
  payload BYTEA,
  event_id UUID,
  type TEXT,
  aggregate_type TEXT,
  aggregate_id TEXT,
  aggregate_version INTEGER,
  state TEXT NOT NULL CHECK (state IN ('parked', 'held', 'redriving', 'discarded')),
  attempts INTEGER NOT NULL,
  error TEXT NOT NULL,
  parked_at TIMESTAMP WITH TIME ZONE DEFAULT clock_timestamp() NOT NULL,
  discarded_reason TEXT,
  discarded_at TIMESTAMP WITH TIME ZONE,
  PRIMARY KEY (id)
);

CREATE UNIQUE INDEX inbox_parked_event ON inbox_parked (consumer, event_id) WHERE event_id IS NOT NULL;

CREATE INDEX inbox_parked_live ON inbox_parked (consumer, topic, key, id) WHERE state <> 'discarded';

CREATE UNIQUE INDEX inbox_parked_place ON inbox_parked (consumer, topic, partition, "offset") WHERE event_id IS NULL;

CREATE TABLE retention_run (
  what TEXT NOT NULL,
  ran_at TIMESTAMP WITH TIME ZONE DEFAULT clock_timestamp() NOT NULL,
  deleted BIGINT NOT NULL,
  kept_because TEXT NOT NULL,
  PRIMARY KEY (what)
);
