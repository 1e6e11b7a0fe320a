"""`python -m benchmarks.admission.conversions KUBECONFIG PORT`: converts objects between versions
for a kube-apiserver on which nothing else of ours runs.
"""

import random
import sys
from pathlib import Path

from fleetqueue import installation
from fleetqueue.api.kueue import conversion
from fleetqueue.base.clock import SystemClock
from fleetqueue.base.loops import new_runner
from fleetqueue.kube.connect import connect
from fleetqueue.kube.webhook import Webhooks, WebhookServer
from fleetqueue.kube.webhook_certificates import CertificateKeeper, Registration

HOST = "127.0.0.1"


async def serve(kubeconfig: Path, port: int) -> None:
    clock = SystemClock()
    client = connect(kubeconfig, clock=clock, random=random.SystemRandom())
    webhooks = Webhooks()
    webhooks.convert("/convert", conversion.convert)
    crds = Registration(crds=installation.registration().crds)
    keeper = CertificateKeeper([HOST], clock=clock, client=client, registration=crds)
    await WebhookServer(webhooks, keeper, host=HOST, port=port).run()


if __name__ == "__main__":
    with new_runner() as runner:
        runner.run(serve(Path(sys.argv[1]), int(sys.argv[2])))
