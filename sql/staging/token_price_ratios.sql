-- One row per kind of token: its price as a multiple of that of an input token.
--
-- Anthropic's list prices (its pages on pricing and prompt caching, as of November 2026): output is five times the
-- input, reading from the cache a tenth, writing to the one that lives for five minutes a quarter more; some of its
-- models read for less. For other prices call the macro break_even_turns with ratios of your own.
create view token_price_ratios as
select
    prices.kind,  -- input, output, cache_read or cache_write
    cast(prices.ratio as double) as ratio,  -- Price of such a token / price of an input token
    prices.source  -- Whose prices they are, and of when
from (
    values
    ('input', 1, 'by definition'),
    ('output', 5, 'Anthropic, list prices, November 2026'),
    ('cache_read', 0.1, 'Anthropic, list prices, November 2026'),
    ('cache_write', 1.25, 'Anthropic, list prices, November 2026 (cache of five minutes)')
) as prices (kind, ratio, source);
