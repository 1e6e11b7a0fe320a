"""config.kueue.x-k8s.io: the file that configures the manager, in v1beta2 and in v1beta1."""

from fleetqueue.api.kueue.config.reading import ConfigurationError, read_configuration
from fleetqueue.api.kueue.config.types import Configuration
from fleetqueue.api.kueue.config.validation import validate_configuration

__all__ = [
    "Configuration",
    "ConfigurationError",
    "read_configuration",
    "validate_configuration",
]
