"""The look of the help: the order of the commands, and options and arguments as they are typed."""

from typing import Any

from typer.core import TyperCommand, TyperGroup, TyperOption

GROUPS = {
    "Fly": ["run", "serve", "campaign", "step", "chirp", "sweep", "tune"],
    "Look at a flight": ["view", "report", "plot", "export", "import", "diff"],
    "Fly a recorded flight again": ["replay", "branch", "compare", "determinism"],
    "Inputs": ["spec", "params", "trust"],
    "Installation and PX4": ["doctor", "uorb", "verify", "bench"],
}
"""The commands in the order of the help, in groups."""
ORDER = [name for names in GROUPS.values() for name in names]


class PlainCommand(TyperCommand):
    """A command whose help shows no type after a flag and no braces around an argument."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters; flags take no value, so the help shows none."""
        return _without_flag_types(super().get_params(ctx))

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the parts of the usage line."""
        return [piece.replace("{", "").replace("}", "") for piece in super().collect_usage_pieces(ctx)]


class Group(TyperGroup):
    """A group of commands whose help shows no type after a flag."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters; flags take no value, so the help shows none."""
        return _without_flag_types(super().get_params(ctx))


class ListGroup(Group):
    """A group whose command `list` may be omitted: `params MPC_*` is `params list MPC_*`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Insert the name of the command unless one is named or the help is requested."""
        is_named = bool(args) and (args[0] in self.commands or args[0] in ctx.help_option_names)
        return super().parse_args(ctx, args if is_named else ["list", *args])


class Root(Group):
    """The program itself, whose help lists its commands in the order above."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands in the order of the help, and assign each to its group."""
        names = super().list_commands(ctx)
        titles = {name: title for title, members in GROUPS.items() for name in members}
        for name in names:
            setattr(self.commands[name], "rich_help_panel", titles.get(name))  # noqa: B010 - Typer's own attribute
        return sorted(names, key=lambda name: ORDER.index(name) if name in ORDER else len(ORDER))


def _without_flag_types(params: list[Any]) -> list[Any]:
    for param in params:
        if isinstance(param, TyperOption) and param.is_flag:
            param.metavar = ""
    return params
