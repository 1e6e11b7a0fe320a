"""What a person sees of queues and workloads, and clicks."""

import pytest

from browser.conftest import Shown
from fleetqueue.dashboard.running import DashboardOptions, showing
from fleetqueue.kube.resources import Resource

pytestmark = pytest.mark.rule("kueue 11.5")
ACCOUNTS = Resource("", "v1", "serviceaccounts", "ServiceAccount")
RBAC = "rbac.authorization.k8s.io"
LISTS = ("/", "/workloads", "/local-queues", "/cluster-queues", "/cohorts", "/resource-flavors")
DETAILS = (
    "/local-queue/default/main",
    "/cluster-queue/research",
    "/cohort/lab",
    "/resource-flavor/default",
)


def click(text: str, within: str = "a, button") -> str:
    """True when something with that text was there to be clicked."""
    all_ = f"[...document.querySelectorAll('{within}')]"
    found = f"{all_}.find((e) => e.textContent.includes('{text}'))"
    return f"(() => {{ const found = {found}; found && found.click(); return found; }})()"


def in_object(text: str) -> str:
    all_ = "[...document.querySelectorAll('pre')]"
    return f"{all_}.some((e) => e.textContent.includes('{text}'))"


async def test_a_job_is_followed_from_the_overview_to_its_events(shown: Shown) -> None:
    tab = shown.tab
    await shown.open("/")
    await tab.wait_text("research")
    await tab.wait_text("0 of 3")
    await shown.job("train", "2")
    await tab.wait_text("2 of 3")

    await tab.wait(click("Workloads"))
    await tab.wait("location.pathname === '/workloads'")
    await tab.wait_text("job-train")
    await tab.wait(click("job-train"))
    await tab.wait("location.pathname.startsWith('/workload/default/job-train')")
    for text in (
        "Admitted",
        "Conditions",
        "QuotaReserved",
        "Preemption",
        "Admitted by ClusterQueue",
    ):
        await tab.wait_text(text)
    await tab.wait(in_object("queueName: main"))

    await tab.evaluate("history.back()")
    await tab.wait("location.pathname === '/workloads'")
    assert tab.problems == []


async def test_a_job_that_waits_tells_why(shown: Shown) -> None:
    tab = shown.tab
    await shown.job("holder", "2")
    await shown.job("waits", "2")
    await shown.open("/workloads?phase=PENDING")
    await tab.wait_text("job-waits")
    assert "job-holder" not in await tab.text()
    await tab.wait(click("job-waits"))
    await tab.wait_text("Why it waits")
    await tab.wait_text("insufficient unused quota for cpu in flavor default, 1 more needed")

    await shown.client.delete(Resource("batch", "v1", "jobs", "Job"), "holder", "default")
    await tab.wait("!document.body.innerText.includes('Why it waits')")


async def test_markup_in_a_cluster_is_text_on_the_page(shown: Shown) -> None:
    tab = shown.tab
    await shown.job("marked", "2")
    await shown.open("/workloads")
    await tab.wait_text("job-marked")
    await tab.wait(click("job-marked"))
    await tab.wait(in_object("window.hacked"))
    assert await tab.evaluate("window.hacked") is None
    assert await tab.evaluate("document.querySelectorAll('main img, main script').length") == 0
    assert "hf_secret" not in str(await tab.evaluate("document.documentElement.outerHTML"))
    assert tab.problems == []


@pytest.mark.parametrize("width", [360, 1280])
async def test_pages_fit_their_width_and_say_what_they_are(shown: Shown, width: int) -> None:
    tab = shown.tab
    await shown.job("train", "2")
    await shown.job("too-large", "200")
    await tab.resize(width, is_dark=width == 360)
    for path in (*LISTS, *DETAILS):
        await shown.open(path)
        await tab.wait("document.querySelector('#state.live')")
        await tab.wait("document.querySelector('tbody tr')")
        assert await tab.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
        assert await tab.evaluate("document.querySelectorAll('h1').length") == 1
        assert await tab.evaluate("document.querySelectorAll('[aria-current=page]').length") == 1
        unnamed = "[...document.querySelectorAll('input, select')].filter((e) => !e.labels.length)"
        assert await tab.evaluate(f"{unnamed}.length") == 0, path
    assert tab.problems == []


async def test_nothing_of_a_list_of_workloads_is_cut_off(shown: Shown) -> None:
    tab = shown.tab
    await shown.job("leaderworkerset-of-the-group-for-research-and-development", "2")
    await tab.resize(1280)
    await shown.open("/workloads")
    await tab.wait_text("The workload is admitted")
    workload = Resource("kueue.x-k8s.io", "v1beta2", "workloads", "Workload")
    (made,) = (await shown.client.list(workload, "default")).items
    name = made["metadata"]["name"]
    for patch in (
        {"nominatedClusterNames": ["worker-10"]},
        {"nominatedClusterNames": None, "clusterName": "worker-10"},
    ):
        told = {"status": patch}
        await shown.client.patch(workload, name, told, "default", subresource="status")
    await tab.wait_text("worker-10")
    cut = "[...document.querySelectorAll('.scroll')].filter((e) => e.scrollWidth > e.clientWidth)"
    assert await tab.evaluate(f"{cut}.length") == 0


async def test_a_cluster_that_comes_back_is_found_again(shown: Shown) -> None:
    tab = shown.tab
    async with showing(DashboardOptions(shown.kubeconfig)) as url:
        port = int(url.rstrip("/").rpartition(":")[2])
        await tab.open(f"{url}cluster-queues")
        await tab.wait_text("live")
        await tab.wait_text("research")
    await tab.wait_text("reconnecting")
    async with showing(DashboardOptions(shown.kubeconfig, port=port)):
        await tab.wait("document.querySelector('#state.live')")


async def test_login_with_a_token(shown: Shown) -> None:
    tab, client = shown.tab, shown.client
    await shown.job("train", "2")
    metadata = {"name": "viewer", "namespace": "default"}
    await client.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
    rule = {"apiGroups": ["kueue.x-k8s.io"], "resources": ["workloads"], "verbs": ["get", "list"]}
    role = {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": {"name": "viewer"}}
    await client.create({**role, "rules": [rule]})
    reference = {"apiGroup": RBAC, "kind": "ClusterRole", "name": "viewer"}
    subjects = [{"kind": "ServiceAccount", **metadata}]
    binding = {"kind": "ClusterRoleBinding", "roleRef": reference, "subjects": subjects}
    await client.create({**role, **binding})
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    made = await client.create_subresource(ACCOUNTS, "viewer", "token", body, "default")

    async with showing(DashboardOptions(shown.kubeconfig, has_login=True)) as url:
        await tab.open(f"{url}workloads")
        await tab.wait("location.pathname === '/login'")
        await log_in(shown, "nonsense")
        await tab.wait_text("The cluster does not know this token.")
        await log_in(shown, str(made["status"]["token"]))
        await tab.wait("location.pathname === '/workloads'")
        await tab.wait_text("job-train")
        await tab.wait_text("system:serviceaccount:default:viewer")

        await tab.wait(click("Cluster queues"))
        await tab.wait_text("may not list clusterqueues.kueue.x-k8s.io")
        await tab.wait(click("Log out"))
        await tab.wait("location.pathname === '/login'")
        assert await tab.evaluate("sessionStorage.length") == 0


async def log_in(shown: Shown, token: str) -> None:
    await shown.tab.wait("document.querySelector('#token')")
    await shown.tab.evaluate(f"document.querySelector('#token').value = '{token}'")
    await shown.tab.wait(click("Log in", "button.primary"))
