"""``view``: a store as a local web app. The page of ``report``, whose script asks for sessions one by one."""
