-- Every done answer has a text.
select answer_id
from answers
where status = 'done' and text is null
