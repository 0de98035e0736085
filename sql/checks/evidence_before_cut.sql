-- The evidence of a probe consists of messages before the cut of its point.
with evidence_seqs as (
    select
        probe_id,
        point_id,
        unnest(cast(json_extract_string(evidence, '$[*].seq') as bigint[])) as seq
    from probes
)

select
    evidence_seqs.probe_id,
    evidence_seqs.seq,
    points.cut_seq
from evidence_seqs
inner join points on evidence_seqs.point_id = points.point_id
where evidence_seqs.seq is null or evidence_seqs.seq < 0 or evidence_seqs.seq >= points.cut_seq
