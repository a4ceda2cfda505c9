-- Which claim the writes of this moment belong to. Every claim takes the next
-- number; a write of a process with another one is refused.
ALTER TABLE event_head ADD COLUMN holder BIGINT NOT NULL DEFAULT 0;
