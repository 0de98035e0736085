-- Turns after which a compaction has cost less than none would have; NULL when it never does.
--
-- Every turn is a request that sends the context anew: tokens_before without the compaction, context with it (what is
-- kept and what is fetched again). invested is what the summary cost, in prices of an input token; a fetch takes a
-- request of its own. read_ratio and write_ratio are the prices of a token that a request sends again and of one that
-- it sends for the first time: 1 and 1 without prompt caching. Derived in docs/tokens-per-task.md:
--   (invested + (write - read) * context + fetches * read * context) / (read * (tokens_before - context))
create or replace macro break_even_turns(tokens_before, context, fetches, invested, read_ratio, write_ratio) as
case
    when context < tokens_before
        then
            (invested + (write_ratio - read_ratio) * context + fetches * read_ratio * context)
            / (read_ratio * (tokens_before - context))
end;
