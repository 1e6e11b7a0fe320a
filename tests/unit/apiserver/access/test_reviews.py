"""Reviews and token requests; bodies and messages as kube-apiserver gave them."""

from typing import Any

import pytest

from fleetqueue.apiserver.access import reviews, token_reviews
from fleetqueue.apiserver.access.attributes import Attributes, Decision
from fleetqueue.apiserver.access.authentication import Authenticator
from fleetqueue.apiserver.access.rbac import Rbac
from fleetqueue.apiserver.access.static_tokens import StaticTokens
from fleetqueue.apiserver.access.token_reviews import Account
from fleetqueue.apiserver.access.tokens import ISSUER, Issuer
from fleetqueue.apiserver.access.users import User
from fleetqueue.apiserver.problems import ApiError

ALICE = User("alice", "2", ("dev", "system:authenticated"))
GET_PODS = {"verb": "get", "resource": "pods", "namespace": "x"}


def echo(attributes: Attributes) -> Decision:
    shown = (attributes.user.name, attributes.user.groups, attributes.verb, attributes.resource)
    return Decision(attributes.user.name == "alice", f"{shown} {attributes.path}".strip())


def refused(call: Any, *arguments: Any) -> str:
    with pytest.raises(ApiError) as caught:
        call(*arguments)
    return f"{caught.value.code} {caught.value.message}"


def test_a_subject_access_review_asks_for_its_subject() -> None:
    obj = {"kind": "SubjectAccessReview", "spec": {"user": "u", "resourceAttributes": GET_PODS}}
    answer = reviews.subject_access_review(obj, echo)
    assert answer == {**obj, "status": {"allowed": False, "reason": "('u', (), 'get', 'pods')"}}
    path = {"path": "/x", "verb": "get"}
    obj = {"spec": {"user": "alice", "groups": ["g"], "nonResourceAttributes": path}}
    status = reviews.subject_access_review(obj, echo)["status"]
    assert status == {"allowed": True, "reason": "('alice', ('g',), 'get', '') /x"}


def test_a_self_review_asks_for_the_caller() -> None:
    obj = {"spec": {"resourceAttributes": GET_PODS}, "metadata": {"managedFields": [{}]}}
    assert reviews.self_subject_access_review(obj, ALICE, echo)["status"]["allowed"]


def test_a_status_without_a_reason_leaves_it_out() -> None:
    obj = {"spec": {"resourceAttributes": GET_PODS}}
    answer = reviews.self_subject_access_review(obj, ALICE, lambda _: Decision(True))
    assert answer["status"] == {"allowed": True}


def test_refusals_of_a_subject_access_review() -> None:
    path = {"path": "/x", "verb": "get"}
    spec = {"resourceAttributes": GET_PODS, "nonResourceAttributes": path}
    assert refused(reviews.subject_access_review, {"spec": spec}, echo) == (
        '422 .authorization.k8s.io "" is invalid: [spec.nonResourceAttributes: Invalid value: '
        '{"Path":"/x","Verb":"get"}: cannot be specified in combination with resourceAttributes, '
        'spec.user: Invalid value: "": at least one of user or group must be specified]'
    )
    obj = {"metadata": {"name": "x"}, "spec": {}}
    assert refused(reviews.self_subject_access_review, obj, ALICE, echo) == (
        '422 .authorization.k8s.io "" is invalid: [spec.resourceAttributes: Invalid value: null: '
        "exactly one of nonResourceAttributes or resourceAttributes must be specified, "
        'metadata: Invalid value: {"name":"x"}: must be empty]'
    )


def test_refusals_of_a_local_review() -> None:
    asked = {
        "verb": "get",
        "namespace": "other",
        "fieldSelector": {},
        "labelSelector": {"rawSelector": "x", "requirements": [{"key": "a", "operator": "In"}]},
    }
    obj = {"metadata": {"namespace": "x"}, "spec": {"user": "u", "resourceAttributes": asked}}
    path = "spec.resourceAttributes"
    assert refused(reviews.local_subject_access_review, obj, "x", echo) == (
        f'422 .authorization.k8s.io "" is invalid: [{path}.fieldSelector.requirements: '
        f"Required value: when {path}.fieldSelector is specified, "
        "requirements or rawSelector is required, "
        f'{path}.labelSelector.rawSelector: Invalid value: "x": '
        "may not specified at the same time as requirements, "
        f"{path}.labelSelector.requirements[0].values: Required value: "
        "must be specified when `operator` is 'In' or 'NotIn', "
        f'{path}.namespace: Invalid value: "other": must match metadata.namespace]'
    )
    good = {"metadata": {"namespace": "x"}, "spec": {"user": "u", "resourceAttributes": GET_PODS}}
    assert reviews.local_subject_access_review(good, "x", echo)["status"]["allowed"] is False
    assert refused(reviews.local_subject_access_review, good, "y", echo) == (
        "400 spec.resourceAttributes.namespace must match namespace: y"
    )


