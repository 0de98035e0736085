-- One row per point × need.
create table needs (
    point_id varchar not null,
    number integer not null check (number >= 1),
    kind varchar not null check (kind in ('path', 'identifier', 'quote')),
    value varchar not null,
    observation_seq integer not null check (observation_seq >= 0),
    observation_tokens bigint not null check (observation_tokens >= 0),
    needed_at integer not null check (needed_at > observation_seq),
    turns_after integer not null check (turns_after >= 1)
);

comment on table needs is
'What a session made use of after a point, of what a tool had shown before it and not again since; one row per point '
'× need';
comment on column needs.point_id is 'Point after which it was needed';
comment on column needs.number is 'Place among the needs of the point, in the order in which they came up, from 1';
comment on column needs.kind is
'path: a file is edited whose content was read before the point; identifier: a name is used that a tool had '
'brought up; quote: a line of a tool result is repeated word by word';
comment on column needs.value is 'The path, the name or the line, at most 200 characters';
comment on column needs.observation_seq is 'The latest tool result before the point that has it';
comment on column needs.observation_tokens is 'Tokens of that tool result: what it costs to fetch it again';
comment on column needs.needed_at is 'The first message after the point that makes use of it (seq)';
comment on column needs.turns_after is 'Responses of the agent since the point, that one included: 1 for the first';
