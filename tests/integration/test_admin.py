"""The admin opens for break-glass work, shows no secret and changes no governed row."""

import pytest
from django.apps import apps
from django.contrib import admin
from django.test import Client
from django.urls import reverse

from memoryhub.access.models import Principal
from memoryhub.lib.ids import new_id

TABLES = list(apps.get_app_config("memoryhub").get_models())


@pytest.fixture
def operator() -> Client:
    """A superuser of no tenant, signed in."""
    person = Principal.objects.create_superuser(username=f"operator-{new_id()}", password="a-long-password")
    client = Client()
    client.force_login(person)
    return client


def test_every_table_is_listed(operator: Client) -> None:
    assert {model for model in admin.site._registry if model in TABLES} == set(TABLES)
    for model in TABLES:
        answer = operator.get(reverse(f"admin:memoryhub_{model._meta.model_name}_changelist"))
        assert answer.status_code == 200, model
        if model is not Principal:
            add = operator.get(reverse(f"admin:memoryhub_{model._meta.model_name}_add"))
            assert add.status_code == 403, model


def test_a_principal_can_be_shut_out_and_shows_no_password(operator: Client) -> None:
    person = Principal.objects.create_superuser(username=f"other-{new_id()}", password="a-long-password")
    address = reverse("admin:memoryhub_principal_change", args=[person.pk])
    page = operator.get(address)
    assert person.password not in page.content.decode()
    answer = operator.post(address, {"username": "renamed"})
    assert answer.status_code == 302
    person.refresh_from_db()
    assert not person.is_active
    assert person.username.startswith("other-")


def test_a_stranger_is_sent_to_sign_in() -> None:
    answer = Client().get(reverse("admin:index"))
    assert answer.status_code == 302
    assert "login" in answer["Location"]
