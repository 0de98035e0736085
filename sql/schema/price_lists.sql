-- What tokens cost at whose prices; one row per model whose prices are known.
create table price_lists (
    price_list varchar not null,  -- Model whose prices they are: openai:NAME or anthropic:NAME
    source varchar not null,  -- Where they are from: the table and its day, or the study
    input double not null check (input >= 0),  -- US dollars a million tokens of input
    cached_input double not null check (cached_input >= 0),  -- Of those that the provider's prompt cache has
    cache_write double not null check (cache_write >= 0),  -- Of those that are written to it
    output double not null check (output >= 0),  -- Of output
    above bigint check (above >= 1),  -- Input tokens above which a call costs the prices that follow; NULL: none
    input_long double not null check (input_long >= 0),  -- As input, above that length
    cached_input_long double not null check (cached_input_long >= 0),  -- As cached_input, above that length
    cache_write_long double not null check (cache_write_long >= 0),  -- As cache_write, above that length
    output_long double not null check (output_long >= 0)  -- As output, above that length
);
