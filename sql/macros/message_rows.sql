-- The rows of the files in STORE/transcripts: none here; a load puts in a read of the files where they are.
create macro message_rows() as table
    select
        cast(null as varchar) as session_id,
        cast(null as integer) as seq,
        cast(null as varchar) as role,
        cast(null as varchar) as text,
        cast(null as varchar) as reasoning,
        cast(null as struct(id varchar, "name" varchar, arguments varchar)[]) as tool_calls,
        cast(null as varchar) as tool_call_id,
        cast(null as varchar) as tool_name,
        cast(null as boolean) as is_error,
        cast(null as integer) as tokens,
        cast(null as varchar) as source_ref,
        cast(null as varchar) as timestamp
    where false;
