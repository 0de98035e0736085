-- The letter of a number from 1 on: a to z, and the number itself in brackets after that.
create macro letter(number) as
case when number <= 26 then chr(cast(96 + number as integer)) else '(' || number || ')' end;
