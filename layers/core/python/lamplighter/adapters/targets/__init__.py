"""What a run can do, one small file per type of target; `registry` knows them all."""
