-- What a session made use of after a point, of what a tool had shown before it and not again since; one row per point ×
-- need.
create table needs (
    point_id varchar not null,  -- Point after which it was needed
    number integer not null check (number >= 1),  -- Place among the needs of the point, in the order in which they came
    -- up, from 1
    kind varchar not null check (kind in ('path', 'identifier', 'quote')),  -- path: a file is edited whose content was
    -- read before the point; identifier: a name is used that a tool had brought up; quote: a line of a tool result is
    -- repeated word by word
    value varchar not null,  -- The path, the name or the line, at most 200 characters
    observation_seq integer not null check (observation_seq >= 0),  -- The latest tool result before the point that has
    -- it
    observation_tokens bigint not null check (observation_tokens >= 0),  -- Tokens of that tool result: what it costs to
    -- fetch it again
    needed_at integer not null check (needed_at > observation_seq),  -- The first message after the point that makes use
    -- of it (seq)
    turns_after integer not null check (turns_after >= 1)  -- Responses of the agent since the point, that one included:
    -- 1 for the first
);
