"""Checking of bodies. All faults of a form are reported together, as Discord does with code 50035.

https://docs.discord.com/developers/reference#error-messages
"""

from tests.fakes.discord.errors import ApiError
from tests.fakes.discord.model import JsonObject, JsonValue


class Faults:
    """The faults of one form, by the place of the field: "components.0.components.1.label"."""

    def __init__(self) -> None:
        self._tree: JsonObject = {}

    def add(self, place: str, code: str, message: str) -> None:
        node = self._tree
        for part in place.split(".") if place else []:
            inner = node.setdefault(part, {})
            assert isinstance(inner, dict)
            node = inner
        found = node.setdefault("_errors", [])
        assert isinstance(found, list)
        found.append({"code": code, "message": message})

    def refuse(self) -> None:
        """Raises `ApiError` 50035 if there is any fault."""
        if self._tree:
            raise ApiError(400, 50035, "Invalid Form Body", rule="form", errors=self._tree)


class Form:
    """Typed access to one object of a body; what does not fit goes into `faults`."""

    def __init__(self, values: JsonObject, faults: Faults, place: str = "") -> None:
        self.values = values
        self.faults = faults
        self._place = place

    def at(self, name: str) -> str:
        return f"{self._place}.{name}" if self._place else name

    def fault(self, name: str, code: str, message: str) -> None:
        self.faults.add(self.at(name), code, message)

    def fault_here(self, code: str, message: str) -> None:
        """A fault of the object as a whole."""
        self.faults.add(self._place, code, message)

    def within(self, name: str) -> "Form | None":
        value = self.values.get(name)
        if value is None:
            return None
        if not isinstance(value, dict):
            self.fault(name, "DICT_TYPE_CONVERT", "Only dictionaries may be used in a DictType")
            return None
        return Form(value, self.faults, self.at(name))

    def each(self, name: str, *, most: int, least: int = 0) -> list["Form"]:
        """The objects of a list field."""
        found = []
        for index, one in enumerate(self.array(name, most=most, least=least) or []):
            place = f"{name}.{index}"
            if isinstance(one, dict):
                found.append(Form(one, self.faults, self.at(place)))
            else:
                self.fault(place, "MODEL_TYPE_CONVERT", "Only dictionaries may be used in a ModelType")
        return found

    def array(self, name: str, *, most: int, least: int = 0) -> list[JsonValue] | None:
        value = self.values.get(name)
        if value is None:
            return None
        if not isinstance(value, list):
            self.fault(name, "LIST_TYPE_CONVERT", "Only iterables may be used in a ListType")
            return None
        if not least <= len(value) <= most:
            words = f"Must be between {least} and {most} in length." if least else f"Must be {most} or fewer in length."
            self.fault(name, "BASE_TYPE_BAD_LENGTH" if least else "BASE_TYPE_MAX_LENGTH", words)
        return value

    def text(self, name: str, *, most: int, least: int = 0, required: bool = False) -> str | None:
        """Lengths count code points."""
        value = self.values.get(name)
        if value is None:
            if required:
                self.fault(name, "BASE_TYPE_REQUIRED", "This field is required")
            return None
        if not isinstance(value, str):
            self.fault(name, "STRING_TYPE_CONVERT", "Could not interpret value as string.")
            return None
        if any(0xD800 <= ord(sign) <= 0xDFFF for sign in value):
            self.fault(name, "STRING_TYPE_ENCODING", "Lone surrogates are no text.")
        if len(value) > most and not least:
            self.fault(name, "BASE_TYPE_MAX_LENGTH", f"Must be {most} or fewer in length.")
        elif not least <= len(value) <= most:
            self.fault(name, "BASE_TYPE_BAD_LENGTH", f"Must be between {least} and {most} in length.")
        return value

    def integer(self, name: str, *, least: int = 0, most: int = 1 << 53) -> int | None:
        value = self.values.get(name)
        if value is None:
            return None
        if isinstance(value, str) and value.isascii() and value.isdecimal():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            self.fault(name, "NUMBER_TYPE_COERCE", f'Value "{value}" is not int.')
            return None
        if value > most:
            self.fault(name, "NUMBER_TYPE_MAX", f"int value should be less than or equal to {most}.")
        if value < least:
            self.fault(name, "NUMBER_TYPE_MIN", f"int value should be greater than or equal to {least}.")
        return value

    def choice(self, name: str, among: frozenset[int], *, required: bool = False) -> int | None:
        value = self.integer(name, least=-(1 << 53))
        if value is None:
            if required and name not in self.values:
                self.fault(name, "BASE_TYPE_REQUIRED", "This field is required")
            return None
        if value not in among:
            listed = ", ".join(str(one) for one in sorted(among))
            self.fault(name, "BASE_TYPE_CHOICES", f"Value must be one of {{{listed}}}.")
        return value

    def flag(self, name: str) -> bool:
        value = self.values.get(name)
        if value is None or isinstance(value, bool):
            return bool(value)
        self.fault(name, "BOOLEAN_TYPE_CONVERT", "Must be either true or false.")
        return False

    def snowflake(self, name: str, *, required: bool = False) -> int | None:
        value = self.values.get(name)
        if value is None:
            if required:
                self.fault(name, "BASE_TYPE_REQUIRED", "This field is required")
            return None
        number = as_snowflake(value)
        if number is None:
            self.fault(name, "NUMBER_TYPE_COERCE", f'Value "{value}" is not snowflake.')
        return number

    def snowflakes(self, name: str, *, most: int) -> list[int]:
        found = []
        for index, one in enumerate(self.array(name, most=most) or []):
            number = as_snowflake(one)
            if number is None:
                self.fault(f"{name}.{index}", "NUMBER_TYPE_COERCE", f'Value "{one}" is not snowflake.')
            else:
                found.append(number)
        return found


def as_snowflake(value: JsonValue) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, str) and value.isascii() and value.isdecimal():
        value = int(value)
    return value if isinstance(value, int) and 0 <= value < 1 << 64 else None