@pytest.mark.parametrize(("selectors", "text"), [
    ({"fieldSelector": {"rawSelector": "a==="}}, "fieldSelector ignored"),
    ({"fieldSelector": {"rawSelector": "a=b"}}, ""),
    ({"labelSelector": {"rawSelector": "a in (b)"}}, ""),
    ({"labelSelector": {"rawSelector": "a in"}}, "labelSelector ignored"),
    ({"labelSelector": {"requirements": [{"key": "a", "operator": "Wat"}]}},
     "labelSelector ignored"),
    ({"labelSelector": {"requirements": [{"key": "a", "operator": "Wat"},
                                         {"key": "a", "operator": "Exists"}]}},
     "labelSelector partially ignored"),
    ({"fieldSelector": {"requirements": [{"key": "a", "operator": "In", "values": ["x", "y"]},
                                         {"key": "a", "operator": "NotIn", "values": ["x"]}]}},
     "fieldSelector partially ignored"),
])  # fmt: skip
def test_a_selector_that_does_not_parse_is_left_out(selectors: Any, text: str) -> None:
    obj = {"spec": {"resourceAttributes": {**GET_PODS, **selectors}}}
    status = reviews.self_subject_access_review(obj, ALICE, echo)["status"]
    wanted = f"spec.resourceAttributes.{text} due to parse error" if text else None
    assert status.get("evaluationError") == wanted


def test_a_rules_review_lists_what_the_caller_holds() -> None:
    rbac = Rbac()
    rules = [
        {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["a"]},
        {"verbs": ["get"], "nonResourceURLs": ["/x"]},
    ]
    subjects = [{"kind": "User", "name": "alice"}]
    rbac.role_changed("ClusterRole", "", "r", {"rules": rules})
    for name in ("r", "gone"):
        bound = {"roleRef": {"kind": "ClusterRole", "name": name}, "subjects": subjects}
        rbac.role_changed("ClusterRoleBinding", "", name, bound)
    answer = reviews.self_subject_rules_review({"spec": {"namespace": "x"}}, ALICE, rbac)
    assert answer["status"] == {
        "resourceRules": rules[:1],
        "nonResourceRules": rules[1:],
        "incomplete": False,
        "evaluationError": 'clusterrole.rbac.authorization.k8s.io "gone" not found',
    }
    assert answer["spec"] == {}
    nowhere = refused(reviews.self_subject_rules_review, {"spec": {}}, ALICE, rbac)
    assert nowhere == "400 no namespace on request"


def test_a_self_subject_review_says_who_one_is(clock: Any) -> None:
    assert token_reviews.self_subject_review(ALICE, clock.now()) == {
        "kind": "SelfSubjectReview",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {"creationTimestamp": "2026-11-15T06:00:00Z"},
        "status": {
            "userInfo": {
                "username": "alice",
                "uid": "2",
                "groups": ["dev", "system:authenticated"],
            }
        },
    }


class TestTokenReview:
    def status(self, issuer: Issuer, clock: Any, **spec: Any) -> Any:
        static = StaticTokens([("alicetoken", User("alice", "2", ("dev",)))])
        authenticator = Authenticator(clock, static, issuer)
        return token_reviews.token_review({"spec": spec}, authenticator)["status"]

    def test_a_good_token_names_its_user(self, issuer: Issuer, clock: Any) -> None:
        assert self.status(issuer, clock, token="alicetoken") == {
            "authenticated": True,
            "user": {"username": "alice", "uid": "2", "groups": ["dev", "system:authenticated"]},
            "audiences": [ISSUER],
        }

    def test_an_unknown_token_or_audience_is_invalid(self, issuer: Issuer, clock: Any) -> None:
        wanted = {"user": {}, "error": "invalid bearer token"}
        assert self.status(issuer, clock, token="nope") == wanted
        assert self.status(issuer, clock, token="alicetoken", audiences=["foo"]) == wanted

    def test_a_service_account_token_says_what_is_wrong(
        self, issuer: Issuer, clock: Any, world: Any
    ) -> None:
        account = world.find("serviceaccounts", "default", "robot")
        token = issuer.issue(account, 600, clock.now())
        assert self.status(issuer, clock, token=token)["authenticated"]
        assert self.status(issuer, clock, token=token, audiences=["zzz"])["error"] == (
            f'[invalid bearer token, token audiences ["{ISSUER}"] is invalid '
            'for the target audiences ["zzz"]]'
        )
        clock.passes(hours=1)
        text = "[invalid bearer token, service account token has expired]"
        assert self.status(issuer, clock, token=token)["error"] == text

    def test_a_token_is_required(self, issuer: Issuer, clock: Any) -> None:
        with pytest.raises(ApiError, match="token is required for TokenReview in authentication"):
            self.status(issuer, clock)


