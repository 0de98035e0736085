#!/bin/sh
# Compacts stored sessions with one method, writes scorecard.md, and fails when the method keeps too little.
#
#   gate.sh SESSIONS METHOD LEAST [BASE]
#
# SESSIONS  files or a folder of sessions, kept with the code, so that every change is asked the same questions
# METHOD    as in --strategies, such as "head_tail(tail=20)" or peer:our_package.context:compact
# LEAST     overall, 0 to 5, below which it fails
# BASE      a checkout of the code before the change: its METHOD is run too, and must not be better beyond noise
#
# Exit codes: those of compaction-eval; 5 says that a threshold was not reached. Stores are kept between runs.
set -eu
sessions=$1 method=$2 least=$3 base=${4:-}
points=${POINTS:-tokens:32000}

run() { # 3: done, but something was set aside or failed; the scorecard says what
    compaction-eval run "$sessions" --strategies "none,empty,$method" --points "$points" --store "$1" --quiet \
        > /dev/null || [ $? -eq 3 ]
}

run head-store
if [ -n "$base" ]; then
    (PYTHONPATH="$base${PYTHONPATH:+:$PYTHONPATH}"; export PYTHONPATH; run base-store)
    compaction-eval scorecard --store head-store --base base-store --judge embedded \
        --fail-below "$method=$least" --fail-if-worse 0.2 > scorecard.md
else
    compaction-eval scorecard --store head-store --judge embedded --fail-below "$method=$least" > scorecard.md
fi
