-- The contexts in the files of STORE/compactions: none here; a load puts in a read of the files where they are.
create macro context_rows() as table
    select
        cast(null as varchar) as compaction_id,
        cast(null as varchar) as session_id,
        cast(null as varchar) as status,
        cast(
            null as struct(
                seq integer,
                "role" varchar,
                "text" varchar,
                reasoning varchar,
                tool_calls varchar,
                tool_call_id varchar,
                tool_name varchar,
                is_error boolean,
                tokens integer
            )[]
        ) as context
    where false;
