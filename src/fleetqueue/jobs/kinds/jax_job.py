"""JAXJob (kubeflow.org/v1): workers that are all alike."""

from fleetqueue.jobs.training import training_job

JOB = training_job("JAXJob", "jaxReplicaSpecs", ("Worker",))
