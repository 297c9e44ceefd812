"""Settings: strict, documented, and silent about secrets."""

import re
from pathlib import Path

import pytest

from lamplighter.settings import Bus, InvalidSettings, Settings, as_markdown, fields, load

ROOT = Path(__file__).parents[2]


def test_the_page_is_what_the_class_says() -> None:
    assert (ROOT / "docs" / "settings.md").read_text(encoding="utf-8") == as_markdown()


def test_every_setting_has_a_variable_a_meaning_and_a_row() -> None:
    page = as_markdown()

    assert len(fields()) == len(Settings.__struct_fields__)
    for field in fields():
        assert field.variable == f"LAMPLIGHTER_{field.name.upper()}"
        assert field.description.endswith(".")
        assert f"| `{field.variable}` |" in page


def test_an_empty_environment_gives_the_defaults() -> None:
    settings = load({"PATH": "/bin"})

    assert settings == Settings()
    assert settings.bus is Bus.STREAMS
    assert settings.database_url is None
    assert settings.statement_timeout_ms == 10_000
    assert settings.lock_timeout_ms == 3_000
    assert settings.idle_in_transaction_timeout_ms == 10_000
    assert settings.pool_max_size == 8
    assert list(settings.class_shares().values()) == [100, 50, 20, 10]
    assert (settings.partition_days_ahead, settings.retention_days) == (7, 30)


def test_what_is_given_is_taken() -> None:
    settings = load(
        {
            "LAMPLIGHTER_DATABASE_URL": "postgresql://me:pass@host/db",
            "LAMPLIGHTER_VALKEY_URL": "rediss://:pass@host:1/0",
            "LAMPLIGHTER_KAFKA_BOOTSTRAP_SERVERS": "one:9092,two:9092",
            "LAMPLIGHTER_BUS": "kafka",
            "LAMPLIGHTER_POOL_MAX_SIZE": "3",
        }
    )

    assert settings.bus is Bus.KAFKA
    assert settings.pool_max_size == 3
    assert settings.kafka_bootstrap_servers == "one:9092,two:9092"


@pytest.mark.parametrize(
    ("variable", "value", "answer"),
    [
        ("LAMPLIGHTER_DATABSE_URL", "x", "Did you mean LAMPLIGHTER_DATABASE_URL?"),
        ("LAMPLIGHTER_POOL_SIZE", "8", "Did you mean LAMPLIGHTER_POOL_MAX_SIZE?"),
        ("LAMPLIGHTER_QQQ", "x", "See docs/settings.md."),
        ("LAMPLIGHTER_BUS", "", "LAMPLIGHTER_BUS is empty."),
        ("LAMPLIGHTER_BUS", "pigeons", "LAMPLIGHTER_BUS: invalid enum value"),
        ("LAMPLIGHTER_POOL_MAX_SIZE", "0", "LAMPLIGHTER_POOL_MAX_SIZE: expected `int` >= 1"),
        ("LAMPLIGHTER_POOL_MAX_SIZE", "8.5", "LAMPLIGHTER_POOL_MAX_SIZE: expected `int`"),
        ("LAMPLIGHTER_DATABASE_URL", "mysql://me:pass@host", "LAMPLIGHTER_DATABASE_URL: expected"),
        ("LAMPLIGHTER_KAFKA_BOOTSTRAP_SERVERS", "host", "KAFKA_BOOTSTRAP_SERVERS: expected"),
    ],
)
def test_a_mistake_stops_the_start_and_names_the_fix(
    variable: str, value: str, answer: str
) -> None:
    with pytest.raises(InvalidSettings) as refused:
        load({variable: value})

    assert answer in str(refused.value)
    assert "pass" not in str(refused.value)


@pytest.mark.parametrize("shown", ["lamp_" + "a" * 43, "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln"])
def test_what_the_api_asks_for_is_a_key_or_a_token(shown: str) -> None:
    assert load({"LAMPLIGHTER_API_KEY": shown}).api_key == shown
    with pytest.raises(InvalidSettings, match="LAMPLIGHTER_API_KEY"):
        load({"LAMPLIGHTER_API_KEY": f"Bearer {shown}"})


def test_settings_can_be_logged() -> None:
    settings = load({"LAMPLIGHTER_DATABASE_URL": "postgresql://me:pass@host/db"})

    assert "pass" not in repr(settings)
    assert "valkey_url=None" in repr(settings)


def test_settings_do_not_change() -> None:
    with pytest.raises(AttributeError):
        Settings().pool_max_size = 9  # type: ignore[misc]


def test_every_setting_is_read_by_somebody() -> None:
    """One that nobody reads promises something and does nothing."""
    folders = [ROOT / "layers" / "core" / "python", ROOT / "functions", ROOT / "infra"]
    files = [path for folder in folders for path in folder.rglob("*.py")]
    code = "".join(path.read_text("utf-8") for path in files if path.name != "settings.py")
    parsed = {
        "pools": "windows()",
        "shares": "class_shares()",
        "mapped_pools": "pools_of_mappings()",
        "own_subnets": "own_network()",
    }

    unread = [
        field.name
        for field in fields()
        if not re.search(rf"\.{re.escape(parsed.get(field.name, field.name))}", code)
    ]

    assert unread == []
