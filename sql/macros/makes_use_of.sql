-- Whether a need (its kind and value) is of what a statement says: of a file its path, else one of its exact words.
create macro makes_use_of(need_kind, need_value, statement_kind, statement_text, exact) as
case
    when need_kind = 'path' then starts_with(statement_kind, 'file_') and statement_text = need_value
    else contains(array_to_string(exact, chr(10)), need_value)
end;
