-- One row per panel × judge that is a member of it.
create view stg_panel_members as
select
    panels.panel_id,  -- Judge version that is the panel
    panels.panel,  -- Name of the panel
    panels.own_summaries,  -- Whether members judge summaries that their own model wrote
    members.judge_id as member_id,  -- Judge version that is the member
    members.judge as member,  -- Name of the member
    members.model as member_model  -- Model of the member
from (
    select
        judge_id as panel_id,
        judge as panel,
        cast(json_extract(params, '$.own_summaries') as boolean) as own_summaries,
        unnest(cast(json_extract(params, '$.members') as varchar[])) as member_id
    from judges
    where json_exists(params, '$.members')
) as panels
inner join judges as members on panels.member_id = members.judge_id;