class TestTokenRequest:
    ROBOT = Account("default", "robot")

    def ask(self, issuer: Issuer, clock: Any, url: Account = ROBOT, **obj: Any) -> Any:
        return token_reviews.token_request(dict(obj), url, issuer, clock.now())

    def test_a_request_is_defaulted_and_answered(self, issuer: Issuer, clock: Any) -> None:
        answer = self.ask(issuer, clock, spec={})
        assert answer["metadata"] == {
            "name": "robot",
            "namespace": "default",
            "uid": "uid-robot",
            "creationTimestamp": "2026-11-15T06:00:00Z",
        }
        assert answer["spec"] == {
            "expirationSeconds": 3600,
            "audiences": [ISSUER],
            "boundObjectRef": None,
        }
        assert answer["status"]["expirationTimestamp"] == "2026-11-15T07:00:00Z"
        assert issuer.verify(answer["status"]["token"], clock.now()) is not None

    def test_a_pod_token_shows_the_life_that_was_asked_for(
        self, issuer: Issuer, clock: Any
    ) -> None:
        reference = {"kind": "Pod", "apiVersion": "v1", "name": "p"}
        answer = self.ask(
            issuer, clock, spec={"expirationSeconds": 3607, "boundObjectRef": reference}
        )
        assert answer["status"]["expirationTimestamp"] == "2026-11-15T07:00:07Z"
        claims = issuer.key.verify(answer["status"]["token"])
        assert claims["kubernetes.io"]["pod"] == {"name": "p", "uid": "uid-pod"}
        assert claims["kubernetes.io"]["node"] == {"name": "n1", "uid": "uid-node"}

    def test_a_pod_on_an_unknown_node_names_it_without_a_uid(
        self, issuer: Issuer, clock: Any, world: Any
    ) -> None:
        del world.objects["nodes", "", "n1"]
        answer = self.ask(issuer, clock, spec={"boundObjectRef": {"kind": "Pod", "name": "p"}})
        claims = issuer.key.verify(answer["status"]["token"])
        assert claims["kubernetes.io"]["node"] == {"name": "n1"}

    @pytest.mark.parametrize(("obj", "message"), [
        ({"spec": {"expirationSeconds": 599}},
         '422 TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: '
         'Invalid value: 599: may not specify a duration less than 10 minutes'),
        ({"spec": {"expirationSeconds": 4294967297}},
         '422 TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: '
         'Invalid value: 4294967297: may not specify a duration larger than 2^32 seconds'),
        ({"metadata": {"name": "other"}, "spec": {}},
         '422 TokenRequest.authentication.k8s.io "robot" is invalid: metadata.name: '
         'Invalid value: "other": must match the service account name if specified'),
        ({"metadata": {"namespace": "other"}, "spec": {}},
         '422 TokenRequest.authentication.k8s.io "robot" is invalid: metadata.namespace: '
         'Invalid value: "other": must match the service account namespace if specified'),
        ({"metadata": {"uid": "other"}},
         '409 Operation cannot be fulfilled on TokenRequest.authentication.k8s.io "robot": '
         'the UID in the token request (other) does not match the UID of the service account '
         '(uid-robot)'),
        ({"spec": {"boundObjectRef": {"kind": "Secret", "apiVersion": "v1", "name": "no"}}},
         '404 secrets "no" not found'),
        ({"spec": {"boundObjectRef": {"kind": "ConfigMap", "apiVersion": "apps/v1", "name": "x"}}},
         '400 cannot bind token to object of type apps/v1, Kind=ConfigMap'),
        ({"spec": {"boundObjectRef": {"kind": "Secret", "name": "s", "uid": "bad"}}},
         '409 Operation cannot be fulfilled on Secret "s": the UID in the bound object reference '
         '(bad) does not match the UID in record. The object might have been deleted and then '
         'recreated'),
    ])  # fmt: skip
    def test_refusals(self, issuer: Issuer, clock: Any, obj: Any, message: str) -> None:
        ask = token_reviews.token_request
        assert refused(ask, dict(obj), self.ROBOT, issuer, clock.now()) == message

    def test_only_pods_of_the_account_can_bind(
        self, issuer: Issuer, clock: Any, world: Any
    ) -> None:
        world.add("serviceaccounts", "other", "u", "default")
        obj = {"spec": {"boundObjectRef": {"kind": "Pod", "name": "p"}}}
        other = Account("default", "other")
        assert refused(token_reviews.token_request, obj, other, issuer, clock.now()) == (
            '400 cannot bind token for serviceaccount "other" '
            "to pod running with different serviceaccount name."
        )
        nobody = Account("default", "nobody")
        text = refused(token_reviews.token_request, {}, nobody, issuer, clock.now())
        assert text == '404 serviceaccounts "nobody" not found'
