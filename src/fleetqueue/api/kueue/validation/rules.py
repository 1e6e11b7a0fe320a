"""Which of the optional rules apply; whoever reads the feature gates makes one of these."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Rules:
    """One field per feature gate that validation depends on, at the gate's default."""

    workload_validate_resources_are_non_negative: bool = True
    workload_validation_for_pod_set_metadata: bool = True
    tas_validate_workload_slice_size: bool = True
    elastic_jobs_via_workload_slices: bool = True
    admission_gated_by: bool = True
    priority_boost: bool = False
    concurrent_admission: bool = False
    reject_updates_to_cq_with_invalid_on_flavors: bool = False
